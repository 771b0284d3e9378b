"""The outbox in memory: which events are waiting for which subscription.

The database has one row per event, with the numbers of all subscriptions that it matched. In
memory the same pairs of event and subscription are kept in chunks of consecutive events, sorted
by subscription, so that the events of one subscription are found quickly; the latest pairs form a
tail that is not sorted yet. A pair takes six bytes until the subscription has acknowledged it. An
event leaves with its chunk, once no subscription is waiting for any event of the chunk.

    chunk 1: events 1..4096     chunk 2: events 4097..8192     tail: events 8193..
    [s1 s1 s4 s9 …]  sorted     [s2 s2 s3 …]  sorted            [s7 s1 s7 …]  as they came
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.service.rules.subscription_roster import Numbers, SubscriptionRoster

# The number of events at which the tail becomes a chunk.
CHUNK_EVENTS = 4_096
# The number of pairs at which the tail becomes a chunk.
CHUNK_PAIRS = 1 << 17
# Bytes of memory for the bodies of recent events, unless the settings say otherwise.
RECENT_BYTES = 64 << 20
# Bytes that a body takes in addition to its text: numbers, a tuple, entries of containers.
RECENT_OVERHEAD = 250
# Chunks that one collection examines, which takes about a third of a second.
CHUNKS_PER_COLLECTION = 256
# Seconds after which a tail becomes a chunk, so that it can be collected.
TAIL_SECONDS = 60

Offsets = NDArray[np.uint16] | NDArray[np.uint32]


class StoredEvent(NamedTuple):
    """An event that was accepted."""

    number: int
    at: float  # when it was accepted, as Unix time
    body: str  # JSON
    matches: Numbers  # the subscriptions that it matched, in ascending order


class OutboxChunk(NamedTuple):
    """The pairs of consecutive events, sorted by subscription, then by event."""

    first: int
    last: int
    newest: float  # when the last event was accepted
    events: int  # how many events have a pair
    subscriptions: Numbers
    offsets: Offsets  # the number of each pair's event, less `first`

    def of(self, subscription: int, after: int) -> NDArray[np.int64]:
        """The events after one that are waiting for a subscription."""
        low, high = np.searchsorted(self.subscriptions, [subscription, subscription + 1])
        numbers = self.offsets[low:high].astype(np.int64) + self.first
        return numbers[numbers > after]

    def only(self, kept: NDArray[np.bool_]) -> OutboxChunk:
        """The same chunk with some of its pairs."""
        offsets = self.offsets[kept]
        events = int(np.count_nonzero(np.bincount(offsets)))
        return self._replace(events=events, subscriptions=self.subscriptions[kept], offsets=offsets)


class DroppedEvents(NamedTuple):
    """A range of events that have left the outbox."""

    first: int
    last: int
    missed_by: Numbers  # the subscription of each event that was not fetched before


class OutboxTail:
    """The pairs of the latest events, in the order in which they came."""

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
        pairs = self.pairs + len(matches)
        if pairs > len(self._subscriptions):
            size = max(pairs, 2 * len(self._subscriptions))
            self._subscriptions = np.resize(self._subscriptions, size)
            self._offsets = np.resize(self._offsets, size)
        self._subscriptions[self.pairs : pairs] = matches
        self._offsets[self.pairs : pairs] = number - self.first
        self.pairs = pairs

    def of(self, subscription: int, after: int) -> NDArray[np.int64]:
        """The events after one that are waiting for a subscription."""
        indices = np.flatnonzero(self._subscriptions[: self.pairs] == subscription)
        numbers = self._offsets[indices].astype(np.int64) + self.first
        return numbers[numbers > after]

    def chunk(self) -> OutboxChunk:
        """The same pairs, sorted."""
        subscriptions = self._subscriptions[: self.pairs]
        order = np.argsort(subscriptions, kind="stable")
        offsets: Offsets = self._offsets[: self.pairs][order]
        if self.last - self.first < 1 << 16:  # almost always, since numbers are consecutive
            offsets = offsets.astype(np.uint16)
        return OutboxChunk(
            self.first,
            self.last,
            self.newest,
            self.events,
            subscriptions[order],
            offsets,
        )


class RecentBodies:
    """The bodies of the latest events, within a number of bytes."""

    def __init__(self, most: int = RECENT_BYTES) -> None:
        self._most = most
        self.bytes = 0
        self._order: deque[int] = deque()
        self._known: dict[int, tuple[float, str]] = {}

    def add(self, stored: StoredEvent) -> None:
        self._known[stored.number] = (stored.at, stored.body)
        self._order.append(stored.number)
        self.bytes += _size(stored.body)
        while self.bytes > self._most and self._order:
            _, body = self._known.pop(self._order.popleft())
            self.bytes -= _size(body)

    def get(self, number: int) -> tuple[float, str] | None:
        return self._known.get(number)


def _size(body: str) -> int:
    return sys.getsizeof(body) + RECENT_OVERHEAD


class Outbox:
    """Which events are waiting for which subscription.

    The writing thread adds events; any thread may ask. `notify` is called in the writing thread
    with those of the watched subscriptions that have new events.
    """

    def __init__(
        self,
        roster: SubscriptionRoster,
        notify: Callable[[list[int]], None] | None = None,
        recent_bytes: int = RECENT_BYTES,
    ) -> None:
        self._roster = roster
        self.notify = notify
        self._lock = threading.Lock()
        self._chunks: list[OutboxChunk] = []
        self._tail = OutboxTail()
        self._watched = np.zeros(1024, np.bool_)
        self._next_checked = 0  # the event at which the next collection begins
        self.recent = RecentBodies(recent_bytes)

    @property
    def events(self) -> int:
        return sum(chunk.events for chunk in self._chunks) + self._tail.events

    @property
    def pairs(self) -> int:
        return sum(len(chunk.offsets) for chunk in self._chunks) + self._tail.pairs

    @property
    def bytes(self) -> int:
        """The memory of all pairs."""
        sealed = sum(chunk.subscriptions.nbytes + chunk.offsets.nbytes for chunk in self._chunks)
        return sealed + 8 * self._tail.pairs

    def add(self, events: Sequence[StoredEvent]) -> None:
        """Add events that were committed."""
        woken: list[int] = []
        with self._lock:
            for event in events:
                self._tail.add(event.number, event.at, event.matches)
                self.recent.add(event)
                woken += self._watched_among(event.matches)
                if self._tail.events >= CHUNK_EVENTS or self._tail.pairs >= CHUNK_PAIRS:
                    self._seal()
        if woken and self.notify is not None:
            self.notify(list(dict.fromkeys(woken)))

    def restore(self, number: int, at: float, matches: Numbers) -> None:
        """Add an event of the database when the service starts."""
        self._tail.add(number, at, matches)
        if self._tail.events >= CHUNK_EVENTS or self._tail.pairs >= CHUNK_PAIRS:
            self._seal()

    def _seal(self) -> None:
        self._chunks.append(self._tail.chunk())
        self._tail = OutboxTail()

    def after(self, subscription: int, event: int, limit: int) -> list[int]:
        """The first events after one that are waiting for a subscription, at most `limit`."""
        with self._lock:
            chunks, tail = list(self._chunks), self._tail
            last = tail.of(subscription, event) if tail.last > event else None
        numbers: list[int] = []
        for chunk in chunks:
            if chunk.last > event:
                numbers += chunk.of(subscription, event).tolist()
                if len(numbers) >= limit:
                    return numbers[:limit]
        if last is not None:
            numbers += last.tolist()
        return numbers[:limit]

    def count_after(self, subscription: int, event: int) -> int:
        """How many events after one are waiting for a subscription."""
        with self._lock:
            chunks, tail = list(self._chunks), self._tail
            count = len(tail.of(subscription, event)) if tail.last > event else 0
        return count + sum(
            len(chunk.of(subscription, event)) for chunk in chunks if chunk.last > event
        )

    # Notification

    def watch(self, subscription: int, watched: bool = True) -> None:
        """Have `notify` called for a subscription from now on, or no longer."""
        with self._lock:
            if subscription >= len(self._watched):
                more = np.zeros(max(subscription + 1, 2 * len(self._watched)), np.bool_)
                more[: len(self._watched)] = self._watched
                self._watched = more
            self._watched[subscription] = watched

    def _watched_among(self, matches: Numbers) -> list[int]:
        if len(matches) and matches[-1] >= len(self._watched):  # matches are in ascending order
            matches = matches[matches < len(self._watched)]
        return matches[self._watched[matches]].tolist() if len(matches) else []

    # Collection

    def collect(self, now: float, kept_since: float) -> list[DroppedEvents]:
        """Drop chunks that no subscription is waiting for or that are too old; thin out others.

        Each call examines a limited number of chunks, and the next call continues after them.
        """
        with self._lock:
            if self._tail.events and self._tail.oldest < now - TAIL_SECONDS:
                self._seal()
            chunks = list(self._chunks)
        old = [chunk for chunk in chunks if chunk.newest < kept_since]
        dropped: list[DroppedEvents] = []
        thinned: dict[int, OutboxChunk] = {}
        for chunk in {chunk.first: chunk for chunk in [*old, *self._next_chunks(chunks)]}.values():
            numbers = chunk.offsets.astype(np.int64) + chunk.first
            waiting = self._roster.waiting(chunk.subscriptions, numbers, now)
            if not waiting.any() or chunk.newest < kept_since:
                dropped.append(DroppedEvents(chunk.first, chunk.last, chunk.subscriptions[waiting]))
            elif 2 * np.count_nonzero(waiting) < len(waiting):
                thinned[chunk.first] = chunk.only(waiting)
        gone = {events.first for events in dropped}
        with self._lock:
            kept = (chunk for chunk in self._chunks if chunk.first not in gone)
            self._chunks = [thinned.get(chunk.first, chunk) for chunk in kept]
        return dropped

    def _next_chunks(self, chunks: list[OutboxChunk]) -> list[OutboxChunk]:
        """The chunks that this collection examines."""
        later = [chunk for chunk in chunks if chunk.first >= self._next_checked]
        chosen = later[:CHUNKS_PER_COLLECTION]
        more = len(later) > CHUNKS_PER_COLLECTION
        self._next_checked = chosen[-1].last + 1 if more else 0
        return chosen
