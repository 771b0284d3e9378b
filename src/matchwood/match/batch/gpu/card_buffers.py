"""Buffers of a batch: on the card, grown when needed, and pinned ones of the host for results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from matchwood.match.batch.leased_arrays import LeasedArrays
from matchwood.match.batch.pairs import Pairs

# Pairs that are copied to the host at once, and handed on together.
PIECE_PAIRS = 1 << 22

# Pinned buffers that are kept for later use.
_MOST_KEPT = 16

# Bytes of a pair: the number of a rule, and that of an event, which is below 65,536 and takes half
# as many, because the way from the card to the host is what limits a card.
_RULE_BYTES, _EVENT_BYTES = 4, 2

_pinned = LeasedArrays(_MOST_KEPT)


class CardArray:
    """An array on the card that grows; its content is lost when it does."""

    def __init__(self, kind: type[np.generic]) -> None:
        self._kind = np.dtype(kind)
        self.array: Any = cuda.device_array(1, self._kind)

    def with_room(self, size: int) -> Any:
        """The array, with at least so many elements."""
        if len(self.array) < size:
            self.array = None  # so that the old one and the new one need not fit together
            self.array = cuda.device_array(size, self._kind)
        return self.array


class PinnedArray:
    """An array of the host that a card reads by itself, and that grows."""

    def __init__(self, kind: type[np.generic]) -> None:
        self._kind = np.dtype(kind)
        self._array: NDArray[Any] = cuda.pinned_array(1, self._kind)

    def joined(self, parts: list[NDArray[Any]]) -> NDArray[Any]:
        """Some arrays, one after the other."""
        return np.concatenate(parts, out=self.with_room(sum(len(part) for part in parts)))

    def with_room(self, size: int) -> NDArray[Any]:
        """So many elements, to be written."""
        if len(self._array) < size:
            self._array = cuda.pinned_array(size + size // 4, self._kind)
        return self._array[:size]


def leased_bytes(size: int) -> NDArray[np.uint8]:
    """Pinned bytes; they are the caller's until nobody holds any part of them."""
    room = 1 << max(18, (size - 1).bit_length())
    return _pinned.lease(room, lambda: cuda.pinned_array(room, np.uint8))[:size]


def leased_pairs(size: int) -> Pairs:
    """Pinned room for pairs."""
    buffer = leased_bytes((_RULE_BYTES + _EVENT_BYTES) * size)
    events_at = _RULE_BYTES * size
    return buffer[events_at:].view(np.uint16), buffer[:events_at].view(np.int32)


def pieces_of(events: Any, rules: Any, count: int, stream: Any) -> Iterator[Pairs]:
    """The pairs that are on the card, copied to the host piece by piece, one piece ahead."""
    waiting: list[tuple[Any, Pairs]] = []
    for first in range(0, count, PIECE_PAIRS):
        size = min(PIECE_PAIRS, count - first)
        pairs = leased_pairs(size)
        events[first : first + size].copy_to_host(pairs[0], stream=stream)
        rules[first : first + size].copy_to_host(pairs[1], stream=stream)
        done = cuda.event()
        done.record(stream)
        waiting.append((done, pairs))
        del pairs
        if len(waiting) > 1:
            yield _arrived(waiting)
    while waiting:
        yield _arrived(waiting)


def _arrived(waiting: list[tuple[Any, Pairs]]) -> Pairs:
    done, pairs = waiting.pop(0)
    done.synchronize()
    return pairs
