"""Which strategy the events of a segment are matched with: pushing, until another takes less time.

Nobody has to configure this. A few events tell how long pushing takes, and how many records it
checks. Strategies that may pay after that are prepared one after the other, by a thread of their
own, as no match must wait for them. Each is tried: some events in a row are matched both ways, so
that what either reads is in the caches. The one that took the least time is kept. Now and then
another event is matched both ways again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from statistics import median

from matchwood.forking import is_left_held, renew_in_children
from matchwood.match.event.event_strategies import EVENT_STRATEGIES
from matchwood.match.event.strategy import (
    EventStrategy,
    IndexedSegment,
    PreparedStrategy,
    PushSample,
)

_log = logging.getLogger("matchwood.match")

# One of this many events is measured.
MEASURED_EVERY = 16

# Measured events that a decision needs. When a strategy is tried, as many more come before them.
MEASURES_NEEDED = 8

# Once all is decided, one of this many events that could be measured is measured.
MEASURED_LATER_EVERY = 256

# Events until the next measured one where none is to be measured: practically infinite.
NEVER_MEASURED = 1 << 62

# The share of the time of pushing that another strategy may take to be kept.
WORTHWHILE_SHARE = 0.9


class StrategyChoice:
    """What is known of the strategies for a segment; threads share it, and may lose a count.

    `taken` is what the next event is matched with. `left` counts the events down to the next one
    that is measured, `every` is where it starts.
    """

    def __init__(
        self,
        target: IndexedSegment,
        tries: bool,
        strategies: Sequence[EventStrategy] = EVENT_STRATEGIES,
    ) -> None:
        """Without `tries` nothing but pushing, the first of the strategies, is ever used."""
        self._target = target
        pushing = strategies[0].prepare(target)
        assert pushing is not None, "the first strategy is possible for every segment"
        self.pushing = pushing
        self._others = [other for other in strategies[1:] if other.is_possible(target.segment)]
        self._to_try: list[EventStrategy] = []
        self.taken: PreparedStrategy = pushing
        self.prepared: PreparedStrategy | None = None  # what is compared with pushing
        # Whether nothing used what is measured next yet: its kernels are still to be loaded.
        self._fresh = True
        self.left = self.every = MEASURED_EVERY if tries else NEVER_MEASURED
        self._told = 0  # measured events since the last decision
        self._checked = 0  # records that they checked
        self._push_seconds = 0.0
        self._shares: list[float] = []  # of the time of pushing that the other strategy took
        self._least_share = WORTHWHILE_SHARE  # that a strategy must beat to be taken
        self._trying = False  # whether strategies are being tried one after the other
        self._lock = threading.Lock()
        self._builder: threading.Thread | None = None
        self._building = False
        renew_in_children(self)

    def after_fork(self) -> None:
        """What another thread was preparing is lost: learn again whether to prepare it."""
        lock_was_held = is_left_held(self._lock)
        if lock_was_held:
            self._lock = threading.Lock()
        if self._building or (lock_was_held and self.prepared is None):
            self._builder = None
            self._building = self._trying = False
            self._to_try.clear()
            self._checked = 0
            self._forget()
            self._measure_every(MEASURED_EVERY)

    def _measure_every(self, every: int) -> None:
        self.left = self.every = every

    def learn_push(self, records: int, seconds: float) -> None:
        """Pushing checked so many records for one event, and took so long."""
        with self._lock:
            if self._builder is not None:
                return
            if self._loads_kernels():
                return
            self._told += 1
            self._checked += records
            self._push_seconds += seconds
            if self._told < MEASURES_NEEDED:
                return
            sample = PushSample(self._told, self._checked, self._push_seconds)
            segment = self._target.segment
            self._to_try += [other for other in self._others if other.pays(segment, sample)]
            self._checked = 0
            self._forget()
            if self._to_try:
                self._trying, self._least_share = True, WORTHWHILE_SHARE
                self._try_next()
            else:
                self._measure_every(min(2 * self.every, MEASURED_EVERY * MEASURED_LATER_EVERY))

    def _try_next(self) -> None:
        """Prepare the strategy that is to be tried next; if there is none, keep the best."""
        self.prepared = None
        self._measure_every(NEVER_MEASURED)  # until it is there
        if self._to_try:
            self._building = True
            builder = threading.Thread(target=self._prepare, args=(self._to_try.pop(0),))
            builder.start()
            self._builder = builder  # not before, because others wait for it without the lock
            return
        self._trying = False
        if self.taken is not self.pushing:
            self.prepared = self.taken
            self._measure_every(MEASURED_EVERY * MEASURED_LATER_EVERY)

    def _prepare(self, strategy: EventStrategy) -> None:
        try:
            prepared = strategy.prepare(self._target)
        except Exception:
            _log.warning(
                "events are still matched by pushing: %r cannot be prepared",
                strategy.name,
                exc_info=True,
            )
            prepared = None
        with self._lock:
            self._building = False
            self._forget()
            if prepared is None:
                self._try_next()
            else:
                self.prepared = prepared
                self._fresh = True
                self._measure_every(1)

    def _loads_kernels(self) -> bool:
        """Whether a measured event was the first of its kind; then the next one is measured."""
        if self._fresh:
            self._fresh = False
            self.left = 1
            return True
        return False

    def _forget(self) -> None:
        self._told = 0
        self._push_seconds = 0.0
        self._shares.clear()

    def learn(self, pushing: float, other: float) -> None:
        """One event took so many seconds by pushing, and so many with what is prepared."""
        with self._lock:
            if self.prepared is None:
                return
            if self._loads_kernels():
                return
            self._shares.append(other / max(pushing, 1e-9))
            if len(self._shares) < (2 if self._trying else 1) * MEASURES_NEEDED:
                return
            # of the last ones; one event that was interrupted decides nothing
            share = median(self._shares[-MEASURES_NEEDED:])
            self._forget()
            if self._trying:
                if share < self._least_share:
                    self.taken, self._least_share = self.prepared, share
                self._try_next()  # what is not taken is not worth its memory
            elif share < WORTHWHILE_SHARE:
                self.taken = self.prepared
            elif self.taken is self.pushing:
                self._try_next()
            elif share > 1:
                self.taken = self.pushing

    def settled(self) -> bool:
        """Whether all is decided for now; waits for what is being prepared."""
        builder = None
        while builder is not self._builder:  # one that gives up starts the next
            builder = self._builder
            if builder is not None:
                builder.join()
        return not self._trying and self.every != MEASURED_EVERY

    def pushing_goes_first(self) -> bool:
        """Whether the next measured event is pushed first, which is so every other time."""
        return len(self._shares) % 2 == 0

    def force(self, strategy: EventStrategy) -> bool:
        """Use one strategy from now on, whatever it costs; whether the segment allows it.

        If it does not, events are matched by pushing.
        """
        prepared = None
        if strategy.is_possible(self._target.segment):
            prepared = strategy.prepare(self._target)
        with self._lock:
            self._trying = False
            self.prepared = prepared
            self.taken = self.pushing if prepared is None else prepared
            self._measure_every(NEVER_MEASURED)
        return prepared is not None

    @property
    def bytes(self) -> int:
        """Bytes that other strategies than pushing hold beside the segment."""
        held = {id(one): one for one in (self.prepared, self.taken) if one is not None}
        return sum(one.bytes for one in held.values())
