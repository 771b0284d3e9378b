"""Many events against one segment.

    rows, or columns ── codes ──┐
                                ├── sweep, or one by one ── pairs of event and rule
    segment ── sweep program ───┘

A sweep visits every node once, with a bit mask that says of which events it is true; where events
touch few nodes, they are matched one by one.

Packages, and modules:

- `codes`: events, from rows or from columns, as codes of a segment;
- `sweep`: the program that a sweep streams, what it writes to, and its kernels;
- `gpu`: the same program, streamed by a GPU;
- `strategies`: the ways to match a batch; `batch_strategy` says what one is, and what it learns of
  its cost;
- `batch_matcher`: the strategy that is expected to take the least time, and their list;
- `pairs`: what matches are; `match_runs`: the same in fewer bytes, rule by rule;
- `leased_arrays`: arrays that are used again once nobody holds any view of them;
- `rule_counts`: how many events of many batches each rule is true of;
- `device_counts`: how many batches this process has matched on its processor and on a GPU;
- `grouping`, `grouping_kernels`: pairs of event and rule to one list per event.
"""
