"""Files of stored queries, and what a search of a percolator index prints.

A file holds a query; a document with its query; a list of these; the hits of a search; or lines of
any of these, also in pairs as the bulk format has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from matchwood.imports.imported import ImportedRule, Inexpressible, NotImported
from matchwood.imports.json_documents import JsonDocument, documents, plain_json
from matchwood.imports.percolator.compound import Position, Queries
from matchwood.imports.percolator.field_queries import FieldQueries
from matchwood.imports.percolator.index_mapping import IndexMapping
from matchwood.language import RuleError
from matchwood.language.values import read_time
from matchwood.tables.rule_table import priority_of, tags_of

# The lines of the bulk format that say what happens with the next line.
ACTIONS = ("index", "create")
OTHER_ACTIONS = ("update", "delete")

# What such a line may hold.
OF_ACTION = {"_id", "_index", "_type", "routing", "require_alias", "version"}


@dataclass(frozen=True)
class StoredQuery:
    """A query with its document, and where it was found."""

    id: str
    document: Mapping[str, Any]
    place: str


def read_rules(
    sources: Sequence[Path],
    *,
    mapping: str | Path | Mapping[str, Any] | None = None,
    now: str | datetime | None = None,
    field: str = "query",
) -> Iterator[ImportedRule | NotImported]:
    """The rules of files and folders of stored queries.

    `mapping` says which fields documents have: a file with what `GET index/_mapping` prints, or the
    object itself. `now` is the present that date math is about, and `field` the field of the index
    that holds the queries.
    """
    known = IndexMapping.load(mapping) if mapping is not None else IndexMapping({"properties": {}})
    queries = Queries(FieldQueries(known, _moment(now)))
    return _read(sources, queries, field)


def _moment(now: str | datetime | None) -> datetime | None:
    if now is None:
        return None
    if isinstance(now, str):
        time = read_time(now)
        if time is None:
            raise ValueError(f"now is a time such as 2026-01-31T10:00:00Z, found {now!r}")
        return datetime.fromtimestamp(time.ns // 1_000_000 / 1000, UTC)
    return now if now.tzinfo is not None else now.replace(tzinfo=UTC)


def _read(
    sources: Sequence[Path], queries: Queries, field: str
) -> Iterator[ImportedRule | NotImported]:
    for found in _stored(sources, field):
        if isinstance(found, NotImported):
            yield found
            continue
        try:
            yield _rule(found, queries, field)
        except (Inexpressible, RuleError) as error:
            yield NotImported(found.place, str(error).splitlines()[0], found.id)
        except ValueError as error:
            yield NotImported(found.place, str(error), found.id)


def _rule(stored: StoredQuery, queries: Queries, field: str) -> ImportedRule:
    document = stored.document
    node = queries.node(document[field], Position(field))
    others = {name: value for name, value in document.items() if name != field}
    data = {
        f"original_{name}" if name in ("id", "rule", "source") else name: plain_json(value)
        for name, value in others.items()
        if name not in ("tags", "priority", "title") and value is not None
    }
    return ImportedRule(
        stored.id,
        str(node),
        stored.place,
        str(document.get("title") or ""),
        tags_of(document.get("tags")),
        priority_of(document.get("priority")),
        data,
    )


# Documents


def _stored(sources: Sequence[Path], field: str) -> Iterator[StoredQuery | NotImported]:
    action: dict[str, Any] | None = None
    for document in documents(sources):
        if isinstance(document, NotImported):
            yield document
            continue
        if action is None:
            action = _action(document.value)
            if action is not None:
                if "delete" in document.value:
                    yield NotImported(document.place, "a deletion is no query")
                    action = None
                continue
        if action is not None:
            yield _of_action(action, document, field)
            action = None
        else:
            yield from _of_value(document.value, document.place, document.name, field)


def _action(value: object) -> dict[str, Any] | None:
    """What a line of the bulk format says of the next one; None for any other document."""
    if isinstance(value, dict) and len(value) == 1:
        ((name, its),) = value.items()
        known = name in (*ACTIONS, *OTHER_ACTIONS) and isinstance(its, dict)
        if known and set(its) <= OF_ACTION:
            return {**its, "action": name}
    return None


def _of_action(
    action: dict[str, Any], document: JsonDocument, field: str
) -> StoredQuery | NotImported:
    identity = str(action.get("_id", document.name))
    if action["action"] == "update":
        return NotImported(document.place, "an update is no whole query", identity)
    return _one(document.value, document.place, identity, field)


def _of_value(
    value: object, place: str, name: str, field: str
) -> Iterator[StoredQuery | NotImported]:
    if isinstance(value, dict) and isinstance(value.get("hits"), dict):
        value = value["hits"].get("hits", [])
    if isinstance(value, list):
        for number, each in enumerate(value, 1):
            yield from _of_value(each, f"{place}, query {number}", f"{name}-{number}", field)
        return
    if isinstance(value, dict) and isinstance(value.get("_source"), dict):
        yield _one(value["_source"], place, str(value.get("_id", name)), field)
        return
    yield _one(value, place, name, field)


def _one(value: object, place: str, name: str, field: str) -> StoredQuery | NotImported:
    if not isinstance(value, dict):
        return NotImported(place, f"expected a query, found {type(value).__name__}", name)
    if field in value:
        identity = value.get("_id", value.get("id", name))
        others = {key: each for key, each in value.items() if key not in ("_id", "id")}
        return StoredQuery(str(identity), others, place)
    return StoredQuery(name, {field: value}, place)
