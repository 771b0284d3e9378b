"""The rules in a document: each with its name, its condition, and what else is said of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from matchwood.imports.differences import EVENT_KINDS
from matchwood.imports.imported import ImportedRule, Inexpressible, NotImported
from matchwood.imports.json_documents import JsonDocument, plain_json, read_json
from matchwood.language import RuleError
from matchwood.language.tree import Node


@dataclass(frozen=True)
class Columns:
    """What the parts of a record are called; the first name that a record has counts."""

    listed: str  # the key of a list of records
    names: tuple[str, ...]
    conditions: tuple[str, ...]
    titles: tuple[str, ...]
    wrapper: str = ""  # the key of an object that holds all of a record


@dataclass(frozen=True)
class Record:
    """A rule of a document; `condition` is None if it has none."""

    id: str
    source: str
    condition: Any
    title: str
    fields: dict[str, Any]  # all that is said of it, with the condition
    data: dict[str, Any]  # what else is said of it
    wrapped: bool  # whether it stood in a `wrapper`


def records(document: JsonDocument, columns: Columns) -> Iterator[Record | NotImported]:
    """The records of a document, which is one of them, or a list of them."""
    value = document.value
    if isinstance(value, dict) and isinstance(value.get(columns.listed), list):
        value = value[columns.listed]
    if not isinstance(value, list):
        yield _record(value, document.place, document.name, columns)
        return
    for number, each in enumerate(value, 1):
        place = f"{document.place}, rule {number}"
        yield _record(each, place, f"{document.name}-{number}", columns)


def _record(value: Any, source: str, name: str, columns: Columns) -> Record | NotImported:
    if not isinstance(value, dict):
        return NotImported(source, f"expected an object, found {type(value).__name__}", name)
    wrapped = isinstance(value.get(columns.wrapper), dict)
    fields = value[columns.wrapper] if wrapped else value
    named = next((key for key in columns.names if isinstance(fields.get(key), str | int)), None)
    held = next((key for key in columns.conditions if fields.get(key) is not None), None)
    # The fields of a pattern are lists and objects, so what has a name is not a pattern itself.
    if not wrapped and named is None and not (held and isinstance(fields[held], str)):
        return Record(name, source, value, "", value, {}, False)
    given = name if named is None else str(fields[named])
    condition = None if held is None else fields[held]
    if isinstance(condition, str):
        try:
            condition = read_json(condition)
        except ValueError as error:
            return NotImported(source, f"{held}: {error}", given)
    titled = next((key for key in columns.titles if isinstance(fields.get(key), str)), None)
    title = "" if titled is None else fields[titled]
    used = {named, held, titled}
    data = {key: plain_json(inner) for key, inner in fields.items() if key not in used}
    return Record(given, source, condition, title, fields, data, wrapped)


def imported(
    record: Record | NotImported, rule_of: Callable[[Record, set[str]], Node]
) -> ImportedRule | NotImported:
    """The rule of a record, or why there is none.

    `rule_of` adds to the set the kinds of events of which the rule may answer otherwise.
    """
    if isinstance(record, NotImported):
        return record
    differs: set[str] = set()
    try:
        rule = str(rule_of(record, differs))
    except (Inexpressible, RuleError) as error:
        return NotImported(record.source, str(error), record.id)
    except RecursionError:
        return NotImported(record.source, "the rule is nested too deeply", record.id)
    data = dict(record.data)
    tags = data.pop("tags", ())
    priority = data.pop("priority", 0)
    return ImportedRule(
        record.id,
        rule,
        record.source,
        record.title,
        tuple(map(str, tags)) if isinstance(tags, list) else (),
        priority if isinstance(priority, int | float) else 0,
        {key: value for key, value in data.items() if key not in ("rule", "source")},
        tuple(kind for kind in EVENT_KINDS if kind in differs),
    )
