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
from matchwood.language.errors import RuleError
from matchwood.match.parts.rule_columns import RuleDetails
from matchwood.match.search.json_texts import blocks_of
from matchwood.matcher import Matcher
from matchwood.schema import Schema
from matchwood.service.rules.subscription_roster import Numbers
from matchwood.service.storage.database import subscriptions

log = logging.getLogger("matchwood.service")
NOBODY: Numbers = np.empty(0, np.uint32)
# Up to so many events are matched one by one rather than as a batch.
_FEW = 3
# Rows of the database that are fetched at a time.
_ROWS = 50_000


class SubscriptionIndex:
    """Matches events with the rules of all subscriptions, which it knows by number."""

    def __init__(self, folder: Path, database: int, **made_with: Any) -> None:
        self._folder = folder
        self._prefix = f"subscriptions-{database:x}-"
        self._made_with = made_with  # the `operators` and `schema` of a Matcher
        self._thread = ThreadPoolExecutor(1, "index")
        self._saved = -1
        self.matcher = Matcher(**made_with)
        self.change = 0

    # Matching

    def match(self, bodies: Sequence[str]) -> list[Numbers]:
        """For each event, given as JSON, the numbers of the subscriptions that it matches.

        Numbers are in ascending order. An EventError says that an event cannot be matched.
        """
        if len(bodies) <= _FEW:
            texts = (body.encode() for body in bodies)
            matched = (np.array(self.matcher.match_json(text), np.uint32) for text in texts)
            return [np.sort(numbers) for numbers in matched]
        store = self.matcher.store
        snapshot = store.settled(len(bodies))
        numbers = snapshot.ids().values.to_numpy(zero_copy_only=False)
        result: list[Numbers] = []
        for piece in snapshot.json_search().slices(blocks_of(bodies)):
            pairs = [(events - piece.first, rules) for events, rules in piece.pairs]
            for error in piece.bad.values():
                raise error
            result += _by_event(pairs, numbers, piece.end - piece.first)
        store.hurry()
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
        if len(rules) == 1:
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
        if change == self._saved or not len(self.matcher):
            return None
        path = self._folder / f"{self._prefix}{change}.mw"
        self.matcher.save(path)
        self._saved = change
        for _, old in self.snapshots()[2:]:
            old.unlink(missing_ok=True)
        return path

    def load(self, engine: Engine, numbers: NDArray[np.int64], change: int) -> None:
        """Load the latest readable snapshot, then apply what has changed in the database since."""
        started = time.perf_counter()
        for saved, path in self.snapshots():
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
        indexed = np.fromiter(self.matcher, np.int64, len(self.matcher))
        self.matcher.remove(np.setdiff1d(indexed, numbers).tolist())
        columns = (subscriptions.c.number, subscriptions.c.rule)
        since = select(*columns).where(subscriptions.c.change > self.change)
        if not len(indexed):
            since = select(*columns)
        changed = []
        with engine.connect().execution_options(yield_per=_ROWS) as connection:
            for rows in connection.execute(since).partitions():
                changed += [RuleDetails(number, rule, frozenset(), 0.0) for number, rule in rows]
        refused = self.matcher.store.update_texts(changed, "collect") if changed else []
        for number, error in refused:
            log.error(
                "a subscription is not matched: its rule can no longer be read",
                extra={"subscription": number, "error": str(error)},
            )


def _by_event(
    pairs: list[tuple[NDArray[np.int32], NDArray[np.int32]]],
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
