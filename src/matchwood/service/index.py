"""The index of the subscriptions' rules, its snapshots, and how it catches up with the database.

Changes come in the order in which they were committed and are made by one thread, so that
`change`, the mark of the last of them, says what a snapshot holds.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine, select

from matchwood.engine import Matcher
from matchwood.index.file import IndexFileError
from matchwood.language.errors import RuleError
from matchwood.match.parts import Details
from matchwood.match.stream import ids_of, slices_of_pairs
from matchwood.schema import Schema
from matchwood.service.database import subscriptions
from matchwood.service.roster import Numbers

log = logging.getLogger("matchwood.service")
Event = Mapping[str, Any]
NOBODY: Numbers = np.empty(0, np.uint32)
_FEW = 3  # events that are matched one by one
_ROWS = 50_000  # rows that are read at once


class SubscriptionIndex:
    """Rules by the number of their subscription."""

    def __init__(self, folder: Path, database: int, **made_with: Any) -> None:
        self._folder = folder
        self._prefix = f"subscriptions-{database:x}-"
        self._made_with = made_with  # operators and schema
        self._thread = ThreadPoolExecutor(1, "index")
        self._saved = -1
        self.matcher = Matcher(**made_with)
        self.change = 0

    # Matching

    def match(self, events: Sequence[Event]) -> list[Numbers]:
        """For each event the numbers of the subscriptions that it matches, in order."""
        if len(events) <= _FEW:
            found = (np.array(self.matcher.match(event), np.uint32) for event in events)
            return [np.sort(numbers) for numbers in found]
        matcher = self.matcher
        snapshot = matcher._settled(len(events))
        numbers = ids_of(snapshot).values.to_numpy(zero_copy_only=False)
        result: list[Numbers] = []
        for count, pairs in slices_of_pairs(snapshot, events, None, None, matcher.decider):
            result += _by_event(list(pairs), numbers, count)
        matcher._hurry()
        return result

    # Changes, in order

    def submit(
        self, change: int, rules: Sequence[tuple[int, str]], gone: Sequence[int] = ()
    ) -> Future[None]:
        """Set and remove rules, after all changes before; for the writing thread."""
        return self._thread.submit(self._apply, change, list(rules), list(gone))

    def _apply(self, change: int, rules: list[tuple[int, str]], gone: list[int]) -> None:
        if gone:
            self.matcher.remove(gone)
        if len(rules) == 1:
            self.matcher.add(*rules[0])
        elif rules:
            given = [Details(number, rule, frozenset(), 0.0) for number, rule in rules]
            self.matcher.update_details(given, "raise", None)
        self.change = max(self.change, change)

    def use_schema(self, schema: Schema | None) -> None:
        """Answer `isa` by another schema, after all changes before."""
        self._thread.submit(self._use_schema, schema).result()

    def _use_schema(self, schema: Schema | None) -> None:
        self.matcher.use_schema(schema)
        self._made_with["schema"] = schema

    def close(self) -> None:
        self._thread.shutdown()

    # Snapshots

    def snapshots(self) -> list[tuple[int, Path]]:
        """The changes of the snapshots that are there, and their files, the latest first."""
        found = []
        for path in self._folder.glob(f"{self._prefix}*.mw"):
            change = path.stem.removeprefix(self._prefix)
            if change.isdecimal():
                found.append((int(change), path))
        return sorted(found, reverse=True)

    def save(self) -> Path | None:
        """Write a snapshot, unless the last one has all there is."""
        change = self.change
        if change == self._saved or not len(self.matcher):
            return None
        path = self._folder / f"{self._prefix}{change}.mw"
        self.matcher.save(path)
        self._saved = change
        for _, old in self.snapshots()[2:]:
            old.unlink(missing_ok=True)
        return path

    def load(self, engine: Engine, numbers: NDArray[np.int64], change: int) -> None:
        """Take up the latest snapshot that can be read, then what the database has since."""
        started = time.perf_counter()
        for saved, path in self.snapshots():
            if saved > change:
                continue
            try:
                self.matcher = Matcher.load(path, **self._made_with)
            except (IndexFileError, RuleError, OSError) as error:
                log.warning(
                    "a snapshot is not used", extra={"path": str(path), "error": str(error)}
                )
            else:
                self.change = self._saved = saved
                break
        from_snapshot = len(self.matcher)
        self._catch_up(engine, numbers)
        self.change = change
        seconds = round(time.perf_counter() - started, 3)
        counts = {"snapshot": from_snapshot, "subscriptions": len(self.matcher)}
        log.info("the index is loaded", extra={"seconds": seconds, **counts})

    def _catch_up(self, engine: Engine, numbers: NDArray[np.int64]) -> None:
        have = np.fromiter(self.matcher, np.int64, len(self.matcher))
        self.matcher.remove(np.setdiff1d(have, numbers).tolist())
        columns = (subscriptions.c.number, subscriptions.c.rule)
        since = select(*columns).where(subscriptions.c.change > self.change)
        if not len(have):
            since = select(*columns)
        given = []
        with engine.connect().execution_options(yield_per=_ROWS) as connection:
            for rows in connection.execute(since).partitions():
                given += [Details(number, rule, frozenset(), 0.0) for number, rule in rows]
        for number, error in self.matcher.update_details(given, "collect", None) if given else ():
            log.error(
                "a subscription is not matched: its rule cannot be read any more",
                extra={"subscription": number, "error": str(error)},
            )


def _by_event(
    pairs: list[tuple[NDArray[np.int32], NDArray[np.int32]]],
    numbers: NDArray[np.int64],
    count: int,
) -> list[Numbers]:
    if not pairs:
        return [NOBODY] * count
    events = np.concatenate([some for some, _ in pairs])
    found = numbers[np.concatenate([places for _, places in pairs])].astype(np.uint32)
    order = np.lexsort((found, events))
    bounds = np.searchsorted(events[order], np.arange(1, count))
    return np.split(found[order], bounds)
