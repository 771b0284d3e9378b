"""Limits on what comes in a second, and on what is under way at once."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from matchwood.service.problems import Problem


class Rate:
    """So many a second for each name, saved up for one second (a token bucket).

    >>> rate = Rate(10, "too-many-events", clock=lambda: 0.0)
    >>> rate.take("key", 10)
    >>> rate.take("key", 1)
    Traceback (most recent call last):
    ...
    matchwood.service.problems.Problem: the limit is 10 a second: wait for 0.1 s
    """

    def __init__(
        self, a_second: float, problem: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._a_second = a_second
        self._problem = problem
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}  # what is left, and when that was
        self._lock = threading.Lock()

    def take(self, name: str, count: int) -> None:
        """Take some, or say when there are enough; a count above the limit waits for all."""
        if not self._a_second:
            return
        with self._lock:
            now = self._clock()
            left, then = self._left.get(name, (self._a_second, now))
            left = min(self._a_second, left + (now - then) * self._a_second)
            wanted = min(count, self._a_second)
            if left >= wanted:
                # What is over the limit is owed: the next ones wait for it.
                self._left[name] = (left - count, now)
                return
        seconds = (wanted - left) / self._a_second
        raise Problem(
            self._problem,
            f"the limit is {self._a_second:g} a second: wait for {seconds:.2g} s",
            retry_after=seconds,
            limit=self._a_second,
        )


class Places:
    """So many at once, in all and for each name."""

    def __init__(self, most: int, most_a_name: int, problem: str, what: str) -> None:
        self._most = most
        self._most_a_name = most_a_name
        self._problem = problem
        self._what = what
        self._taken: Counter[str] = Counter()
        self.taken = 0

    @contextmanager
    def one(self, name: str) -> Iterator[None]:
        """Take a place while something runs."""
        if self.taken >= self._most:
            self._refuse(self._most, "in all")
        if self._taken[name] >= self._most_a_name:
            self._refuse(self._most_a_name, "with this key")
        self.taken += 1
        self._taken[name] += 1
        try:
            yield
        finally:
            self.taken -= 1
            self._taken[name] -= 1
            if not self._taken[name]:
                del self._taken[name]

    def _refuse(self, limit: int, whose: str) -> None:
        detail = f"the limit is {limit} {self._what} {whose}"
        raise Problem(self._problem, detail, retry_after=1, limit=limit)
