"""What a forked process needs: locks that nobody holds, and threads of its own.

A fork copies the memory of a process, and of its threads only the one that forks. A lock that
another thread held at that moment is held for good in the child, what it guards may be half
changed, and whoever waits for that thread waits for ever. So whatever has locks or threads is
renewed in the child, before anything else runs there.
"""

from __future__ import annotations

import itertools
import logging
import os
import weakref
from typing import Any, Protocol


class Renewed(Protocol):
    """What has locks or threads."""

    def after_fork(self) -> None:
        """Be as if there had never been another thread; called in the child, which has one."""


_log = logging.getLogger("matchwood.forking")
_numbers = itertools.count()
_renewed: dict[int, weakref.ref[Renewed]] = {}


def renew_in_children(one: Renewed) -> None:
    """Have `after_fork` called in each process that is forked from this one, while `one` lives."""
    number = next(_numbers)

    def forget(_: object, known: dict[int, Any] = _renewed) -> None:
        known.pop(number, None)

    _renewed[number] = weakref.ref(one, forget)


def is_left_held(lock: Any) -> bool:
    """Whether a lock is held by a thread that the child does not have.

    >>> import threading
    >>> is_left_held(threading.Lock())
    False
    """
    if lock.acquire(blocking=False):  # nobody holds it, or the thread that forked does
        lock.release()
        return False
    return True


def _renew() -> None:
    for reference in list(_renewed.values()):
        one = reference()
        if one is not None:
            try:
                one.after_fork()
            except Exception:  # the others are renewed all the same
                _log.exception("%r cannot be used in this process", type(one).__name__)


os.register_at_fork(after_in_child=_renew)
