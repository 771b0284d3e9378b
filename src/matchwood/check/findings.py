"""Findings: what the checker says about a rule, with its line in the file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from matchwood.language.errors import RuleError
from matchwood.tables import BadRow, RuleRow
from matchwood.tables.rule_table import RuleId

ERROR, WARNING = "error", "warning"

# Called with how many rules, or how many cases, have been read so far.
CountProgress = Callable[[int], None]

# Kinds of warnings.
WARNINGS = (
    "never-true",
    "always-true",
    "upper-case",
    "equal",
    "unknown-attribute",
    "family",
    "undefined",
    "dialect",
)


@dataclass(frozen=True)
class Finding:
    """An error or a warning; `str` gives the lines for people."""

    level: str
    kind: str  # one of the headings of docs/checking.md
    file: str
    line: int
    reason: str
    id: RuleId | None = None
    rule_line: int | None = None  # the line within the rule, from 1
    rule_column: int | None = None  # the column within the rule, from 1
    caret: str = ""
    other: RuleId | None = None  # the rule that this one is equal to

    def __str__(self) -> str:
        rule = "" if self.id is None else f"rule {self.id!r}: "
        at = "" if self.rule_column is None else f"column {self.rule_column}: "
        if at and self.rule_line != 1:
            at = f"line {self.rule_line}, {at}"
        shown = "".join(f"\n    {line}" for line in self.caret.split("\n") if line)
        return f"{self.file}:{self.line}: {self.level}: {rule}{at}{self.reason}{shown}"

    def to_json(self) -> dict[str, object]:
        """Every field that is set, for programs."""
        return {name: value for name, value in vars(self).items() if value not in (None, "")}


def of_bad_row(row: BadRow) -> Finding:
    """A finding about a row that cannot be read."""
    return Finding(ERROR, "unreadable", row.file, row.line, row.reason)


def of_error(
    row: RuleRow, error: RuleError, kind: str = "malformed", level: str = ERROR
) -> Finding:
    """A finding at the position of an error in the rule."""
    path = f" (at {error.path})" if error.path else ""
    return Finding(
        level,
        kind,
        row.file,
        row.line,
        error.reason + path,
        row.id,
        error.line,
        error.column,
        error.caret(),
    )


def warn(row: RuleRow, kind: str, reason: str, other: RuleId | None = None) -> Finding:
    """A warning about a rule as a whole."""
    return Finding(WARNING, kind, row.file, row.line, reason, row.id, other=other)
