"""Limits: how much per second, how many at the same time, and how many bytes of memory."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

from matchwood.service.problems import RequestProblem

# Bytes of a request's body up to which it is small.
SMALL_BYTES = 64 << 10


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


class ByteBudget:
    """Bytes of memory that many may use together; who finds none left waits for its turn.

    >>> import asyncio
    >>> async def use() -> int:
    ...     budget = ByteBudget(100)
    ...     async with budget.room(80) as room:
    ...         room.shrink(30)
    ...         return budget.taken
    >>> asyncio.run(use())
    30
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.taken = 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @property
    def waiting(self) -> int:
        """How many wait for room."""
        return len(self._waiting)

    @asynccontextmanager
    async def room(self, size: int) -> AsyncIterator[BudgetRoom]:
        """Take so many bytes, or all if there are fewer, for as long as the context lasts."""
        size = min(size, self.total)
        await self._take(size)
        room = BudgetRoom(self, size)
        try:
            yield room
        finally:
            room.shrink(0)

    def take_now(self, size: int) -> BudgetRoom | None:
        """Take so many bytes, or all if there are fewer; None if one would have to wait."""
        size = min(size, self.total)
        if self._waiting or self.taken + size > self.total:
            return None
        self.taken += size
        return BudgetRoom(self, size)

    async def _take(self, size: int) -> None:
        if not self._waiting and self.taken + size <= self.total:
            self.taken += size
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((size, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back(size)
            else:
                with suppress(ValueError):  # it may have been passed over already
                    self._waiting.remove((size, turn))
                self.give_back(0)
            raise

    def give_back(self, size: int) -> None:
        """So many bytes are free again: whoever has waited longest takes them."""
        self.taken -= size
        while self._waiting and self.taken + self._waiting[0][0] <= self.total:
            needed, turn = self._waiting.popleft()
            if not turn.done():
                self.taken += needed
                turn.set_result(None)


class ByteLimit:
    """Bytes of memory that requests may take together; one that would exceed them is refused.

    A request that is alone but for small ones may take more: each is bounded by a limit of its own.
    Small requests are never refused, so that those who hold all bytes for long shut nobody out; how
    many there are is bounded by the number of connections.

    >>> from contextlib import closing
    >>> limit = ByteLimit(100, small=10)
    >>> with closing(limit.share()) as one, closing(limit.share()) as other:
    ...     one.add(95)
    ...     other.add(10)
    ...     one.add(10)
    ...     other.add(20)
    Traceback (most recent call last):
    ...
    matchwood.service.problems.RequestProblem: the bodies of requests in progress have 115 bytes, \
the limit is 100
    >>> limit.taken
    0
    """

    def __init__(self, total: int, small: int = SMALL_BYTES) -> None:
        self.total = total
        self.small = small
        self.taken = 0
        self.large = 0  # requests that are not small

    def share(self) -> ByteShare:
        """The bytes of one request, until it is closed."""
        return ByteShare(self)


class ByteShare:
    """The bytes that one request has taken of a limit, which are free again when it is closed."""

    def __init__(self, limit: ByteLimit) -> None:
        self._limit = limit
        self.size = 0

    @property
    def is_large(self) -> bool:
        return self.size > self._limit.small

    def add(self, size: int) -> None:
        """Take more bytes, or raise a problem."""
        limit = self._limit
        is_small = self.size + size <= limit.small
        if limit.taken + size > limit.total and limit.large > self.is_large and not is_small:
            detail = (
                f"the bodies of requests in progress have {limit.taken:,} bytes, "
                f"the limit is {limit.total:,}"
            )
            raise RequestProblem("busy", detail, retry_after=1, limit=limit.total)
        was_large = self.is_large
        self.size += size
        limit.taken += size
        limit.large += self.is_large - was_large

    def close(self) -> None:
        self._limit.taken -= self.size
        self._limit.large -= self.is_large
        self.size = 0


class BudgetRoom:
    """Bytes that were taken from a budget."""

    def __init__(self, budget: ByteBudget, size: int) -> None:
        self._budget = budget
        self._size = size

    def shrink(self, size: int) -> None:
        """Keep only so many bytes."""
        if size < self._size:
            self._size, surplus = size, self._size - size
            self._budget.give_back(surplus)
