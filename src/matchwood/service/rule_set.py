"""The rules of a backend: set one by one or all at once, each time with a new version."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, Row, delete, select

from matchwood.engine import Matcher
from matchwood.index.file import IndexFileError
from matchwood.language.errors import EventError, RuleError
from matchwood.match.given import text_of
from matchwood.match.parts import Details
from matchwood.schema import Schema
from matchwood.service.database import rule_versions, rules
from matchwood.service.problems import Problem, event_problem, rule_error, rule_problem
from matchwood.service.settings import Settings
from matchwood.service.writer import Marks, Writer

log = logging.getLogger("matchwood.service")
SHOWN = 1_000  # ids of each kind in a diff, and bad rules in a problem
Bindings = list[dict[str, object]]
_FEW = 3  # events that are matched one by one


class Diff(NamedTuple):
    """How a set of rules differs from the one before."""

    added: list[str]
    changed: list[str]
    removed: list[str]

    def __bool__(self) -> bool:
        return any(self)

    def to_json(self) -> dict[str, Any]:
        """The counts, and the first thousand ids of each kind."""
        counts = {name: len(ids) for name, ids in self._asdict().items()}
        return {**counts, "ids": {name: ids[:SHOWN] for name, ids in self._asdict().items()}}


class RuleSet:
    """The rules, their version, and how they are changed; changes wait for each other."""

    def __init__(
        self,
        engine: Engine,
        writer: Writer,
        threads: ThreadPoolExecutor,
        settings: Settings,
        database: int,
        **made_with: Any,
    ) -> None:
        self._engine = engine
        self._writer = writer
        self._threads = threads
        self._limits = settings.limits
        self._folder = settings.data
        self._prefix = f"rules-{database:x}-"
        self._made_with = made_with
        self._changing = asyncio.Lock()
        self._saved = -1
        self.matcher = Matcher(**made_with)
        self.version = 0
        self.fits: Callable[[object], None] = lambda rule: None  # a RuleError: it does not

    # Loading

    def load(self) -> None:
        """Take up the snapshot of the version that the database has, or build from its rows."""
        self.version = self._writer.marks["rules"]
        path = self._snapshot(self.version)
        if path.exists():
            try:
                self.matcher = Matcher.load(path, **self._made_with)
                self._saved = self.version
                return
            except (IndexFileError, RuleError, OSError) as error:
                log.warning(
                    "a snapshot is not used", extra={"path": str(path), "error": str(error)}
                )
        with self._engine.connect() as connection:
            given = [_details(row) for row in connection.execute(select(rules))]
        refused = self.matcher.update_details(given, "collect", None) if given else []
        for rule_id, reason in refused:
            extra = {"rule": rule_id, "error": str(reason)}
            log.error("a rule is not matched: it cannot be read any more", extra=extra)

    def save(self) -> None:
        """Write a snapshot, unless there is one of this version."""
        version = self.version
        if version == self._saved or not len(self.matcher):
            return
        self.matcher.save(self._snapshot(version))
        self._saved = version
        for old in self._folder.glob(f"{self._prefix}*.mw"):
            if old != self._snapshot(version):
                old.unlink(missing_ok=True)

    def _snapshot(self, version: int) -> Path:
        return self._folder / f"{self._prefix}{version}.mw"

    # Reading

    def get(self, rule_id: str) -> Row[Any]:
        with self._engine.connect() as connection:
            row = connection.execute(select(rules).where(rules.c.id == rule_id)).one_or_none()
        if row is None:
            raise Problem("not-found", f"there is no rule {rule_id!r}")
        return row

    def page(self, after: str, limit: int, search: str) -> list[Row[Any]]:
        wanted = select(rules).where(rules.c.id > after)
        if search:
            wanted = wanted.where(
                rules.c.id.icontains(search, autoescape=True)
                | rules.c.rule.icontains(search, autoescape=True)
            )
        with self._engine.connect() as connection:
            return list(connection.execute(wanted.order_by(rules.c.id).limit(limit)))

    def versions(self, limit: int) -> list[Row[Any]]:
        latest = select(rule_versions).order_by(rule_versions.c.version.desc()).limit(limit)
        with self._engine.connect() as connection:
            return list(connection.execute(latest))

    # The schema

    def use_schema(self, schema: Schema | None) -> None:
        """Answer `isa` by another schema."""
        self.matcher.use_schema(schema)
        self._made_with["schema"] = schema

    def _renewed(self, matcher: Matcher) -> None:
        try:
            matcher.use_schema(self._made_with["schema"])
        except RuleError as error:
            raise rule_problem(error) from None

    # Matching

    def match(
        self, events: Sequence[Mapping[str, Any]], tags: frozenset[str] | None, limit: int | None
    ) -> list[list[tuple[Details, Bindings | None]]]:
        """For each event the rules that are true of it, and what binds their variables."""
        matcher = self.matcher
        found: list[dict[str, Bindings | None]] = []
        try:
            if matcher.calls_operators:  # only they bind variables
                found = [
                    matcher.match(event, tags=tags, limit=limit, bindings=True) for event in events
                ]
            elif len(events) <= _FEW:
                ids = (matcher.match(event, tags=tags, limit=limit) for event in events)
                found = [dict.fromkeys(some) for some in ids]
            else:
                found = [{} for _ in events]
                table = matcher.match_batch(events, tags=tags, limit=limit)
                pairs = zip(table["event"].to_pylist(), table["rule_id"].to_pylist(), strict=True)
                for event, rule_id in pairs:
                    found[event][rule_id] = None
        except EventError as error:
            raise event_problem(error) from None
        total = sum(map(len, found))
        if total > self._limits.batch_matches:
            detail = f"{total:,} matches, the limit is {self._limits.batch_matches:,}: use `limit`"
            raise Problem("answer-too-large", detail, limit=self._limits.batch_matches)
        return [
            [
                (one, bindings or None)
                for rule_id, bindings in some.items()
                if (one := self._known(matcher, rule_id))
            ]
            for some in found
        ]

    @staticmethod
    def _known(matcher: Matcher, rule_id: str) -> Details | None:
        try:
            return matcher._details(rule_id)
        except (KeyError, StopIteration):  # it went meanwhile
            return None

    # Changing

    def checked(self, rule_id: str, rule: object, tags: Iterable[str], priority: float) -> Details:
        """A rule that can be matched, or a problem."""
        try:
            text = text_of(rule)
            if "\0" in text:
                raise RuleError("a rule has no character of code 0")
            self.fits(rule)
        except RuleError as error:
            raise rule_problem(error) from None
        if len(text.encode("utf-8", "replace")) > self._limits.rule_bytes:
            detail = f"a rule has at most {self._limits.rule_bytes:,} bytes"
            raise Problem("rule-too-large", detail, limit=self._limits.rule_bytes)
        return Details(rule_id, text, frozenset(tags), float(priority))

    async def put(self, one: Details, expected: int | None = None) -> tuple[int, bool]:
        """Set a rule: the new version, and whether it is new."""
        loop = asyncio.get_running_loop()
        async with self._changing:
            is_new = one.id not in self.matcher
            diff = Diff([one.id], [], []) if is_new else Diff([], [one.id], [])
            try:  # a rule that nothing could answer is refused before it is written
                await loop.run_in_executor(self._threads, self._check, one)
            except RuleError as error:
                raise rule_problem(error) from None
            version = await self._write(diff, {one.id: one}, expected)
            await loop.run_in_executor(self._threads, self._add, one)
            self.version = version
            return version, is_new

    def _check(self, one: Details) -> None:
        Matcher(**self._made_with).add(one.id, one.rule)

    def _add(self, one: Details) -> None:
        self.matcher.add(one.id, one.rule, tags=one.tags, priority=one.priority)

    async def delete(self, rule_id: str, expected: int | None = None) -> int:
        async with self._changing:
            if rule_id not in self.matcher:
                raise Problem("not-found", f"there is no rule {rule_id!r}")
            version = await self._write(Diff([], [], [rule_id]), {}, expected)
            self.matcher.remove([rule_id])
            self.version = version
            return version

    async def replace(
        self, given: list[Details], expected: int | None, dry_run: bool
    ) -> tuple[int, Diff]:
        """Put a whole set in the place of the one that is there, in one step."""
        loop = asyncio.get_running_loop()
        new = {one.id: one for one in given}
        matcher = await loop.run_in_executor(self._threads, self._built, list(new.values()))
        async with self._changing:
            diff = await loop.run_in_executor(self._threads, self._diff, new)
            if dry_run or not diff:
                self._expect(expected)
                return self.version, diff
            if matcher.schema is not self._made_with.get("schema"):  # it has changed meanwhile
                await loop.run_in_executor(self._threads, self._renewed, matcher)
            version = await self._write(diff, new, expected)
            self.matcher = matcher
            self.version = version
            return version, diff

    def _built(self, given: list[Details]) -> Matcher:
        matcher = Matcher(**self._made_with)
        refused = matcher.update_details(given, "collect", None) if given else []
        if refused:
            errors = [{"id": rule_id, **rule_error(error)} for rule_id, error in refused[:SHOWN]]
            detail = f"{len(refused):,} rules cannot be read; none was changed"
            raise Problem("invalid-rule", detail, errors=errors)
        return matcher

    def _diff(self, new: Mapping[str, Details]) -> Diff:
        snapshot = self.matcher._snapshot
        old = {one.id: one for part in snapshot.parts for one in part.live_details()}
        old |= {pending.details.id: pending.details for pending in snapshot.pending}
        added = [rule_id for rule_id in new if rule_id not in old]
        changed = [
            rule_id for rule_id, one in new.items() if rule_id in old and one != old[rule_id]
        ]
        return Diff(added, changed, [rule_id for rule_id in old if rule_id not in new])

    def _expect(self, expected: int | None) -> None:
        if expected is not None and expected != self.version:
            detail = f"expected version {expected}, the rules are at {self.version}"
            raise Problem("version-conflict", detail, version=self.version)

    async def _write(self, diff: Diff, new: Mapping[str, Details], expected: int | None) -> int:
        self._expect(expected)
        added = [_row(new[rule_id]) for rule_id in (*diff.added, *diff.changed)]
        gone = [*diff.removed, *diff.changed]

        def work(connection: Connection, marks: Marks) -> int:
            for low in range(0, len(gone), 500):
                connection.execute(delete(rules).where(rules.c.id.in_(gone[low : low + 500])))
            for low in range(0, len(added), 10_000):
                connection.execute(rules.insert(), added[low : low + 10_000])
            version = marks.take("rules")
            counts = {name: len(ids) for name, ids in diff._asdict().items()}
            row = {"version": version, "at": time.time(), **counts}
            connection.execute(rule_versions.insert().values(**row))
            return version

        return await asyncio.wrap_future(self._writer.submit(work))


def _row(one: Details) -> dict[str, Any]:
    tags = json.dumps(sorted(one.tags), ensure_ascii=False)
    return {"id": one.id, "rule": one.rule, "tags": tags, "priority": one.priority}


def _details(row: Row[Any]) -> Details:
    return Details(row.id, row.rule, frozenset(json.loads(row.tags)), row.priority)
