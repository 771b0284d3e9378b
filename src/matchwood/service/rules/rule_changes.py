"""Changes of the rules in the database: stored by the service, read by replicas.

Every change has a version. A rule has the version at which it was last set or suspended, and for
those that were removed `removed_rules` has it, so that a replica reads only what has changed since
its own version. That goes back to a version, the floor; a replica from before reads all rules.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, Row, delete, func, select, text

from matchwood.match.parts.rule_columns import RuleDetails
from matchwood.service.storage.database import (
    marks,
    removed_rules,
    rule_versions,
    rules,
    schemas,
)
from matchwood.service.storage.writer import Counters

# The channel of PostgreSQL on which changes of rules and the schema are announced.
CHANNEL = "matchwood_rules"
# The counter of the floor: replicas at an earlier version read all rules.
FLOOR = "rules_floor"
# Versions for which removed rules are remembered.
VERSIONS_KEPT = 10_000
# Removed rules of one change above which none is remembered, and replicas read all rules.
MOST_REMOVED = 10_000
# The most ids of one statement.
_IDS_AT_ONCE = 500
# Rules that one statement inserts.
_INSERTED_AT_ONCE = 10_000


class Diff(NamedTuple):
    """The ids of rules that a change adds, changes and removes."""

    added: list[str]
    changed: list[str]
    removed: list[str]

    def __bool__(self) -> bool:
        return any(self)


class RuleChanges(NamedTuple):
    """What a replica has to do to get from its version to the current one."""

    version: int
    whole: bool  # `rules` are all rules, rather than those that have changed
    rules: list[RuleDetails]  # that are set
    gone: list[str]  # that were removed or suspended


class CurrentVersions(NamedTuple):
    """The versions of the database, and its identity."""

    rules: int
    schema: int
    lists: int
    floor: int
    database: int


# Storing


def store_change(
    connection: Connection, counters: Counters, diff: Diff, new: Mapping[str, RuleDetails]
) -> int:
    """Change the rules, and return the new version."""
    version = counters.take("rules")
    for ids in _pieces([*diff.removed, *diff.changed]):
        connection.execute(delete(rules).where(rules.c.id.in_(ids)))
    rows = [_row(new[rule_id], version) for rule_id in (*diff.added, *diff.changed)]
    for low in range(0, len(rows), _INSERTED_AT_ONCE):
        connection.execute(rules.insert(), rows[low : low + _INSERTED_AT_ONCE])
    for ids in _pieces(diff.added):
        connection.execute(delete(removed_rules).where(removed_rules.c.id.in_(ids)))
    _remember_removed(connection, counters, diff.removed, version)
    _store_version(connection, version, diff)
    return version


def store_suspension(
    connection: Connection, counters: Counters, suspensions: Sequence[tuple[str, str]]
) -> int:
    """Note why some rules are not matched any more, and return the new version."""
    version = counters.take("rules")
    for rule_id, reason in suspensions:
        values = {"suspended": reason, "version": version}
        connection.execute(rules.update().where(rules.c.id == rule_id).values(**values))
    _store_version(connection, version, Diff([], [rule_id for rule_id, _ in suspensions], []))
    return version


def announce(connection: Connection) -> None:
    """Tell replicas, once this transaction is committed, that there is something to read."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_notify(:channel, '')"), {"channel": CHANNEL})


def _store_version(connection: Connection, version: int, diff: Diff) -> None:
    counts = {name: len(ids) for name, ids in diff._asdict().items()}
    connection.execute(rule_versions.insert().values(version=version, at=time.time(), **counts))
    announce(connection)


def _remember_removed(
    connection: Connection, counters: Counters, removed: list[str], version: int
) -> None:
    floor = version - VERSIONS_KEPT
    if len(removed) > MOST_REMOVED:
        floor = version
    elif removed:
        gone = [{"id": rule_id, "version": version} for rule_id in removed]
        connection.execute(removed_rules.insert(), gone)
    if floor > counters[FLOOR]:
        counters.take(FLOOR, floor - counters[FLOOR])
        connection.execute(delete(removed_rules).where(removed_rules.c.version <= floor))


def _pieces(ids: list[str]) -> Iterator[list[str]]:
    for low in range(0, len(ids), _IDS_AT_ONCE):
        yield ids[low : low + _IDS_AT_ONCE]


def _row(rule: RuleDetails, version: int) -> dict[str, Any]:
    tags = json.dumps(sorted(rule.tags), ensure_ascii=False)
    row = {"id": rule.id, "rule": rule.rule, "tags": tags, "priority": rule.priority}
    return {**row, "data": rule.data_text, "version": version}


# Reading


def details_of(row: Row[Any]) -> RuleDetails:
    """A rule of the database."""
    tags = frozenset(json.loads(row.tags))
    return RuleDetails(row.id, row.rule, tags, row.priority, row.data)


@contextmanager
def one_moment(engine: Engine) -> Iterator[Connection]:
    """A connection whose queries all see the database as it was at the first of them."""
    connection = engine.connect()
    with connection:
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN")
        else:
            connection = connection.execution_options(isolation_level="REPEATABLE READ")
        yield connection


def current_versions(connection: Connection) -> CurrentVersions:
    values = {row.name: row.value for row in connection.execute(select(marks))}
    schema = connection.scalar(select(func.max(schemas.c.version))) or 0
    names = ("rules", "lists", FLOOR, "database")
    version, lists, floor, database = (values.get(name, 0) for name in names)
    return CurrentVersions(version, schema, lists, floor, database)


def changes_since(connection: Connection, version: int | None) -> RuleChanges:
    """What has changed since a version; all rules if there is none, or it is below the floor."""
    now = current_versions(connection)
    whole = version is None or not now.floor <= version <= now.rules
    wanted = select(rules)
    gone: list[str] = []
    if whole:
        wanted = wanted.where(rules.c.suspended.is_(None))
    else:
        wanted = wanted.where(rules.c.version > version)
        removed = select(removed_rules.c.id).where(removed_rules.c.version > version)
        gone += connection.scalars(removed)
    changed: list[RuleDetails] = []
    for row in connection.execute(wanted):
        if row.suspended is None:
            changed.append(details_of(row))
        else:
            gone.append(row.id)
    return RuleChanges(now.rules, whole, changed, gone)


def schema_form(connection: Connection, version: int) -> str | None:
    """The schema of a version, as JSON; None if there is none."""
    form: str | None = connection.scalar(select(schemas.c.form).where(schemas.c.version == version))
    return form
