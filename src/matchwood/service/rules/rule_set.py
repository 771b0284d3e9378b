"""The rules of backends, set one by one or all at once; every change makes a new version."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Row, func, select

from matchwood.index.file.array_file import IndexFileError
from matchwood.kernels.readiness import kernels_ready
from matchwood.language.errors import RuleError
from matchwood.match.parts.rule_columns import RuleDetails
from matchwood.match.store.part_store import FEW_RULES
from matchwood.match.store.rule_input import text_of
from matchwood.matcher import Matcher
from matchwood.schema import Schema
from matchwood.service.problems import RequestProblem, rule_error, rule_problem
from matchwood.service.rules.carried_data import checked_data
from matchwood.service.rules.live_rules import LiveRules
from matchwood.service.rules.rule_changes import (
    Diff,
    details_of,
    store_change,
    store_suspension,
)
from matchwood.service.rules.stored_lists import check_lists_stored
from matchwood.service.rules.timed_matching import LONG_RULE, Suspension
from matchwood.service.rules.written_rules import details_or_none
from matchwood.service.settings import Settings
from matchwood.service.storage.database import rule_versions, rules
from matchwood.service.storage.row_pages import page_of
from matchwood.service.storage.writer import Counters, DatabaseWriter

log = logging.getLogger("matchwood.service")
# The most ids of each kind that a diff lists, and the most rules that a problem lists.
MOST_LISTED = 1_000
# Seconds between looks at whether a suspension is written.
IN_ORDER_SECONDS = 0.005
# What a new set finds in the place of a rule that is suspended: not the rule itself.
SUSPENDED = RuleDetails("", "", frozenset(), 0.0)


def diff_json(diff: Diff) -> dict[str, Any]:
    """The counts of a diff, and its first thousand ids of each kind."""
    counts = {name: len(ids) for name, ids in diff._asdict().items()}
    return {**counts, "ids": {name: ids[:MOST_LISTED] for name, ids in diff._asdict().items()}}


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
        self._building = threads  # where the rules of uploads are built
        # Changes have a thread of their own: those that match may wait for a change to end.
        self._changes = ThreadPoolExecutor(1, "rules")
        self._limits = settings.limits
        self._folder = settings.data
        self._prefix = f"rules-{database:x}-"
        self._check_rule = check_rule  # raises a RuleError if a rule does not fit the schema
        self._made_with = made_with  # the `operators` and `schema` of a Matcher
        self._changing = asyncio.Lock()
        # Is held from the commit of a change until memory has it, by suspensions too.
        self._in_order = threading.Lock()
        self._saved = -1
        self.live = LiveRules(settings.limits, self._made_with)
        self.live.suspend = self.suspend
        self.suspended: dict[str, RuleDetails] = {}  # rules that are not matched

    @property
    def matcher(self) -> Matcher:
        """The matcher of the current version."""
        return self.live.state.matcher

    @property
    def version(self) -> int:
        """The version of the rules that are matched."""
        return self.live.state.version

    # Loading

    def load(self) -> None:
        """Load the snapshot of the current version, or build the matcher from the database."""
        version = self._writer.counters["rules"]
        path = self._snapshot(version)
        with self._engine.connect() as connection:
            stopped = select(rules).where(rules.c.suspended.is_not(None))
            self.suspended = {row.id: details_of(row) for row in connection.execute(stopped)}
        if path.exists() and (kernels_ready() or self._stored() > FEW_RULES):
            try:
                matcher = Matcher.load(path, **self._made_with)
                matcher.remove(list(self.suspended))
                self._saved = version
                self._use(version, matcher)
                return
            except (IndexFileError, RuleError, OSError) as error:
                log.warning(
                    "a snapshot cannot be used", extra={"path": str(path), "error": str(error)}
                )
        with self._engine.connect() as connection:
            matched = select(rules).where(rules.c.suspended.is_(None))
            stored = [details_of(row) for row in connection.execute(matched)]
        matcher = Matcher(**self._made_with)
        refused = matcher.store.update_texts(stored, "collect") if stored else []
        for rule_id, reason in refused:
            extra = {"rule": rule_id, "error": str(reason)}
            log.error("a rule is not matched: it can no longer be read", extra=extra)
        self._use(version, matcher)

    def _use(self, version: int, matcher: Matcher) -> None:
        self.live.replace(version, matcher)

    def _stored(self) -> int:
        """The number of rules in the database."""
        with self._engine.connect() as connection:
            return connection.scalar(select(func.count()).select_from(rules)) or 0

    def save(self) -> None:
        """Write a snapshot, unless there is one of the current version."""
        matcher = self.matcher
        if self.version == self._saved or not len(matcher) or matcher.store.holds_back():
            return  # without kernels there is no index to write; the database has all rules
        version, snapshot = self.live.frozen()
        snapshot.save(self._snapshot(version))
        self._saved = version
        for old in self._folder.glob(f"{self._prefix}*.mw"):
            if old != self._snapshot(version):
                old.unlink(missing_ok=True)

    def _snapshot(self, version: int) -> Path:
        return self._folder / f"{self._prefix}{version}.mw"

    def close(self) -> None:
        """No change is made any more."""
        self._changes.shutdown()

    # Reading

    def get(self, rule_id: str) -> Row[Any]:
        """The row of a rule, or a problem."""
        with self._engine.connect() as connection:
            row = connection.execute(select(rules).where(rules.c.id == rule_id)).one_or_none()
        if row is None:
            raise RequestProblem("not-found", f"there is no rule {rule_id!r}")
        return row

    def page(self, after: str, limit: int, search: str) -> tuple[list[Row[Any]], bool]:
        """Rules in the order of their ids, whose id or text contains `search`; are there more?"""
        wanted = select(rules).where(rules.c.id > after)
        if search:
            wanted = wanted.where(
                rules.c.id.icontains(search, autoescape=True)
                | rules.c.rule.icontains(search, autoescape=True)
            )
        return page_of(self._engine, wanted.order_by(rules.c.id), limit)

    def versions(self, limit: int) -> list[Row[Any]]:
        """The latest versions, newest first."""
        latest = select(rule_versions).order_by(rule_versions.c.version.desc()).limit(limit)
        with self._engine.connect() as connection:
            return list(connection.execute(latest))

    # The schema

    def use_schema(self, schema: Schema | None) -> None:
        """Use another schema for `isa`."""
        with self.live.change() as matcher:
            matcher.use_schema(schema)
            self._made_with["schema"] = schema

    def _adopt_schema(self, matcher: Matcher) -> None:
        """Give a newly built matcher the schema that was set while it was being built."""
        try:
            matcher.use_schema(self._made_with["schema"])
        except RuleError as error:
            raise rule_problem(error) from None

    # Changing

    def checked(
        self,
        rule_id: str,
        rule: object,
        tags: Iterable[str],
        priority: float,
        data: object = None,
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
        return RuleDetails(
            rule_id, text, frozenset(tags), float(priority), checked_data(data, self._limits)
        )

    @asynccontextmanager
    async def _exclusively(self) -> AsyncIterator[None]:
        """No other change is made meanwhile, so that memory follows in the order of versions."""
        async with self._changing:
            while not self._in_order.acquire(blocking=False):
                await asyncio.sleep(IN_ORDER_SECONDS)
            try:
                yield
            finally:
                self._in_order.release()

    async def put(self, rule: RuleDetails, expected: int | None = None) -> tuple[int, bool]:
        """Set a rule. Returns the new version, and whether the rule is new."""
        loop = asyncio.get_running_loop()
        async with self._exclusively():
            is_new = rule.id not in self.matcher and rule.id not in self.suspended
            diff = Diff([rule.id], [], []) if is_new else Diff([], [rule.id], [])
            try:  # refuse a rule that cannot be compiled before it is written
                await loop.run_in_executor(self._changes, self._compile, rule)
            except RuleError as error:
                raise rule_problem(error) from None
            version = await self._write(diff, {rule.id: rule}, expected)
            await loop.run_in_executor(self._changes, self._add, rule, version)
            self.suspended.pop(rule.id, None)
            return version, is_new

    def _compile(self, rule: RuleDetails) -> None:
        Matcher(**self._made_with).add(rule.id, rule.rule)

    def _add(self, rule: RuleDetails, version: int) -> None:
        with self.live.change(version) as matcher:
            if len(rule.rule) >= LONG_RULE:  # it is built before it is live
                matcher.store.update_texts([rule], "raise")
            else:
                matcher.store.add(rule)

    def suspend(self, suspensions: Sequence[Suspension]) -> None:
        """Match some rules no more, until they are set again; waits until it is so."""

        def work(connection: Connection, counters: Counters) -> int:
            return store_suspension(connection, counters, suspensions)

        def applied(version: int) -> None:
            with self.live.change(version) as matcher:
                for rule_id, _ in suspensions:
                    details = details_or_none(matcher, rule_id)
                    if details is not None:
                        self.suspended[rule_id] = details
                        matcher.remove([rule_id])

        with self._in_order:
            self._writer.submit(work, applied).result()

    async def delete(self, rule_id: str, expected: int | None = None) -> int:
        """Delete a rule, and return the new version."""
        async with self._exclusively():
            if rule_id not in self.matcher and rule_id not in self.suspended:
                raise RequestProblem("not-found", f"there is no rule {rule_id!r}")
            version = await self._write(Diff([], [], [rule_id]), {}, expected)
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._changes, self._remove, rule_id, version)
            self.suspended.pop(rule_id, None)
            return version

    def _remove(self, rule_id: str, version: int) -> None:
        with self.live.change(version) as matcher:
            matcher.remove([rule_id])

    async def replace(
        self, replacement: list[RuleDetails], expected: int | None, dry_run: bool
    ) -> tuple[int, Diff]:
        """Replace all rules in one step. Returns the version, and what has changed."""
        loop = asyncio.get_running_loop()
        new = {rule.id: rule for rule in replacement}
        matcher = await loop.run_in_executor(self._building, self._built, list(new.values()))
        async with self._exclusively():
            diff = await loop.run_in_executor(self._changes, self._diff, new)
            if dry_run or not diff:
                self._expect(expected)
                return self.version, diff
            if matcher.schema is not self._made_with.get("schema"):  # it was set meanwhile
                await loop.run_in_executor(self._changes, self._adopt_schema, matcher)
            version = await self._write(diff, new, expected)
            await loop.run_in_executor(self._changes, self._use, version, matcher)
            self.suspended = {}
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

        def work(connection: Connection, counters: Counters) -> int:
            changed = (new[rule_id].rule for rule_id in (*diff.added, *diff.changed))
            check_lists_stored(connection, changed)
            return store_change(connection, counters, diff, new)

        return await asyncio.wrap_future(self._writer.submit(work))
