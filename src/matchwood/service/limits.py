"""Limits: how much per second (`RateLimit`), and how much at the same time (`ConcurrencyLimit`)."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from matchwood.service.problems import RequestProblem


class RateLimit:
    """A token bucket per name, which holds at most one second's worth of tokens.

    >>> limit = RateLimit(10, "too-many-events", clock=lambda: 0.0)
    >>> limit.take("key", 10)
    >>> limit.take("key", 1)
    Traceback (most recent call last):
    ...
    matchwood.service.problems.RequestProblem: the limit is 10 per second: wait for 0.1 s
    """

    def __init__(
        self, per_second: float, problem: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_second = per_second
        self._problem = problem
        self._clock = clock
        # For each name the tokens that were left, and the time at which that was so.
        self._left: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def take(self, name: str, count: int) -> None:
        """Take `count` tokens, or raise a problem that says when enough will be there.

        A count above the limit is let through when the bucket is full; the excess is owed, and
        later calls wait for it.
        """
        if not self._per_second:
            return
        with self._lock:
            now = self._clock()
            left, then = self._left.get(name, (self._per_second, now))
            left = min(self._per_second, left + (now - then) * self._per_second)
            needed = min(count, self._per_second)
            if left >= needed:
                self._left[name] = (left - count, now)
                return
        seconds = (needed - left) / self._per_second
        raise RequestProblem(
            self._problem,
            f"the limit is {self._per_second:g} per second: wait for {seconds:.2g} s",
            retry_after=seconds,
            limit=self._per_second,
        )


class ConcurrencyLimit:
    """How many may run at the same time, in total and per name."""

    def __init__(self, total: int, per_name: int, problem: str, noun: str) -> None:
        self._total = total
        self._per_name = per_name
        self._problem = problem
        self._noun = noun
        self._taken_by: Counter[str] = Counter()
        self.taken = 0

    @contextmanager
    def slot(self, name: str) -> Iterator[None]:
        """Occupy a slot for as long as the context lasts."""
        if self.taken >= self._total:
            self._refuse(self._total, "in total")
        if self._taken_by[name] >= self._per_name:
            self._refuse(self._per_name, "with this key")
        self.taken += 1
        self._taken_by[name] += 1
        try:
            yield
        finally:
            self.taken -= 1
            self._taken_by[name] -= 1
            if not self._taken_by[name]:
                del self._taken_by[name]

    def _refuse(self, limit: int, scope: str) -> None:
        detail = f"the limit is {limit} {self._noun} {scope}"
        raise RequestProblem(self._problem, detail, retry_after=1, limit=limit)
