"""Which of two ways an event takes through a segment: push lists alone, or cells before them.

Nobody is asked: some events tell how many records pushing checks, and where these are many, and a
good part of the time, cells are built, by a thread of their own, as a match must not wait for
them. Then a few events go both ways, and the way that took less time is kept. Now and then another
one goes both ways again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from matchwood.match.cells import Taken

SAMPLED = 16  # events, one of which tells something
CHECKED = 500  # records an event that make cells worth a try, if they take
SHARE = 0.1  # of the time, and
RECORD = 1e-8  # seconds each
TOLD = 8  # events that decide something
AGAIN = 256  # events that could tell something, one of which goes both ways once all is decided
NEVER = 1 << 62
AHEAD = 0.9  # of the time of pushing: what cells may take to be built for


class Ways:
    """What is known of the two ways of a segment; threads share it, and may lose a count."""

    def __init__(self, build: Callable[[], Taken | None], worth_it: bool) -> None:
        self._build = build
        self.taken: Taken | None = None  # what the next event goes by; None: push lists alone
        self.built: Taken | None = None
        self.left = self.every = SAMPLED if worth_it else NEVER  # events until one tells something
        self._told = 0
        self._checked = 0
        self._pushing = self._cells = 0.0  # seconds
        self._lock = threading.Lock()
        self._builder: threading.Thread | None = None

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
            many = self._checked >= CHECKED * self._told
            if not many or RECORD * self._checked < SHARE * self._pushing:
                self._checked = 0
                self._forget()
                self._pause(min(2 * self.every, SAMPLED * AGAIN))
                return
            self._pause(NEVER)  # until they are there
            self._builder = threading.Thread(target=self._try, name="cells")
            self._builder.start()

    def _try(self) -> None:
        built = self._build()
        with self._lock:
            if built is not None:
                self.built = built
                self._forget()
                self._pause(SAMPLED)

    def _forget(self) -> None:
        self._told = 0
        self._pushing = self._cells = 0.0

    def learn(self, pushing: float, cells: float) -> None:
        """One event took so many seconds each way."""
        with self._lock:
            if self.built is None:
                return
            self._told += 1
            self._pushing += pushing
            self._cells += cells
            if self._told < TOLD:
                return
            if self._cells < AHEAD * self._pushing:
                self.taken = self.built
                self._pause(SAMPLED * AGAIN)
            elif self.taken is None:
                self.built = None  # they were not worth their memory
                self._pause(NEVER)
            elif self._cells > self._pushing:
                self.taken = None
            self._forget()

    def wait(self) -> None:
        """Until cells that are being built are there."""
        if self._builder is not None:
            self._builder.join()

    def always(self, taken: Taken | None) -> None:
        """Go by these cells from now on, or by push lists alone, whatever it costs."""
        with self._lock:
            self.taken = self.built = taken
            self._pause(NEVER)

    @property
    def bytes(self) -> int:
        """What is held for cells."""
        built = self.built
        return 0 if built is None else built.bytes
