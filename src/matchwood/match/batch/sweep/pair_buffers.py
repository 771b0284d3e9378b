"""Buffers for matches, used again once nobody holds what was written to them.

A fresh buffer has to be found, cleared and mapped by the system, page by page, which takes about as
long as writing the matches does. A buffer is free when this module holds the only reference to it:
views of it, and Arrow arrays over these, keep it alive.
"""

from __future__ import annotations

import os
import sys
from collections import deque

import numpy as np

from matchwood.kernels.array_types import Int32Array
from matchwood.match.batch.batch_strategy import BUFFERED_PAIRS, Pairs

# Buffers that are kept for later use, 8 MiB each. A thread that matches has about five, with those
# that wait to be read.
MOST_KEPT = max(16, 5 * (os.cpu_count() or 1))

# References to a buffer that is free while it is looked at: a variable, and an argument.
_FREE = 2

# Taking from one end and adding to the other is atomic, so threads share it without a lock.
_kept: deque[Int32Array] = deque()


def lease() -> Int32Array:
    """A buffer with two rows, for events and ordinals; it is the caller's until it is dropped."""
    for _ in range(len(_kept)):
        try:
            buffer = _kept.popleft()
        except IndexError:  # other threads are looking at the rest
            break
        is_free = sys.getrefcount(buffer) == _FREE
        _kept.append(buffer)
        if is_free:
            return buffer
    buffer = np.empty((2, BUFFERED_PAIRS), np.int32)
    if len(_kept) < MOST_KEPT:
        _kept.append(buffer)
    return buffer


def kept_bytes() -> int:
    """Bytes of the buffers that are kept, whether they are in use or free."""
    return sum(buffer.nbytes for buffer in tuple(_kept))


class PairBuffer:
    """Where a sweep writes its pairs."""

    def __init__(self) -> None:
        self._leased: Int32Array | None = None

    def columns(self) -> Pairs:
        """The columns to write to."""
        if self._leased is None:
            self._leased = lease()
        return self._leased[0], self._leased[1]

    def taken(self, count: int) -> Pairs:
        """What was written, so that nothing overwrites it.

        A little is copied, so that the buffer can be used again at once.
        """
        events, ordinals = self.columns()
        if count <= BUFFERED_PAIRS // 8:
            return events[:count].copy(), ordinals[:count].copy()
        self._leased = None
        return events[:count], ordinals[:count]
