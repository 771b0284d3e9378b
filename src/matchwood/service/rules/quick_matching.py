"""Which events are matched at once, by the thread that serves all connections.

To hand an event over to another thread and its matches back takes longer than to match it, but
whatever that thread does, everybody waits for. It therefore matches an event only if what it costs
is bounded by what is known before:

- the event is small, and the rules were matched before, so that nothing is left to prepare;
- there are not too many rules, nodes and patterns, none of them is a regular expression or
  evaluated on demand, and none calls an operator, so that even an event that wakes all of them is
  matched within milliseconds;
- events were quick so far, and their answers were at hand.

All others are for threads.
"""

from __future__ import annotations

import weakref
from time import monotonic

from matchwood.match.parts.part import Part
from matchwood.match.store.snapshot import Snapshot
from matchwood.service.rules.timed_matching import MEASURED_BYTES

# Bytes from which on an event is not small.
QUICK_BYTES = MEASURED_BYTES
# Rules and nodes of rules; the slowest strategy visits each of them once, in about 10 ns.
MOST_VISITED = 400_000
# Patterns, with each of which a string may have to be compared: a few microseconds each.
MOST_PATTERNS = 1_000
# Parts of a snapshot, each of which scans the event.
MOST_PARTS = 8
# Rules that may match an event, and bytes of its answer.
MOST_MATCHES, MOST_ANSWER_BYTES = 1_000, 256 << 10
# Seconds of processor time that events may take on average.
MEAN_SECONDS = 5e-4
# How much the latest event counts in the average.
LATEST = 1 / 64
# Seconds of processor time from which on one event was by no means quick.
STALL_SECONDS = 0.01
# Seconds until events are tried again after such an event, and after other disappointments.
STALL_PAUSE, PAUSE = 60.0, 1.0
# Events in vain, more than others, after which threads get all events for a while.
MOST_IN_VAIN = 64


class QuickMatching:
    """Says whether events may be matched at once, and learns from those that were."""

    def __init__(self) -> None:
        self._prepared: weakref.ref[Snapshot] | None = None
        self._again = 0.0  # the time (monotonic) until which threads get all events
        self._mean = 0.0  # seconds
        self._in_vain = 0

    def prepare(self, snapshot: Snapshot) -> None:
        """Make what the first events would make that need it, if events may be matched at once.

        For the thread that has just matched an event with these rules.
        """
        known = self._prepared
        if (known is not None and known() is snapshot) or not _is_bounded(snapshot):
            return
        for part in snapshot.parts:
            _ = part.matcher.index, part.json  # each is made when it is first asked for
            for patterns in part.matcher.patterns.values():
                patterns.build()
        self._prepared = weakref.ref(snapshot)

    def allows(self, snapshot: Snapshot, size: int) -> bool:
        """Whether an event of so many bytes may be matched at once."""
        if size >= QUICK_BYTES or self._prepared is None or self._prepared() is not snapshot:
            return False
        return not self._again or monotonic() >= self._again

    def took(self, seconds: float) -> None:
        """An event was matched at once."""
        self._again = 0.0
        self._in_vain = max(0, self._in_vain - 1)
        self._mean += (seconds - self._mean) * LATEST
        if seconds >= STALL_SECONDS:
            self._again = monotonic() + STALL_PAUSE
        elif self._mean >= MEAN_SECONDS:
            self._pause()

    def in_vain(self) -> None:
        """An event was matched at once, and still had to be handed over."""
        self._in_vain += 1
        if self._in_vain >= MOST_IN_VAIN:
            self._pause()

    def _pause(self) -> None:
        self._again = monotonic() + PAUSE
        self._mean, self._in_vain = 0.0, 0


def _is_bounded(snapshot: Snapshot) -> bool:
    """Whether what rules cost is bounded."""
    parts = snapshot.parts
    return (
        0 < len(parts) <= MOST_PARTS
        and not snapshot.pending
        and not snapshot.calls_operators
        and not any(part.segment.lazy for part in parts)
        and sum(part.segment.rules + part.segment.nodes for part in parts) <= MOST_VISITED
        and sum(len(part.segment.opaque) for part in parts) <= MOST_PATTERNS
        and not any(map(_has_expressions, parts))
    )


def _has_expressions(part: Part) -> bool:
    return any(patterns.has_expressions for patterns in part.matcher.patterns.values())
