"""Many events as codes of a segment.

Columns are encoded by their distinct values. Atoms that codes do not decide, such as comparisons of
two attributes, are evaluated on their own columns.

Modules:

- `batch_codes`: events as codes of a segment, and those of rows;
- `event_tables`: tables of Arrow, pandas and polars as columns;
- `table_codes`: the columns of a table as codes of a segment;
- `column_codes`: a column of Arrow data to codes, with `address_codes` for network addresses;
- `card_columns`: columns that a card turns into codes by itself;
- `number_columns`, `number_kernels`: columns of numbers to codes, all of them together;
- `mixed_columns`: columns of several types, or of objects, value by value;
- `everything_columns`: all values of each row, `*`;
- `spelled_columns`: columns under the names of attributes, where these have aliases;
- `lazy_columns`, `column_comparisons`: atoms that codes do not decide, on their own columns;
- `column_sums`: comparisons of sums over columns, by floats where these are certain;
- `hit_kernels`: the patterns that are true of the strings of a batch.
"""
