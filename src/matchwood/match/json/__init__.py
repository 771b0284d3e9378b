"""JSON texts against one segment: bytes in, codes out, without a Python object for an event.

    text ── json_token_kernels ── json_value_kernels ── json_scan_kernels ── codes ── matches

What a text means is what `json.loads` makes of it. The scanner reads all that is usual, and leaves
the rest to `json_text`, which is `json.loads` with errors that say where.

Modules:

- `json_text`: a text as `json.loads` reads it;
- `json_token_kernels`: strings, numbers and words; values that are skipped but checked;
- `json_part_kernels`: where the parts of an object or a list stand;
- `json_reading_kernels`: strings that are read as times and addresses, to codes;
- `json_value_kernels`: names of attributes and values, to nodes and codes;
- `json_writing_kernels`: values of an event, as slots with codes, lists, and hits;
- `json_everything_kernels`: all values of an event, for `*`;
- `json_scan_kernels`: a whole event to codes, in one pass;
- `json_event_kernels`: what Python calls: one text, or many;
- `json_index`: the names and constants of a segment, as the scanner looks them up;
- `json_arrays`: the arrays that kernels read and write, and how they find them;
- `json_scratch`: what a thread writes;
- `json_batches`: texts that are scanned, as a batch, and what rules read of them on demand;
- `json_matcher`: JSON texts against one segment.
"""
