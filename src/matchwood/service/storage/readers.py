"""Threads for work that would block the event loop: queries, and matching for one request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
# Threads that read at the same time; each may hold a connection to the database.
READER_THREADS = 4


class Readers:
    """A small pool of threads, awaited from the event loop."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(READER_THREADS, "read")

    async def run(self, function: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Call a function in one of the threads, and return its result."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, lambda: function(*arguments, **named))

    def close(self) -> None:
        self._pool.shutdown()
