"""Events against the parts and the pending rules of a snapshot.

    event ─── each part by its index ── pending rules ── operators ── EventMatches
    events ── slices ── each part by its index ── pending rules ── operators ── pairs ── Arrow

The index decides nearly all rules. What is left, rules that call operators and rules that came
too recently to be in a segment, is decided afterwards, so that operators are asked about as few
rules as possible.

Modules:

- `event_search`: the rules that are true of one event;
- `event_matches`: what was found for one event, part by part;
- `batch_search`: the matches of a slice of events, as pairs of numbers;
- `event_slices`: events, however they are given, cut into slices that a part can encode;
- `table_events`: a row of a table as an event, read column by column;
- `json_texts`: JSON texts, however they are given, in blocks;
- `json_search`: the matches of JSON texts, slice by slice;
- `arrow_matches`: the matches of many events, as Arrow data;
- `match_counts`: how many matches each rule or each event has;
- `runs_search`: the matches of many events as runs, rule by rule;
- `matches_on_card`: the matches of many events, left on a GPU;
- `rule_facts`: columns about rules that go with their matches;
- `batch_threads`: slices in several threads, with results as they come;
- `near_misses`: the rules that came nearest to matching, and what they lacked;
- `rule_distances`: how far each rule of a part is from matching, by its index alone;
- `distance_kernels`, `key_kernels`: the compiled functions of `rule_distances`, and of keys.
"""
