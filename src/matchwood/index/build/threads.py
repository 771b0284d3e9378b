"""Pieces of a build in several threads.

Kernels release the lock of the interpreter, so that threads run side by side. Whatever is built in
pieces is joined in the order of the pieces, and is the same however many there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

# Rules, or nodes, that are worth a thread of their own.
_WORTHWHILE = 10_000


def available_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def pieces_of(count: int, threads: int) -> list[tuple[int, int]]:
    """Bounds of runs that together are `count` things, at most one for each thread.

    >>> pieces_of(100_000, 3), pieces_of(10, 3)
    ([(0, 33333), (33333, 66666), (66666, 100000)], [(0, 10)])
    """
    pieces = max(1, min(threads, count // _WORTHWHILE))
    return [(i * count // pieces, (i + 1) * count // pieces) for i in range(pieces)]


def in_threads(tasks: Sequence[Callable[[], Any]], threads: int) -> list[Any]:
    """The results of all tasks, in their order.

    >>> in_threads([dict, list], threads=2)
    [{}, []]
    """
    if len(tasks) == 1 or threads == 1:
        return [task() for task in tasks]
    with ThreadPoolExecutor(min(len(tasks), threads)) as pool:
        return [running.result() for running in [pool.submit(task) for task in tasks]]
