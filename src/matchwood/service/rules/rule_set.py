"""The rules of backends, set one by one or all at once; every change makes a new version."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, Row, delete, func, select

from matchwood.index.file.array_file import IndexFileError
from matchwood.kernels.readiness import kernels_ready
from matchwood.language.errors import EventError, RuleError
from matchwood.match.parts.rule_columns import RuleDetails
from matchwood.match.store.part_store import FEW_RULES
from matchwood.match.store.rule_input import text_of
from matchwood.matcher import Bindings, Matcher
from matchwood.schema import Schema
from matchwood.service.problems import RequestProblem, event_problem, rule_error, rule_problem
from matchwood.service.rules.timed_matching import (
    LARGE_BYTES,
    LONG_RULE,
    Suspension,
    TimedMatching,
)
from matchwood.service.settings import Settings
from matchwood.service.storage.database import rule_versions, rules
from matchwood.service.storage.writer import Counters, DatabaseWriter

log = logging.getLogger("matchwood.service")
# The most ids of each kind that a diff lists, and the most rules that a problem lists.
MOST_LISTED = 1_000
# Up to so many events are matched one by one rather than as a batch.
_FEW = 3
# Rules that one statement deletes.
_DELETED_AT_ONCE = 500
# Rules that one statement inserts.
_INSERTED_AT_ONCE = 10_000


# What a new set finds in the place of a rule that is suspended: not the rule itself.
SUSPENDED = RuleDetails("", "", frozenset(), 0.0)


class Diff(NamedTuple):
    """The ids of rules that a new set adds, changes and removes."""

    added: list[str]
    changed: list[str]
    removed: list[str]

    def __bool__(self) -> bool:
        return any(self)

    def to_json(self) -> dict[str, Any]:
        """The counts, and the first thousand ids of each kind."""
        counts = {name: len(ids) for name, ids in self._asdict().items()}
        return {**counts, "ids": {name: ids[:MOST_LISTED] for name, ids in self._asdict().items()}}


class RuleSet:
    """The rules and their version. Changes are made one after another."""

    def __init__(
        self,
        engine: Engine,
        writer: DatabaseWriter,
        threads: ThreadPoolExecutor,
        settings: Settings,
        database: int,
        check_rule: Callable[[object], None],
        **made_with: Any,
    ) -> None:
        self._engine = engine
        self._writer = writer
        self._threads = threads
        self._limits = settings.limits
        self._folder = settings.data
        self._prefix = f"rules-{database:x}-"
        self._check_rule = check_rule  # raises a RuleError if a rule does not fit the schema
        self._made_with = made_with  # the `operators` and `schema` of a Matcher
        self._changing = asyncio.Lock()
        self._saved = -1
        self.matcher = Matcher(**made_with)
        self.timed = TimedMatching(settings.limits, self._made_with)
        self.timed.suspend = self.suspend
        self.suspended: dict[str, RuleDetails] = {}  # rules that are not matched
        self.version = 0

    # Loading

    def load(self) -> None:
        """Load the snapshot of the current version, or build the matcher from the database."""
        self.version = self._writer.counters["rules"]
        path = self._snapshot(self.version)
        with self._engine.connect() as connection:
            stopped = select(rules).where(rules.c.suspended.is_not(None))
            self.suspended = {row.id: _details(row) for row in connection.execute(stopped)}
        if path.exists() and (kernels_ready() or self._stored() > FEW_RULES):
            try:
                self.matcher = Matcher.load(path, **self._made_with)
                self._saved = self.version
                self.matcher.remove(list(self.suspended))
                return
            except (IndexFileError, RuleError, OSError) as error:
                log.warning(
                    "a snapshot cannot be used", extra={"path": str(path), "error": str(error)}
                )
        with self._engine.connect() as connection:
            matched = select(rules).where(rules.c.suspended.is_(None))
            stored = [_details(row) for row in connection.execute(matched)]
        refused = self.matcher.store.update_texts(stored, "collect") if stored else []
        for rule_id, reason in refused:
            extra = {"rule": rule_id, "error": str(reason)}
            log.error("a rule is not matched: it can no longer be read", extra=extra)

    def _stored(self) -> int:
        """The number of rules in the database."""
        with self._engine.connect() as connection:
            return connection.scalar(select(func.count()).select_from(rules)) or 0

    def save(self) -> None:
        """Write a snapshot, unless there is one of the current version."""
        version = self.version
        if version == self._saved or not len(self.matcher) or self.matcher.store.holds_back():
            return  # without kernels there is no index to write; the database has all rules
        self.matcher.save(self._snapshot(version))
        self._saved = version
        for old in self._folder.glob(f"{self._prefix}*.mw"):
            if old != self._snapshot(version):
                old.unlink(missing_ok=True)

    def _snapshot(self, version: int) -> Path:
        return self._folder / f"{self._prefix}{version}.mw"

    # Reading

    def get(self, rule_id: str) -> Row[Any]:
        """The row of a rule, or a problem."""
        with self._engine.connect() as connection:
            row = connection.execute(select(rules).where(rules.c.id == rule_id)).one_or_none()
        if row is None:
            raise RequestProblem("not-found", f"there is no rule {rule_id!r}")
        return row

    def page(self, after: str, limit: int, search: str) -> list[Row[Any]]:
        """Rules in the order of their ids, whose id or text contains `search`."""
        wanted = select(rules).where(rules.c.id > after)
        if search:
            wanted = wanted.where(
                rules.c.id.icontains(search, autoescape=True)
                | rules.c.rule.icontains(search, autoescape=True)
            )
        with self._engine.connect() as connection:
            return list(connection.execute(wanted.order_by(rules.c.id).limit(limit)))

    def versions(self, limit: int) -> list[Row[Any]]:
        """The latest versions, newest first."""
        latest = select(rule_versions).order_by(rule_versions.c.version.desc()).limit(limit)
        with self._engine.connect() as connection:
            return list(connection.execute(latest))

    # The schema

    def use_schema(self, schema: Schema | None) -> None:
        """Use another schema for `isa`."""
        self.matcher.use_schema(schema)
        self._made_with["schema"] = schema

    def _adopt_schema(self, matcher: Matcher) -> None:
        """Give a newly built matcher the schema that was set while it was being built."""
        try:
            matcher.use_schema(self._made_with["schema"])
        except RuleError as error:
            raise rule_problem(error) from None

    # Matching

    def match(
        self,
        events: Sequence[Mapping[str, Any]],
        bodies: Sequence[str],
        tags: frozenset[str] | None,
        limit: int | None,
    ) -> list[list[tuple[RuleDetails, Bindings | None]]]:
        """For each event the rules that are true of it, with the bindings of their variables.

        `bodies` are the same events as JSON.
        """
        matcher = self.matcher
        matches: list[dict[str, Bindings | None]] = []
        try:
            if matcher.calls_operators:  # only they bind variables
                for event in events:
                    bound = matcher.match(event, tags=tags, limit=limit, bindings=True)
                    matches.append({**bound})
            elif len(events) <= _FEW or max(map(len, bodies)) >= LARGE_BYTES:
                for event, body in zip(events, bodies, strict=True):
                    matches.append(dict.fromkeys(self.timed.ids(matcher, event, body, tags, limit)))
            else:
                matches = [{} for _ in events]
                table = matcher.match_json_batch(bodies, tags=tags, limit=limit)
                pairs = zip(table["event"].to_pylist(), table["rule_id"].to_pylist(), strict=True)
                for event, rule_id in pairs:
                    matches[event][rule_id] = None
        except EventError as error:
            raise event_problem(error) from None
        total = sum(map(len, matches))
        if total > self._limits.batch_matches:
            detail = f"{total:,} matches, the limit is {self._limits.batch_matches:,}: use `limit`"
            raise RequestProblem("answer-too-large", detail, limit=self._limits.batch_matches)
        return [
            [
                (details, bindings or None)
                for rule_id, bindings in of_event.items()
                if (details := _details_or_none(matcher, rule_id))
            ]
            for of_event in matches
        ]

    # Changing

    def checked(
        self, rule_id: str, rule: object, tags: Iterable[str], priority: float
    ) -> RuleDetails:
        """A rule that can be stored, or a problem."""
        try:
            text = text_of(rule)
            if "\0" in text:
                raise RuleError("a rule must not contain the character U+0000")
            self._check_rule(rule)
        except RuleError as error:
            raise rule_problem(error) from None
        if len(text.encode("utf-8", "replace")) > self._limits.rule_bytes:
            detail = f"a rule may have at most {self._limits.rule_bytes:,} bytes"
            raise RequestProblem("rule-too-large", detail, limit=self._limits.rule_bytes)
        return RuleDetails(rule_id, text, frozenset(tags), float(priority))

    async def put(self, rule: RuleDetails, expected: int | None = None) -> tuple[int, bool]:
        """Set a rule. Returns the new version, and whether the rule is new."""
        loop = asyncio.get_running_loop()
        async with self._changing:
            is_new = rule.id not in self.matcher and rule.id not in self.suspended
            diff = Diff([rule.id], [], []) if is_new else Diff([], [rule.id], [])
            try:  # refuse a rule that cannot be compiled before it is written
                await loop.run_in_executor(self._threads, self._compile, rule)
            except RuleError as error:
                raise rule_problem(error) from None
            version = await self._write(diff, {rule.id: rule}, expected)
            await loop.run_in_executor(self._threads, self._add, rule)
            self.suspended.pop(rule.id, None)
            self.version = version
            return version, is_new

    def _compile(self, rule: RuleDetails) -> None:
        Matcher(**self._made_with).add(rule.id, rule.rule)

    def _add(self, rule: RuleDetails) -> None:
        if len(rule.rule) >= LONG_RULE:  # it is built before it is live
            self.matcher.store.update_texts([rule], "raise")
        else:
            self.matcher.add(rule.id, rule.rule, tags=rule.tags, priority=rule.priority)

    def suspend(self, suspensions: Sequence[Suspension]) -> None:
        """Match some rules no more, until they are set again; waits until it is so."""

        def work(connection: Connection, counters: Counters) -> None:
            for rule_id, reason in suspensions:
                own = rules.c.id == rule_id
                connection.execute(rules.update().where(own).values(suspended=reason))

        def applied(result: None) -> None:
            for rule_id, _ in suspensions:
                details = _details_or_none(self.matcher, rule_id)
                if details is not None:
                    self.suspended[rule_id] = details
                    self.matcher.remove([rule_id])

        self._writer.submit(work, applied).result()

    async def delete(self, rule_id: str, expected: int | None = None) -> int:
        """Delete a rule, and return the new version."""
        async with self._changing:
            if rule_id not in self.matcher and rule_id not in self.suspended:
                raise RequestProblem("not-found", f"there is no rule {rule_id!r}")
            version = await self._write(Diff([], [], [rule_id]), {}, expected)
            self.matcher.remove([rule_id])
            self.suspended.pop(rule_id, None)
            self.version = version
            return version

    async def replace(
        self, replacement: list[RuleDetails], expected: int | None, dry_run: bool
    ) -> tuple[int, Diff]:
        """Replace all rules in one step. Returns the version, and what has changed."""
        loop = asyncio.get_running_loop()
        new = {rule.id: rule for rule in replacement}
        matcher = await loop.run_in_executor(self._threads, self._built, list(new.values()))
        async with self._changing:
            diff = await loop.run_in_executor(self._threads, self._diff, new)
            if dry_run or not diff:
                self._expect(expected)
                return self.version, diff
            if matcher.schema is not self._made_with.get("schema"):  # it was set meanwhile
                await loop.run_in_executor(self._threads, self._adopt_schema, matcher)
            version = await self._write(diff, new, expected)
            self.matcher = matcher
            self.suspended = {}
            self.version = version
            return version, diff

    def _built(self, rules: list[RuleDetails]) -> Matcher:
        matcher = Matcher(**self._made_with)
        refused = matcher.store.update_texts(rules, "collect") if rules else []
        if refused:
            errors = [
                {"id": rule_id, **rule_error(error)} for rule_id, error in refused[:MOST_LISTED]
            ]
            detail = f"{len(refused):,} rules are invalid; nothing was changed"
            raise RequestProblem("invalid-rule", detail, errors=errors)
        return matcher

    def _diff(self, new: Mapping[str, RuleDetails]) -> Diff:
        old = {rule.id: rule for rule in self.matcher.store.snapshot.details()}
        old |= dict.fromkeys(self.suspended, SUSPENDED)  # if it stays, it is resumed
        added = [rule_id for rule_id in new if rule_id not in old]
        changed = [
            rule_id
            for rule_id, details in new.items()
            if rule_id in old and details != old[rule_id]
        ]
        return Diff(added, changed, [rule_id for rule_id in old if rule_id not in new])

    def _expect(self, expected: int | None) -> None:
        if expected is not None and expected != self.version:
            detail = f"expected version {expected}, the rules are at {self.version}"
            raise RequestProblem("version-conflict", detail, version=self.version)

    async def _write(self, diff: Diff, new: Mapping[str, RuleDetails], expected: int | None) -> int:
        self._expect(expected)
        added = [_row(new[rule_id]) for rule_id in (*diff.added, *diff.changed)]
        gone = [*diff.removed, *diff.changed]

        def work(connection: Connection, counters: Counters) -> int:
            for low in range(0, len(gone), _DELETED_AT_ONCE):
                deleted = gone[low : low + _DELETED_AT_ONCE]
                connection.execute(delete(rules).where(rules.c.id.in_(deleted)))
            for low in range(0, len(added), _INSERTED_AT_ONCE):
                connection.execute(rules.insert(), added[low : low + _INSERTED_AT_ONCE])
            version = counters.take("rules")
            counts = {name: len(ids) for name, ids in diff._asdict().items()}
            row = {"version": version, "at": time.time(), **counts}
            connection.execute(rule_versions.insert().values(**row))
            return version

        return await asyncio.wrap_future(self._writer.submit(work))


def _details_or_none(matcher: Matcher, rule_id: str) -> RuleDetails | None:
    """The details of a rule; None if it was removed after it had matched."""
    try:
        return matcher.store.details(rule_id)
    except KeyError:
        return None


def _row(rule: RuleDetails) -> dict[str, Any]:
    tags = json.dumps(sorted(rule.tags), ensure_ascii=False)
    return {"id": rule.id, "rule": rule.rule, "tags": tags, "priority": rule.priority}


def _details(row: Row[Any]) -> RuleDetails:
    return RuleDetails(row.id, row.rule, frozenset(json.loads(row.tags)), row.priority)
