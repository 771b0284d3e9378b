"""Which strategy the events of a segment are matched with: pushing, until another takes less time.

Nobody has to configure this. A few events tell how long pushing takes, and how many records it
checks. Strategies that may pay after that are prepared one after the other, by a thread of their
own, as no match must wait for them. Then some events are matched both ways, and the strategy that
took less time is kept. Now and then another event is matched both ways again.
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

# Measured events that a decision needs.
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
            self._building = False
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
                self._try_next()
            else:
                self._measure_every(min(2 * self.every, MEASURED_EVERY * MEASURED_LATER_EVERY))

    def _try_next(self) -> None:
        """Prepare the strategy that is to be tried next, if there is one."""
        self.prepared = None
        self._measure_every(NEVER_MEASURED)  # until it is there
        if self._to_try:
            self._building = True
            self._builder = threading.Thread(target=self._prepare, args=(self._to_try.pop(0),))
            self._builder.start()

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
                self._measure_every(MEASURED_EVERY)

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
            if len(self._shares) < MEASURES_NEEDED:
                return
            share = median(self._shares)  # one event that was interrupted decides nothing
            if share < WORTHWHILE_SHARE:
                self.taken = self.prepared
                self._measure_every(MEASURED_EVERY * MEASURED_LATER_EVERY)
            elif self.taken is self.pushing:
                self._try_next()  # it is not worth its memory
            elif share > 1:
                self.taken = self.pushing
            self._forget()

    def settled(self) -> bool:
        """Whether all is decided for now; waits for what is being prepared."""
        builder = self._builder
        if builder is not None:
            builder.join()
        return self.every != MEASURED_EVERY

    def force(self, strategy: EventStrategy) -> bool:
        """Use one strategy from now on, whatever it costs; whether the segment allows it.

        If it does not, events are matched by pushing.
        """
        prepared = None
        if strategy.is_possible(self._target.segment):
            prepared = strategy.prepare(self._target)
        with self._lock:
            self.prepared = prepared
            self.taken = self.pushing if prepared is None else prepared
            self._measure_every(NEVER_MEASURED)
        return prepared is not None

    @property
    def bytes(self) -> int:
        """Bytes that another strategy than pushing holds beside the segment."""
        prepared = self.prepared
        return 0 if prepared is None else prepared.bytes
