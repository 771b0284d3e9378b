"""Tables of rules: each row has an `id` and a `rule`, and may have `tags` and a `priority`.

The rule is text, or in JSONL also its JSON form. Tags are a list, or one string separated by `;`.
Further columns are the data that a rule carries; see `data_of_columns`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from matchwood.tables.formats import BadRow, csv_rows, format_of, json_lines, parquet_rows
from matchwood.tables.rule_data import NO_DATA, data_of_columns, data_text

RuleId = str | int

# Columns that a table must have.
REQUIRED = ("id", "rule")

# Columns that a table may have.
OPTIONAL = ("tags", "priority")


class RuleRow(NamedTuple):
    """A rule of a table and its line; in Parquet, `line` is the number of the row."""

    file: str
    line: int
    id: RuleId
    rule: object
    tags: tuple[str, ...] = ()
    priority: float = 0.0
    data: str = NO_DATA  # as JSON text


def read_rules(path: str | Path) -> Iterator[RuleRow | BadRow]:
    """The rules of a file, in order.

    >>> from pathlib import Path
    >>> _ = Path("rules.csv").write_text("id,rule\\nadults,age >= 18\\n")
    >>> [(row.line, row.id, row.rule) for row in read_rules("rules.csv")]
    [(2, 'adults', 'age >= 18')]
    """
    file = str(path)
    kind = format_of(path)
    if kind == "jsonl":
        for line in json_lines(path):
            yield line if isinstance(line, BadRow) else _row(file, *line)
    elif kind == "csv":
        for row in csv_rows(path, REQUIRED, OPTIONAL, further=True):
            yield row if isinstance(row, BadRow) else _row(file, *row, texts=True)
    else:
        for number, fields in enumerate(parquet_rows(path, REQUIRED, OPTIONAL, further=True), 1):
            yield _row(file, number, fields)


def _row(file: str, line: int, fields: object, texts: bool = False) -> RuleRow | BadRow:
    """A row of a table; with `texts`, all its fields are text, and empty ones are not there."""
    if not isinstance(fields, dict):
        return BadRow(file, line, f'expected {{"id": …, "rule": …}}, found {type(fields).__name__}')
    identity = fields.get("id")
    if identity is None or identity == "":
        return BadRow(file, line, "no id: expected a string or an integer as 'id'")
    if isinstance(identity, bool) or not isinstance(identity, str | int):
        kind = type(identity).__name__
        return BadRow(file, line, f"the id is a string or an integer, found {kind}")
    rule = fields.get("rule")
    if rule is None or rule == "":
        return BadRow(file, line, f"rule {identity!r}: no rule: expected its text as 'rule'")
    if len(fields) == len(REQUIRED):
        return RuleRow(file, line, identity, rule)
    try:
        tags, priority = tags_of(fields.get("tags")), priority_of(fields.get("priority"))
        data = _data(fields, texts)
    except (ValueError, TypeError, RecursionError) as error:
        return BadRow(file, line, f"rule {identity!r}: {error}")
    return RuleRow(file, line, identity, rule, tags, priority, data)


def _data(fields: dict[str, Any], texts: bool) -> str:
    if texts:
        fields = {name: text for name, text in fields.items() if text != ""}
        if "data" in fields:
            try:
                fields["data"] = json.loads(fields["data"])
            except ValueError as error:
                raise ValueError(f"its data is not JSON: {error}") from None
    return data_text(data_of_columns(fields, (*REQUIRED, *OPTIONAL)))


def tags_of(tags: Any) -> tuple[str, ...]:
    if tags is None:
        return ()
    if isinstance(tags, str):
        tags = [tag.strip() for tag in tags.split(";")]
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise ValueError(f"tags are a list of strings, found {tags!r}")
    return tuple(tag for tag in tags if tag)


def priority_of(priority: Any) -> float:
    if priority is None or priority == "":
        return 0.0
    try:
        if isinstance(priority, bool) or float(priority) != float(priority):
            raise ValueError
        return float(priority)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"a priority is a number, found {priority!r}") from None
