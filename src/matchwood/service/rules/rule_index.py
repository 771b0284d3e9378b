"""The matcher of the subscriptions' rules, its snapshots, and how it catches up after a start.

One thread applies the changes, in the order in which they were committed. `change`, the number of
the last one, therefore says which changes a snapshot contains.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine, select

from matchwood.index.file.array_file import IndexFileError
from matchwood.kernels.readiness import kernels_ready
from matchwood.language.errors import RuleError
from matchwood.language.events import EventMapping
from matchwood.match.batch.pairs import Pairs
from matchwood.match.parts.rule_columns import RuleDetails
from matchwood.match.search.json_texts import blocks_of
from matchwood.match.store.part_store import FEW_RULES
from matchwood.matcher import Matcher
from matchwood.operators.call_execution import own_time
from matchwood.schema import Schema
from matchwood.service.rules.subscription_roster import Numbers
from matchwood.service.rules.timed_matching import (
    LONG_RULE,
    MEASURED_BYTES,
    WORTH_BUILDING,
    WORTH_WAITING,
    TimedMatching,
)
from matchwood.service.settings import Limits
from matchwood.service.storage.database import subscriptions

log = logging.getLogger("matchwood.service")
NOBODY: Numbers = np.empty(0, np.uint32)
# Up to so many events are matched one by one rather than as a batch.
_FEW = 3
# Rows of the database that are fetched at a time.
_ROWS = 50_000


class SubscriptionIndex:
    """Matches events with the rules of all subscriptions, which it knows by number."""

    def __init__(self, folder: Path, database: int, limits: Limits, **made_with: Any) -> None:
        self._folder = folder
        self._prefix = f"subscriptions-{database:x}-"
        self._made_with = made_with  # the `operators` and `schema` of a Matcher
        self._thread = ThreadPoolExecutor(1, "index")
        self._saved = -1
        self.matcher = Matcher(**made_with)
        self.timed = TimedMatching(limits, self._made_with)
        self.change = 0

    # Matching

    @property
    def is_empty(self) -> bool:
        """Whether there is no rule, so that nothing reads events to match them."""
        return not len(self.matcher)

    def match(self, events: Sequence[EventMapping], bodies: Sequence[str]) -> list[Numbers]:
        """For each event the numbers of the subscriptions that it matches, in ascending order.

        `bodies` are the same events as JSON. An EventError says that an event cannot be matched.
        """
        if len(events) <= _FEW:
            return [self._alone(*pair) for pair in zip(events, bodies, strict=True)]
        snapshot = self.matcher.store.snapshot
        large = {
            i: self._alone(events[i], body)
            for i, body in enumerate(bodies)
            if len(body) >= MEASURED_BYTES and self.timed.may_take_long(snapshot, len(body))
        }
        rest = [i for i in range(len(events)) if i not in large]
        matched = iter(self._together([events[i] for i in rest], [bodies[i] for i in rest]))
        return [large[i] if i in large else next(matched) for i in range(len(events))]

    def _alone(self, event: EventMapping, body: str) -> Numbers:
        return np.sort(np.array(self.timed.ids(self.matcher, event, body), np.uint32))

    def _together(self, events: Sequence[EventMapping], bodies: Sequence[str]) -> list[Numbers]:
        if not events:
            return []
        begun = own_time()
        store = self.matcher.store
        worth = WORTH_WAITING if store.holds_back() else WORTH_BUILDING
        snapshot = self.timed.snapshot(store, sum(map(len, bodies)), worth)
        if snapshot.pending:
            snapshot = store.settled(len(events))
        numbers = snapshot.ids().values.to_numpy(zero_copy_only=False)
        result: list[Numbers] = []
        for piece in snapshot.json_search().slices(blocks_of(bodies)):
            pairs = [(numbered - piece.first, rules) for numbered, rules in piece.pairs]
            for error in piece.bad.values():
                raise error
            result += _by_event(pairs, numbers, piece.end - piece.first)
        store.hurry()
        self.timed.look_into_batch(snapshot, events, bodies, own_time() - begun)
        return result

    # Changes, in order

    def submit(
        self, change: int, rules: Sequence[tuple[int, str]], gone: Sequence[int] = ()
    ) -> Future[None]:
        """Queue a change behind all earlier ones: rules to set, and subscriptions to remove."""
        return self._thread.submit(self._apply, change, list(rules), list(gone))

    def _apply(self, change: int, rules: list[tuple[int, str]], gone: list[int]) -> None:
        if gone:
            self.matcher.remove(gone)
        if len(rules) == 1 and len(rules[0][1]) < LONG_RULE:
            self.matcher.add(*rules[0])
        elif rules:
            details = [RuleDetails(number, rule, frozenset(), 0.0) for number, rule in rules]
            self.matcher.store.update_texts(details, "raise")
        self.change = max(self.change, change)

    def use_schema(self, schema: Schema | None) -> None:
        """Use another schema for `isa`, after all earlier changes have been applied."""
        self._thread.submit(self._use_schema, schema).result()

    def _use_schema(self, schema: Schema | None) -> None:
        self.matcher.use_schema(schema)
        self._made_with["schema"] = schema

    def close(self) -> None:
        self._thread.shutdown()

    # Snapshots

    def snapshots(self) -> list[tuple[int, Path]]:
        """The snapshots on disk, latest first: the last change in each, and its file."""
        snapshots = []
        for path in self._folder.glob(f"{self._prefix}*.mw"):
            change = path.stem.removeprefix(self._prefix)
            if change.isdecimal():
                snapshots.append((int(change), path))
        return sorted(snapshots, reverse=True)

    def save(self) -> Path | None:
        """Write a snapshot, unless the last one is up to date."""
        change = self.change
        if change == self._saved or not len(self.matcher) or self.matcher.store.holds_back():
            return None  # without kernels there is no index to write; the database has all rules
        path = self._folder / f"{self._prefix}{change}.mw"
        self.matcher.save(path)
        self._saved = change
        for _, old in self.snapshots()[2:]:
            old.unlink(missing_ok=True)
        return path

    def load(self, engine: Engine, numbers: NDArray[np.int64], change: int) -> None:
        """Load the latest readable snapshot, then apply what has changed in the database since."""
        started = time.perf_counter()
        few = len(numbers) <= FEW_RULES and not kernels_ready()
        for saved, path in [] if few else self.snapshots():  # to read one takes kernels
            if saved > change:
                continue
            try:
                self.matcher = Matcher.load(path, **self._made_with)
            except (IndexFileError, RuleError, OSError) as error:
                log.warning(
                    "a snapshot cannot be used", extra={"path": str(path), "error": str(error)}
                )
            else:
                self.change = self._saved = saved
                break
        from_snapshot = len(self.matcher)
        self._catch_up(engine, numbers)
        self.change = change
        seconds = round(time.perf_counter() - started, 3)
        counts = {"snapshot": from_snapshot, "subscriptions": len(self.matcher)}
        log.info("the index of subscriptions is loaded", extra={"seconds": seconds, **counts})

    def _catch_up(self, engine: Engine, numbers: NDArray[np.int64]) -> None:
        indexed = np.array(self.matcher.store.ids(), np.int64)
        self.matcher.remove(np.setdiff1d(indexed, numbers).tolist())
        row = subscriptions.c
        since = select(row.number, row.rule, row.suspended).where(row.change > self.change)
        if not len(indexed):
            since = select(row.number, row.rule, row.suspended)
        changed = []
        suspended = []
        with engine.connect().execution_options(yield_per=_ROWS) as connection:
            for number, rule, reason in connection.execute(since):
                if reason is None:
                    changed.append(RuleDetails(number, rule, frozenset(), 0.0))
                else:
                    suspended.append(number)
        self.matcher.remove(suspended)
        refused = self.matcher.store.update_texts(changed, "collect") if changed else []
        for number, error in refused:
            log.error(
                "a subscription is not matched: its rule can no longer be read",
                extra={"subscription": number, "error": str(error)},
            )


def _by_event(
    pairs: list[Pairs],
    numbers: NDArray[np.int64],
    count: int,
) -> list[Numbers]:
    """Group pairs of an event and a subscription by event."""
    if not pairs:
        return [NOBODY] * count
    events = np.concatenate([matched_events for matched_events, _ in pairs])
    matched = numbers[np.concatenate([indices for _, indices in pairs])].astype(np.uint32)
    order = np.lexsort((matched, events))
    bounds = np.searchsorted(events[order], np.arange(1, count))
    return np.split(matched[order], bounds)
