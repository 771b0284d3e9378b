"""Tables of rules: an `id` and a `rule` a row; the rule is text, or its JSON form in JSONL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from matchwood.tables.files import BadRow, csv_rows, format_of, json_lines, parquet_rows

RuleId = str | int


class RuleRow(NamedTuple):
    """A rule of a table and its place; in Parquet, `line` is the number of the row."""

    file: str
    line: int
    id: RuleId
    rule: object


def read_rules(path: str | Path) -> Iterator[RuleRow | BadRow]:
    """The rules of a file, in order.

    >>> from pathlib import Path
    >>> _ = Path("rules.csv").write_text("id,rule\\nadults,age >= 18\\n")
    >>> list(read_rules("rules.csv"))
    [RuleRow(file='rules.csv', line=2, id='adults', rule='age >= 18')]
    """
    file = str(path)
    kind = format_of(path)
    if kind == "jsonl":
        for line in json_lines(path):
            yield line if isinstance(line, BadRow) else _row(file, *line)
    elif kind == "csv":
        for row in csv_rows(path, ("id", "rule")):
            if isinstance(row, BadRow):
                yield row
            else:
                number, (identity, rule) = row
                yield _row(file, number, {"id": identity, "rule": rule})
    else:
        for number, fields in enumerate(parquet_rows(path, ("id", "rule")), 1):
            yield _row(file, number, fields)


def _row(file: str, line: int, fields: object) -> RuleRow | BadRow:
    if not isinstance(fields, dict):
        return BadRow(file, line, f'expected {{"id": …, "rule": …}}, found {type(fields).__name__}')
    identity = fields.get("id")
    if identity is None or identity == "":
        return BadRow(file, line, "no id: expected a string or an integer as 'id'")
    if isinstance(identity, bool) or not isinstance(identity, str | int):
        found = type(identity).__name__
        return BadRow(file, line, f"the id is a string or an integer, found {found}")
    rule = fields.get("rule")
    if rule is None or rule == "":
        return BadRow(file, line, f"rule {identity!r}: no rule: expected its text as 'rule'")
    return RuleRow(file, line, identity, rule)
