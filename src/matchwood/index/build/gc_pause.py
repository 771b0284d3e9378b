"""A pause of Python's garbage collector during bulk work."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from matchwood.forking import renew_in_children


class _Pauses:
    """Which threads are in bulk work: the first one to begin and the last one to end matter.

    A thread that looked whether the collector is enabled and then disabled it would leave it
    disabled for good, if another one enabled it in between.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._threads: list[int] = []  # once for each pause that a thread is in
        self._enabled = True  # before the first of these pauses
        renew_in_children(self)

    def begin(self) -> None:
        with self._lock:
            if not self._threads:
                self._enabled = gc.isenabled()
            # In this order, here and at the end: a fork in between finds whose pause it was.
            self._threads.append(threading.get_ident())
            gc.disable()

    def end(self) -> None:
        with self._lock:
            if len(self._threads) == 1:
                self._resume()
            self._threads.remove(threading.get_ident())

    def after_fork(self) -> None:
        """Other threads are not in a forked process, so they never end their pauses there."""
        self._lock = threading.RLock()
        if self._threads:
            own = threading.get_ident()
            self._threads = [thread for thread in self._threads if thread == own]
            if not self._threads:
                self._resume()

    def _resume(self) -> None:
        if self._enabled:
            gc.enable()


_pauses = _Pauses()


@contextmanager
def collection_paused() -> Iterator[None]:
    """Bulk work makes millions of objects that all stay alive: looking for garbage is wasted time.

    >>> with collection_paused():
    ...     gc.isenabled()
    False
    """
    _pauses.begin()
    try:
        yield
    finally:
        _pauses.end()
