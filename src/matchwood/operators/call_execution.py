"""How the function of an operator is run: directly, with a time limit, or as a coroutine on our own
loop.

Functions that run directly take processor time of the thread that matches. `own_time` is that of
the thread without them.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Coroutine, Sequence
from functools import cache
from time import thread_time
from typing import TYPE_CHECKING, Any

from matchwood.forking import renew_in_children

if TYPE_CHECKING:
    import asyncio  # imported when it is needed: it takes half of the time of `import matchwood`

# Calls of one operator that exceeded their time limit and still run; beyond it calls are refused.
MAX_ABANDONED = 32


class Overdue(Exception):
    """A call exceeded the time limit of its operator."""


class _InCalls(threading.local):
    """Seconds of processor time that the functions of operators took in this thread."""

    seconds = 0.0


_in_calls = _InCalls()


def own_time() -> float:
    """Seconds of processor time of this thread, without those in functions of operators."""
    return thread_time() - _in_calls.seconds


def run_directly(function: Callable[[], Any]) -> Any:
    """The result of the function, whose time does not count as that of the thread."""
    begun = own_time()
    try:
        return function()
    finally:
        _in_calls.seconds += own_time() - begun


class TimedThreads:
    """Runs functions in threads, and waits for each only up to a time limit.

    Python cannot stop a thread: one that is overdue goes on until its function returns.
    """

    def __init__(self) -> None:
        self._idle: list[_Worker] = []  # append and pop are atomic
        self._abandoned = 0
        self._lock = threading.Lock()
        renew_in_children(self)

    def after_fork(self) -> None:
        """The child has none of the threads."""
        self._idle = []
        self._abandoned = 0
        self._lock = threading.Lock()

    def run(self, function: Callable[[], Any], seconds: float) -> Any:
        """The result of the function; raises `Overdue` if it takes longer than `seconds`."""
        if self._abandoned >= MAX_ABANDONED:
            raise Overdue(f"{self._abandoned} calls that exceeded their time limit still run")
        worker = self._idle.pop() if self._idle else _Worker()
        done: queue.SimpleQueue[tuple[bool, Any]] = queue.SimpleQueue()
        worker.jobs.put((function, done))
        try:
            good, result = done.get(timeout=seconds)
        except queue.Empty:
            with self._lock:
                self._abandoned += 1
            worker.jobs.put((self._returned, done))
            worker.jobs.put(None)
            raise Overdue(f"it took longer than {seconds:g} s") from None
        self._idle.append(worker)
        if not good:
            raise result
        return result

    def _returned(self) -> None:
        with self._lock:
            self._abandoned -= 1


class _Worker:
    """A thread that runs one job after another."""

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="matchwood-operator", daemon=True).start()

    def _work(self) -> None:
        while (job := self.jobs.get()) is not None:
            function, done = job
            try:
                done.put((True, function()))
            except BaseException as error:
                done.put((False, error))


@cache
def loop() -> asyncio.AbstractEventLoop:
    """The event loop of asynchronous operators, in a thread of its own."""
    import asyncio

    made = asyncio.new_event_loop()
    threading.Thread(target=made.run_forever, name="matchwood-operators", daemon=True).start()
    _loops.append(made)
    return made


# Loops are never closed: a forked process shares the selector with its parent, and closing a loop
# would remove the parent's sockets from it.
_loops: list[asyncio.AbstractEventLoop] = []
os.register_at_fork(after_in_child=lambda: loop.cache_clear())


def run_together(
    started: Sequence[Callable[[], Coroutine[Any, Any, Any]]], seconds: float | None
) -> list[Any]:
    """The results of coroutines that run concurrently; exceptions are returned among them.

    Must not be called on the loop itself, which would then wait for itself.
    """
    import asyncio

    async def gathered() -> list[Any]:
        return await asyncio.gather(
            *(_within(start, seconds) for start in started), return_exceptions=True
        )

    return asyncio.run_coroutine_threadsafe(gathered(), loop()).result()


async def _within(start: Callable[[], Coroutine[Any, Any, Any]], seconds: float | None) -> Any:
    import asyncio

    try:
        return await asyncio.wait_for(start(), seconds)
    except TimeoutError:
        if seconds is None:
            raise
        raise Overdue(f"it took longer than {seconds:g} s") from None
