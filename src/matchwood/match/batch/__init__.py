"""Many events against one segment.

    rows, or columns ── codes ──┐
                                ├── sweep, or one by one ── pairs of event and rule
    segment ── sweep program ───┘

Columns are encoded by their distinct values. Atoms that codes do not decide, such as comparisons of
two attributes, are evaluated on their own columns. A sweep visits every node once, with a bit mask
that says of which events it is true; where events touch few nodes, they are matched one by one.

Modules:

- `batch_matcher`: the strategy that is expected to take the least time, and their list;
- `batch_strategy`: what a strategy is, and what it learns of its cost; `strategies` has them;
- `batch_codes`: events as codes of a segment, and those of rows;
- `table_codes`: the columns of a table as codes of a segment;
- `column_codes`: a column of Arrow data to codes;
- `address_codes`: a column of network addresses to codes;
- `mixed_columns`: columns of several types, or of objects, value by value;
- `lazy_columns`, `column_comparisons`: atoms that codes do not decide, on their own columns;
- `lazy_masks`: where these atoms are true and where they are false, for a sweep;
- `event_tables`: tables of Arrow, pandas and polars as columns;
- `grouping`: pairs of event and rule to one list per event;
- `sweep_program`: the nodes of a segment in the form that a sweep streams, made by
  `program_kernels` when the first batch is swept;
- `sweep_scratch`, `pair_buffers`: what a sweep writes to, used again for later batches;
- `slot_kernels`, `rank_kernels`, `hit_kernels`: the events of a batch by slot, as words of
  positions where few events have a slot, and else as masks; the hits of patterns;
- `literal_row_kernels`: each literal as a word or a mask; `sweep_kernels`: the sweep itself;
- `number_kernels`, `grouping_kernels`: columns of numbers to codes; pairs grouped by event.
"""
