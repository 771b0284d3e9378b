"""A pause of Python's garbage collector during bulk work."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# Threads that will enable the collector again.
_paused_by: set[int] = set()


@contextmanager
def collection_paused() -> Iterator[None]:
    """Bulk work makes millions of objects that all stay alive: looking for garbage is wasted time.

    >>> with collection_paused():
    ...     gc.isenabled()
    False
    """
    enabled = gc.isenabled()
    thread = threading.get_ident()
    if enabled:
        _paused_by.add(thread)
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
            _paused_by.discard(thread)  # in this order: a fork in between enables it once more


def _resume_in_child() -> None:
    """Enable the collector in a forked process if the thread that would do it is not there."""
    if _paused_by and threading.get_ident() not in _paused_by:
        gc.enable()
    _paused_by.intersection_update([threading.get_ident()])


os.register_at_fork(after_in_child=_resume_in_child)
