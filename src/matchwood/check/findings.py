"""Findings: what the checker says of a rule, with the place in its file."""

from __future__ import annotations

from dataclasses import dataclass

from matchwood.language.errors import RuleError
from matchwood.tables import BadRow, RuleRow
from matchwood.tables.rules import RuleId

ERROR, WARNING = "error", "warning"
WARNINGS = (  # their kinds
    "never-true",
    "always-true",
    "equal",
    "unknown-attribute",
    "family",
    "undefined",
    "dialect",
)


@dataclass(frozen=True)
class Finding:
    """An error or a warning; `str` gives the lines that a person reads."""

    level: str
    kind: str  # the headings of docs/checking.md
    file: str
    line: int
    reason: str
    id: RuleId | None = None
    rule_line: int | None = None  # within the rule, from 1
    rule_column: int | None = None
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
        """For machines: every field that says something."""
        return {name: value for name, value in vars(self).items() if value not in (None, "")}


def of_bad_row(row: BadRow) -> Finding:
    return Finding(ERROR, "unreadable", row.file, row.line, row.reason)


def of_error(
    row: RuleRow, error: RuleError, kind: str = "malformed", level: str = ERROR
) -> Finding:
    """A finding at the place of an error in the rule."""
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
    return Finding(WARNING, kind, row.file, row.line, reason, row.id, other=other)
