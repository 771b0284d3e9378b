"""Which way an event takes through a segment: push lists alone, or another that takes less time.

The others are cells before push lists, and a walk over all nodes. Nobody is asked: some events
tell how long pushing takes, and how many records it checks. Where these are many, and a good part
of the time, cells are built, by a thread of their own, as a match must not wait for them; where a
walk is expected to take less, it is tried. Then a few events go both ways, and the way that took
less time is kept. Now and then another one goes both ways again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from matchwood.forking import is_left_held, renew_in_children
from matchwood.match.cells import Taken
from matchwood.match.walk import Walk

Way = Taken | Walk

_log = logging.getLogger("matchwood.match")

SAMPLED = 16  # events, one of which tells something
CHECKED = 500  # records an event that make cells worth a try, if they take
SHARE = 0.1  # of the time, and
RECORD = 1e-8  # seconds each
TOLD = 8  # events that decide something
AGAIN = 256  # events that could tell something, one of which goes both ways once all is decided
NEVER = 1 << 62
AHEAD = 0.9  # of the time of pushing: what another way may take to be kept
WALK = 0.8  # of the time of pushing: what a walk is expected to take to be tried


class Ways:
    """What is known of the ways through a segment; threads share it, and may lose a count."""

    def __init__(
        self, cells: Callable[[], Way | None], walk: Callable[[], Way], walking: float, tries: bool
    ) -> None:
        self._build_cells = cells
        self._build_walk = walk
        self._walking = walking  # seconds expected of a walk
        self._to_try: list[Callable[[], Way | None]] = []
        self.taken: Way | None = None  # what the next event goes by; None: push lists alone
        self.built: Way | None = None
        self.fresh = False  # nothing went this way yet: kernels are still to be loaded
        self.left = self.every = SAMPLED if tries else NEVER  # events until one tells something
        self._told = 0
        self._checked = 0
        self._pushing = self._other = 0.0  # seconds
        self._lock = threading.Lock()
        self._builder: threading.Thread | None = None
        self._building = False
        renew_in_children(self)

    def after_fork(self) -> None:
        """What was being built is not: learn from the next events whether to build it."""
        held = is_left_held(self._lock)
        if held:
            self._lock = threading.Lock()
        if self._building or (held and self.built is None):
            self._builder = None
            self._building = False
            self._to_try.clear()
            self._checked = 0
            self._forget()
            self._pause(SAMPLED)

    def _pause(self, every: int) -> None:
        self.left = self.every = every

    def learn_checked(self, records: int, seconds: float) -> None:
        """So many records were checked for an event, without cells, which took so long."""
        with self._lock:
            if self._builder is not None:
                return
            self._told += 1
            self._checked += records
            self._pushing += seconds
            if self._told < TOLD:
                return
            checking = RECORD * self._checked
            if self._checked >= CHECKED * self._told and checking >= SHARE * self._pushing:
                self._to_try.append(self._build_cells)
            if self._told * self._walking < WALK * self._pushing:
                self._to_try.append(self._build_walk)
            self._checked = 0
            self._forget()
            if self._to_try:
                self._try_next()
            else:
                self._pause(min(2 * self.every, SAMPLED * AGAIN))

    def _try_next(self) -> None:
        """Build what is to be tried next, if there is anything."""
        self.built = None
        self._pause(NEVER)  # until it is there
        if self._to_try:
            self._building = True
            self._builder = threading.Thread(target=self._try, args=(self._to_try.pop(0),))
            self._builder.start()

    def _try(self, build: Callable[[], Way | None]) -> None:
        try:
            built = build()
        except Exception:
            _log.warning("events go on by push lists: another way was not built", exc_info=True)
            built = None
        with self._lock:
            self._building = False
            self._forget()
            if built is None:
                self._try_next()
            else:
                self.built = built
                self.fresh = True
                self._pause(SAMPLED)

    def _forget(self) -> None:
        self._told = 0
        self._pushing = self._other = 0.0

    def learn(self, pushing: float, other: float) -> None:
        """One event took so many seconds each way."""
        with self._lock:
            if self.built is None:
                return
            if self.fresh:
                self.fresh = False
                self.left = 1
                return
            self._told += 1
            self._pushing += pushing
            self._other += other
            if self._told < TOLD:
                return
            if self._other < AHEAD * self._pushing:
                self.taken = self.built
                self._pause(SAMPLED * AGAIN)
            elif self.taken is None:
                self._try_next()  # it was not worth its memory
            elif self._other > self._pushing:
                self.taken = None
            self._forget()

    def settled(self) -> bool:
        """Whether all is decided for now; waits for what is being built."""
        builder = self._builder
        if builder is not None:
            builder.join()
        return self.every != SAMPLED

    def always(self, taken: Way | None) -> None:
        """Go this way from now on, or by push lists alone, whatever it costs."""
        with self._lock:
            self.taken = self.built = taken
            self._pause(NEVER)

    @property
    def bytes(self) -> int:
        """What is held for another way."""
        built = self.built
        return 0 if built is None else built.bytes
