"""Buffers for matches, used again once nobody holds what was written to them."""

from __future__ import annotations

import os

import numpy as np

from matchwood.kernels.array_types import Int32Array
from matchwood.match.batch.leased_arrays import LeasedArrays
from matchwood.match.batch.pairs import BUFFERED_PAIRS, Pairs

# Buffers that are kept for later use, 8 MiB each. A thread that matches has about five, with those
# that wait to be read.
MOST_KEPT = max(16, 5 * (os.cpu_count() or 1))

_buffers = LeasedArrays(MOST_KEPT)


def lease() -> Int32Array:
    """A buffer with two rows, for events and ordinals; it is the caller's until it is dropped."""
    shape = (2, BUFFERED_PAIRS)
    return _buffers.lease(8 * BUFFERED_PAIRS, lambda: np.empty(shape, np.int32))


def kept_bytes() -> int:
    """Bytes of the buffers that wait to be used again."""
    return _buffers.free_bytes()


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
