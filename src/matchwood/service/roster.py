"""Who is there: until when each subscription lives, and how far it has acknowledged.

Arrays by the number of the subscription, so that a question about the fifty thousand matches of
an event is one step. Only the writing thread changes them.
"""

from __future__ import annotations

import threading
import time

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.uint32]
LARGEST = 2**32 - 1  # numbers are kept in 32 bits


class Roster:
    """`expires` is 0 where there is nobody, else a time in seconds; `cursor` an event's number."""

    def __init__(self, first: int = 0) -> None:
        self._base = first  # no lower number is alive
        self._lock = threading.Lock()
        self._expires = np.zeros(1024)
        self._cursor = np.zeros(1024, np.int64)
        self.alive = 0

    @classmethod
    def of(
        cls, numbers: NDArray[np.int64], expires: NDArray[np.float64], cursor: NDArray[np.int64]
    ) -> Roster:
        """A roster of many at once."""
        roster = cls(int(numbers.min()) if len(numbers) else 0)
        if len(numbers):
            roster._reach(int(numbers.max()))
            roster._expires[numbers - roster._base] = expires
            roster._cursor[numbers - roster._base] = cursor
            roster.alive = len(numbers)
        return roster

    def _reach(self, number: int) -> None:
        if number > LARGEST:
            raise OverflowError(f"a number of a subscription has 32 bits, found {number}")
        wanted = number - self._base + 1
        if wanted <= len(self._expires):
            return
        size = max(wanted, 2 * len(self._expires))
        cursor, expires = np.zeros(size, np.int64), np.zeros(size)
        cursor[: len(self._cursor)] = self._cursor
        expires[: len(self._expires)] = self._expires
        self._cursor = cursor  # first, so that nobody is found alive without one
        self._expires = expires

    def enter(self, number: int, expires: float, cursor: int) -> None:
        with self._lock:
            if self.alive == 0 and number > self._base + len(self._expires):
                self._base = number  # nobody is there: begin anew
                self._expires, self._cursor = np.zeros(1024), np.zeros(1024, np.int64)
            self._reach(number)
            place = number - self._base
            self.alive += not self._expires[place]
            self._cursor[place] = cursor
            self._expires[place] = expires

    def renew(self, number: int, expires: float) -> None:
        if self.is_there(number):
            self._expires[number - self._base] = expires

    def leave(self, number: int) -> None:
        with self._lock:
            if self.is_there(number):
                self._expires[number - self._base] = 0
                self.alive -= 1

    def is_there(self, number: int) -> bool:
        """Whether it has entered and not left; it may have expired."""
        place = number - self._base
        return 0 <= place < len(self._expires) and bool(self._expires[place])

    def is_live(self, number: int) -> bool:
        return self.is_there(number) and self._expires[number - self._base] > time.time()

    def expires(self, number: int) -> float:
        return float(self._expires[number - self._base]) if self.is_there(number) else 0.0

    def cursor(self, number: int) -> int:
        return int(self._cursor[number - self._base]) if self.is_there(number) else 0

    def acknowledge(self, number: int, event: int) -> bool:
        """Move a cursor forward; False where it is there already."""
        with self._lock:
            if not self.is_there(number) or self.cursor(number) >= event:
                return False
            self._cursor[number - self._base] = event
            return True

    def live(self, numbers: Numbers, now: float) -> Numbers:
        """Those of the numbers that live at a time."""
        found: Numbers = numbers[self._of(self._expires, numbers) > now]
        return found

    def waits(self, numbers: Numbers, events: NDArray[np.int64], now: float) -> NDArray[np.bool_]:
        """Which of these pairs are not acknowledged yet, by who lives."""
        behind = self._of(self._cursor, numbers) < events
        found: NDArray[np.bool_] = behind & (self._of(self._expires, numbers) > now)
        return found

    def expired(self, now: float) -> list[int]:
        """The numbers of those whose time is over."""
        expires = self._expires
        places = np.flatnonzero((expires > 0) & (expires <= now))
        return (places + self._base).tolist()

    def _of(
        self, values: NDArray[np.float64] | NDArray[np.int64], numbers: Numbers
    ) -> NDArray[np.float64]:
        """Values of some numbers; 0 for those who left before this roster began."""
        places = numbers.astype(np.int64) - self._base
        known = (places >= 0) & (places < len(values))
        if known.all():
            return values[places]  # type: ignore[return-value]
        found = np.zeros(len(places), values.dtype)
        found[known] = values[places[known]]
        return found  # type: ignore[return-value]
