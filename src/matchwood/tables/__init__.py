"""Tables of rules and events in files: JSONL, CSV and Parquet, the first two also gzipped.

A row that cannot be read is a `BadRow` with its line, and reading goes on. A `TableError` is for a
file that cannot be read at all.

    rule_table    `read_rules`
    rule_data     the data that a rule carries, from further columns
    event_table   `read_events`
    formats       rows of JSONL, CSV and Parquet files, with line numbers
"""

from matchwood.tables.event_table import EventRow, read_events
from matchwood.tables.formats import BadRow, TableError
from matchwood.tables.rule_table import RuleRow, read_rules

__all__ = ["BadRow", "EventRow", "RuleRow", "TableError", "read_events", "read_rules"]
