"""The outbox in memory: which events wait for a subscription.

The database has a row an event, with the numbers of all that it matched. Here the same pairs are
kept so that the events of one subscription are found quickly: in chunks of consecutive events,
sorted by subscription, and a tail that is not sorted yet. A pair takes six bytes until the
subscription has acknowledged it; an event that nobody waits for leaves with its chunk.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.service.roster import Numbers, Roster

CHUNK_EVENTS = 4_096
CHUNK_PAIRS = 1 << 17
RECENT_BYTES = 64 << 20  # of bodies that are kept in memory
RECENT_BESIDE = 250  # bytes that a body takes beside its text: numbers, a tuple, entries
CHECKED = 256  # chunks that one collection looks through: a third of a second


Offsets = NDArray[np.uint16] | NDArray[np.uint32]


class Stored(NamedTuple):
    """An event as it was accepted: its number, when that was, its JSON, and whom it matched."""

    number: int
    at: float
    body: str
    matches: Numbers


class Chunk(NamedTuple):
    """The pairs of some events, sorted by subscription, then by event."""

    first: int
    last: int
    newest: float  # when the last was accepted
    events: int
    subscriptions: Numbers
    offsets: Offsets  # of the event, from the first

    def of(self, subscription: int, after: int) -> NDArray[np.int64]:
        low, high = np.searchsorted(self.subscriptions, [subscription, subscription + 1])
        found = self.offsets[low:high].astype(np.int64) + self.first
        return found[found > after]

    def only(self, kept: NDArray[np.bool_]) -> Chunk:
        """The same with some of its pairs."""
        offsets = self.offsets[kept]
        events = int(np.count_nonzero(np.bincount(offsets)))
        return self._replace(events=events, subscriptions=self.subscriptions[kept], offsets=offsets)


class Dropped(NamedTuple):
    """Events that are in the outbox no longer."""

    first: int
    last: int
    missed_by: Numbers  # subscriptions that had not fetched one; as often as they had not


class Tail:
    """The pairs of the latest events, as they came."""

    def __init__(self) -> None:
        self.first = self.last = self.events = self.pairs = 0
        self.newest = self.oldest = 0.0
        self._subscriptions = np.empty(1024, np.uint32)
        self._offsets = np.empty(1024, np.uint32)

    def add(self, number: int, at: float, matches: Numbers) -> None:
        if not self.events:
            self.first, self.oldest = number, at
        self.last, self.newest = number, at
        self.events += 1
        wanted = self.pairs + len(matches)
        if wanted > len(self._subscriptions):
            size = max(wanted, 2 * len(self._subscriptions))
            self._subscriptions = np.resize(self._subscriptions, size)
            self._offsets = np.resize(self._offsets, size)
        self._subscriptions[self.pairs : wanted] = matches
        self._offsets[self.pairs : wanted] = number - self.first
        self.pairs = wanted

    def of(self, subscription: int, after: int) -> NDArray[np.int64]:
        places = np.flatnonzero(self._subscriptions[: self.pairs] == subscription)
        found = self._offsets[places].astype(np.int64) + self.first
        return found[found > after]

    def chunk(self) -> Chunk:
        subscriptions = self._subscriptions[: self.pairs]
        order = np.argsort(subscriptions, kind="stable")
        offsets: Offsets = self._offsets[: self.pairs][order]
        if self.last - self.first < 1 << 16:  # almost always: numbers follow each other
            offsets = offsets.astype(np.uint16)
        return Chunk(
            self.first,
            self.last,
            self.newest,
            self.events,
            subscriptions[order],
            offsets,
        )


class Recent:
    """The bodies of the latest events, up to some bytes."""

    def __init__(self, most: int = RECENT_BYTES) -> None:
        self._most = most
        self._bytes = 0
        self._order: deque[int] = deque()
        self._known: dict[int, tuple[float, str]] = {}

    def add(self, stored: Stored) -> None:
        self._known[stored.number] = (stored.at, stored.body)
        self._order.append(stored.number)
        self._bytes += _size(stored.body)
        while self._bytes > self._most:
            _, body = self._known.pop(self._order.popleft())
            self._bytes -= _size(body)

    def get(self, number: int) -> tuple[float, str] | None:
        return self._known.get(number)


def _size(body: str) -> int:
    return sys.getsizeof(body) + RECENT_BESIDE


class Outbox:
    """Which events wait for whom; the writing thread adds, anybody asks.

    `woken` is called in the writing thread with the watched subscriptions that have new events.
    """

    def __init__(self, roster: Roster, woken: Callable[[list[int]], None] | None = None) -> None:
        self._roster = roster
        self._woken = woken
        self._lock = threading.Lock()
        self._chunks: list[Chunk] = []
        self._tail = Tail()
        self._watched = np.zeros(1024, np.bool_)
        self._next_checked = 0  # the first event of the chunk that a collection begins with
        self.recent = Recent()

    @property
    def events(self) -> int:
        return sum(chunk.events for chunk in self._chunks) + self._tail.events

    @property
    def pairs(self) -> int:
        return sum(len(chunk.offsets) for chunk in self._chunks) + self._tail.pairs

    @property
    def bytes(self) -> int:
        """What the pairs take."""
        sealed = sum(one.subscriptions.nbytes + one.offsets.nbytes for one in self._chunks)
        return sealed + 8 * self._tail.pairs

    def add(self, stored: Sequence[Stored]) -> None:
        hits: list[int] = []
        with self._lock:
            for one in stored:
                self._tail.add(one.number, one.at, one.matches)
                self.recent.add(one)
                hits += self._watching(one.matches)
                if self._tail.events >= CHUNK_EVENTS or self._tail.pairs >= CHUNK_PAIRS:
                    self._seal()
        if hits and self._woken is not None:
            self._woken(list(dict.fromkeys(hits)))

    def restore(self, number: int, at: float, matches: Numbers) -> None:
        """Take up an event that the database has."""
        self._tail.add(number, at, matches)
        if self._tail.events >= CHUNK_EVENTS or self._tail.pairs >= CHUNK_PAIRS:
            self._seal()

    def _seal(self) -> None:
        self._chunks.append(self._tail.chunk())
        self._tail = Tail()

    def after(self, subscription: int, event: int, limit: int) -> list[int]:
        """The numbers of the first events after one that the subscription matched."""
        with self._lock:
            chunks, tail = list(self._chunks), self._tail
            last = tail.of(subscription, event) if tail.last > event else None
        found: list[int] = []
        for chunk in chunks:
            if chunk.last > event:
                found += chunk.of(subscription, event).tolist()
                if len(found) >= limit:
                    return found[:limit]
        if last is not None:
            found += last.tolist()
        return found[:limit]

    # Who is told

    def watch(self, subscription: int, wanted: bool = True) -> None:
        """Have `woken` called for a subscription, or no longer."""
        with self._lock:
            if subscription >= len(self._watched):
                more = np.zeros(max(subscription + 1, 2 * len(self._watched)), np.bool_)
                more[: len(self._watched)] = self._watched
                self._watched = more
            self._watched[subscription] = wanted

    def _watching(self, matches: Numbers) -> list[int]:
        if len(matches) and matches[-1] >= len(self._watched):  # they are in order
            matches = matches[matches < len(self._watched)]
        return matches[self._watched[matches]].tolist() if len(matches) else []

    # What nobody waits for any more

    def collect(self, now: float, kept_since: float) -> list[Dropped]:
        """Drop chunks that all have acknowledged, or that are too old, and pairs that are done.

        Of many chunks only some are looked through, the next time those that follow.
        """
        with self._lock:
            if self._tail.events and self._tail.oldest < now - 60:
                self._seal()
            chunks = list(self._chunks)
        old = [chunk for chunk in chunks if chunk.newest < kept_since]
        dropped: list[Dropped] = []
        thinned: dict[int, Chunk] = {}
        for chunk in {one.first: one for one in [*old, *self._turn(chunks)]}.values():
            numbers = chunk.offsets.astype(np.int64) + chunk.first
            waits = self._roster.waits(chunk.subscriptions, numbers, now)
            if not waits.any() or chunk.newest < kept_since:
                dropped.append(Dropped(chunk.first, chunk.last, chunk.subscriptions[waits]))
            elif 2 * np.count_nonzero(waits) < len(waits):
                thinned[chunk.first] = chunk.only(waits)
        gone = {one.first for one in dropped}
        with self._lock:
            kept = (chunk for chunk in self._chunks if chunk.first not in gone)
            self._chunks = [thinned.get(chunk.first, chunk) for chunk in kept]
        return dropped

    def _turn(self, chunks: list[Chunk]) -> list[Chunk]:
        """Those whose turn it is to be looked through."""
        later = [chunk for chunk in chunks if chunk.first >= self._next_checked]
        chosen = later[:CHECKED]
        self._next_checked = chosen[-1].last + 1 if len(later) > CHECKED else 0
        return chosen
