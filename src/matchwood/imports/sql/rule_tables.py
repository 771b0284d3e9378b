"""Rows of tables as rules: which columns are the rule, and what the others say of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from matchwood.imports.imported import ImportedRule, Inexpressible, NotImported
from matchwood.language import RuleError, parse
from matchwood.tables.event_table import field_value
from matchwood.tables.formats import (
    FORMATS,
    BadRow,
    TableError,
    csv_lines,
    csv_text,
    format_of,
    json_lines,
    parquet_rows,
)
from matchwood.tables.rule_table import priority_of, tags_of

# What a table of rules calls its own columns; data has other names.
RESERVED = ("id", "rule", "tags", "priority", "title", "source")

DIALECTS = ("spark",)

# From the text of a condition to the text of a rule.
Rewriting = Callable[[str], str]


@dataclass(frozen=True)
class ColumnNames:
    """The names of the columns of a table that matchwood has names of its own for."""

    id: str = "id"
    rule: str = "rule"
    tags: str = "tags"
    priority: str = "priority"
    title: str = "title"

    def all(self) -> tuple[str, ...]:
        return (self.id, self.rule, self.tags, self.priority, self.title)


class TableRow(NamedTuple):
    """A row of a table, and where it is: the line of a file, or the number of the row."""

    place: str
    fields: dict[str, Any]
    data_of: Callable[[Any], Any]  # from a field to what JSON has for it, None for nothing


def read_rules(
    sources: Sequence[Path],
    *,
    dialect: str | None = None,
    columns: str | Path | None = None,
    names: Mapping[str, str] | None = None,
) -> Iterator[ImportedRule | NotImported]:
    """The rules of tables and of folders of tables, in order.

    `columns` says what type each column of the events has, as Spark prints it: `age int, …`, or the
    name of a file with that. `names` says how the table calls its id, rule, tags, priority and
    title: `{"rule": "condition"}`.
    """
    unknown = set(names or ()) - {field.name for field in dataclass_fields(ColumnNames)}
    if unknown:
        expected = ", ".join(field.name for field in dataclass_fields(ColumnNames))
        raise ValueError(f"names are of {expected}, found {', '.join(sorted(unknown))}")
    return _read(sources, ColumnNames(**(names or {})), _rewriting(dialect, columns))


def _read(
    sources: Sequence[Path], names: ColumnNames, rewriting: Rewriting
) -> Iterator[ImportedRule | NotImported]:
    for source in sources:
        for table in _tables(source):
            try:
                for row in _rows(table):
                    yield row if isinstance(row, NotImported) else _rule(row, names, rewriting)
            except TableError as error:
                yield NotImported(str(table), str(error).removeprefix(f"{table}: "))


def _rewriting(dialect: str | None, columns: str | Path | None) -> Rewriting:
    if dialect is None:
        if columns is not None:
            raise ValueError("columns are for conditions of a dialect: give the dialect, too")
        return lambda text: text
    if dialect not in DIALECTS:
        raise ValueError(f"no such dialect: {dialect!r}; expected {' or '.join(DIALECTS)}")
    from matchwood.imports.sql.spark_rules import SparkConditions

    return SparkConditions(columns).rewritten


# Tables


def _tables(source: Path) -> Iterator[Path]:
    """The tables of a folder; a file, and a folder that is a table of Delta, is one itself."""
    if not source.is_dir() or _is_delta(source):
        yield source
        return
    for path in sorted(source.iterdir()):
        if path.name.startswith(("_", ".")):
            continue
        if path.is_dir():
            yield from _tables(path)
        elif Path(path.name.removesuffix(".gz")).suffix.lower() in FORMATS:
            yield path


def _is_delta(path: Path) -> bool:
    return (path / "_delta_log").is_dir()


def _rows(table: Path) -> Iterator[TableRow | NotImported]:
    if _is_delta(table):
        for number, row in enumerate(_delta_rows(table), 1):
            yield TableRow(f"{table}: row {number}", row, _json_value)
        return
    kind = format_of(table)
    if kind == "parquet":
        for number, row in enumerate(parquet_rows(table, None), 1):
            yield TableRow(f"{table}: row {number}", row, _json_value)
    elif kind == "csv":
        yield from _csv_rows(table)
    else:
        for line in json_lines(table):
            if isinstance(line, BadRow):
                yield _bad(line)
            elif isinstance(line[1], dict):
                yield TableRow(f"{table}:{line[0]}", line[1], _json_value)
            else:
                found = type(line[1]).__name__
                yield NotImported(f"{table}:{line[0]}", f"expected an object, found {found}")


def _csv_rows(table: Path) -> Iterator[TableRow | NotImported]:
    header: list[str] | None = None
    for line in csv_lines(table):
        if isinstance(line, BadRow):
            yield _bad(line)
            continue
        number, row = line
        if header is None:
            header = [name.strip() for name in row]
        elif len(row) != len(header):
            reason = f"expected {len(header)} fields, found {len(row)}: {csv_text(row)}"
            yield NotImported(f"{table}:{number}", reason)
        else:
            yield TableRow(f"{table}:{number}", dict(zip(header, row, strict=True)), field_value)


def _delta_rows(table: Path) -> Iterator[dict[str, Any]]:
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
    except ImportError:
        raise TableError(
            f"{table}: this is a table of Delta: install matchwood[delta] to read it"
        ) from None
    import pyarrow as pa

    from matchwood.arrow.reading import rows_of

    try:
        for batch in DeltaTable(table).to_pyarrow_dataset().to_batches():
            yield from rows_of(batch)
    except (DeltaError, pa.ArrowInvalid, OSError) as error:
        raise TableError(f"{table}: {error}") from None


def _bad(row: BadRow) -> NotImported:
    return NotImported(f"{row.file}:{row.line}", row.reason)


# Rules


def _rule(row: TableRow, names: ColumnNames, rewriting: Rewriting) -> ImportedRule | NotImported:
    fields = row.fields
    identity = fields.get(names.id)
    if isinstance(identity, bool) or not isinstance(identity, str | int) or identity == "":
        found = "nothing" if identity in (None, "") else type(identity).__name__
        return NotImported(
            row.place, f"expected a string or an integer as {names.id!r}, found {found}"
        )
    known = str(identity)
    try:
        return ImportedRule(
            known,
            _text(fields.get(names.rule), names.rule, rewriting),
            row.place,
            str(fields.get(names.title) or ""),
            tags_of(fields.get(names.tags)),
            priority_of(fields.get(names.priority)),
            _data(row, names),
        )
    except (Inexpressible, RuleError) as error:
        return NotImported(row.place, str(error).splitlines()[0], known)
    except ValueError as error:
        return NotImported(row.place, str(error), known)


def _text(rule: object, name: str, rewriting: Rewriting) -> str:
    if isinstance(rule, dict | bool):
        return str(parse(rule))
    if not isinstance(rule, str) or not rule.strip():
        found = "nothing" if rule in (None, "") else type(rule).__name__
        raise ValueError(f"expected a condition as {name!r}, found {found}")
    return rewriting(rule)


def _data(row: TableRow, names: ColumnNames) -> dict[str, Any]:
    """What the other columns say; a name that a table of rules has a use for gets a prefix."""
    data = {}
    for name, value in row.fields.items():
        if name in names.all() or not name or (converted := row.data_of(value)) is None:
            continue
        data[f"original_{name}" if name in RESERVED else name] = converted
    return data


def _json_value(value: Any) -> Any:
    """A value as JSON has it; None for bytes, which it has not."""
    if isinstance(value, dict):
        return {str(name): _json_value(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_json_value(each) for each in value]
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return json.loads(str(value)) if value.is_finite() else None
    return value if isinstance(value, str | int | float | bool) else None
