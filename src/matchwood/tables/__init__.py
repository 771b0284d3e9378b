"""Tables of rules and events in files: JSONL, CSV and Parquet, the first two also gzipped.

What cannot be read in a file is a `BadRow` with its place, and reading goes on; a `TableError` is
for a file that cannot be read at all.
"""

from matchwood.tables.events import EventRow, read_events
from matchwood.tables.files import BadRow, TableError
from matchwood.tables.rules import RuleRow, read_rules

__all__ = ["BadRow", "EventRow", "RuleRow", "TableError", "read_events", "read_rules"]
