"""The roster of subscriptions: until when each is valid, and how far it has acknowledged.

Both are arrays, indexed by the number of the subscription, so that a question about the fifty
thousand matches of an event is one array operation. Only the writing thread adds and removes
subscriptions; cursors may be moved from any thread.
"""

from __future__ import annotations

import threading
import time

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.uint32]
# The largest number of a subscription: numbers are stored in 32 bits.
LARGEST = 2**32 - 1
# The number of subscriptions for which a new roster has room.
FIRST_SIZE = 1024


class SubscriptionRoster:
    """Per subscription its expiry (Unix time, 0 if there is none) and its cursor (an event)."""

    def __init__(self, first: int = 0) -> None:
        self._base = first  # the subscription at index 0: no lower number is present
        self._lock = threading.Lock()
        self._expires = np.zeros(FIRST_SIZE)
        self._cursor = np.zeros(FIRST_SIZE, np.int64)
        self.alive = 0

    @classmethod
    def of(
        cls, numbers: NDArray[np.int64], expires: NDArray[np.float64], cursor: NDArray[np.int64]
    ) -> SubscriptionRoster:
        """A roster of many subscriptions at once."""
        roster = cls(int(numbers.min()) if len(numbers) else 0)
        if len(numbers):
            roster._reserve(int(numbers.max()))
            roster._expires[numbers - roster._base] = expires
            roster._cursor[numbers - roster._base] = cursor
            roster.alive = len(numbers)
        return roster

    def _reserve(self, number: int) -> None:
        """Grow the arrays until they have room for a number."""
        if number > LARGEST:
            raise OverflowError(f"the number of a subscription has 32 bits, found {number}")
        needed = number - self._base + 1
        if needed <= len(self._expires):
            return
        size = max(needed, 2 * len(self._expires))
        cursor, expires = np.zeros(size, np.int64), np.zeros(size)
        cursor[: len(self._cursor)] = self._cursor
        expires[: len(self._expires)] = self._expires
        self._cursor = cursor  # first, so that whoever finds an expiry also finds a cursor
        self._expires = expires

    def enter(self, number: int, expires: float, cursor: int) -> None:
        """Add a subscription."""
        with self._lock:
            if self.alive == 0 and number > self._base + len(self._expires):
                self._base = number  # the roster is empty: begin again at this number
                self._expires = np.zeros(FIRST_SIZE)
                self._cursor = np.zeros(FIRST_SIZE, np.int64)
            self._reserve(number)
            index = number - self._base
            self.alive += not self._expires[index]
            self._cursor[index] = cursor
            self._expires[index] = expires

    def renew(self, number: int, expires: float) -> None:
        """Change the expiry of a subscription."""
        if self.is_present(number):
            self._expires[number - self._base] = expires

    def leave(self, number: int) -> None:
        """Remove a subscription."""
        with self._lock:
            if self.is_present(number):
                self._expires[number - self._base] = 0
                self.alive -= 1

    def is_present(self, number: int) -> bool:
        """Whether it has been added and not removed; it may have expired."""
        index = number - self._base
        return 0 <= index < len(self._expires) and bool(self._expires[index])

    def is_live(self, number: int) -> bool:
        """Whether it is present and has not expired."""
        return self.is_present(number) and self._expires[number - self._base] > time.time()

    def cursor(self, number: int) -> int:
        """The event up to which it has acknowledged."""
        return int(self._cursor[number - self._base]) if self.is_present(number) else 0

    def acknowledge(self, number: int, event: int) -> bool:
        """Move a cursor forward; False if it is already there or beyond."""
        with self._lock:
            if not self.is_present(number) or self.cursor(number) >= event:
                return False
            self._cursor[number - self._base] = event
            return True

    def live(self, numbers: Numbers, now: float) -> Numbers:
        """Those of the subscriptions that are live at a time."""
        live: Numbers = numbers[self._values(self._expires, numbers) > now]
        return live

    def waiting(self, numbers: Numbers, events: NDArray[np.int64], now: float) -> NDArray[np.bool_]:
        """For each pair of a subscription and an event: is it live and has not acknowledged it?"""
        behind = self._values(self._cursor, numbers) < events
        waiting: NDArray[np.bool_] = behind & (self._values(self._expires, numbers) > now)
        return waiting

    def expired(self, now: float) -> list[int]:
        """The subscriptions that are present but have expired."""
        expires = self._expires
        indices = np.flatnonzero((expires > 0) & (expires <= now))
        return (indices + self._base).tolist()

    def _values(
        self, values: NDArray[np.float64] | NDArray[np.int64], numbers: Numbers
    ) -> NDArray[np.float64]:
        """The values of some subscriptions; 0 for those outside the arrays."""
        indices = numbers.astype(np.int64) - self._base
        inside = (indices >= 0) & (indices < len(values))
        if inside.all():
            return values[indices]  # type: ignore[return-value]
        result = np.zeros(len(indices), values.dtype)
        result[inside] = values[indices[inside]]
        return result  # type: ignore[return-value]
