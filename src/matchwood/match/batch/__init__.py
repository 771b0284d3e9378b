"""Many events against one segment.

    rows, or columns ── codes ──┐
                                ├── sweep, or one by one ── pairs of event and rule
    segment ── sweep arrays ────┘

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
- `sweep_kernels`, `rank_kernels`, `hit_kernels`, `grouping_kernels`: compiled code.
"""
