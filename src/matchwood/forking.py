"""What a forked process needs: locks that nobody holds, and threads of its own.

A fork copies the memory of a process, but only the thread that forks. A lock that another thread
held at that moment stays locked for ever in the child, the data it guards may be half changed, and
waiting for that thread never ends. So every object with locks or threads is renewed in the child
before anything else runs there.
"""

from __future__ import annotations

import itertools
import logging
import os
import weakref
from typing import Any, Protocol


class Renewed(Protocol):
    """An object with locks or threads."""

    def after_fork(self) -> None:
        """Called in the child: become as if no other thread had ever existed."""


_log = logging.getLogger("matchwood.forking")
_numbers = itertools.count()
_renewed: dict[int, weakref.ref[Renewed]] = {}


def renew_in_children(renewed: Renewed) -> None:
    """Call `after_fork` in each process that is forked from this one while `renewed` lives."""
    number = next(_numbers)

    def forget(_: object, known: dict[int, Any] = _renewed) -> None:
        known.pop(number, None)

    _renewed[number] = weakref.ref(renewed, forget)


def is_left_held(lock: Any) -> bool:
    """Whether a lock is held by a thread that does not exist in the child.

    >>> import threading
    >>> is_left_held(threading.Lock())
    False
    """
    if lock.acquire(blocking=False):  # it is free, or an RLock of the thread that forked
        lock.release()
        return False
    return True


def _renew() -> None:
    for reference in list(_renewed.values()):
        renewed = reference()
        if renewed is not None:
            try:
                renewed.after_fork()
            except Exception:  # the others have to be renewed all the same
                _log.exception("%r cannot be used in this process", type(renewed).__name__)


os.register_at_fork(after_in_child=_renew)
