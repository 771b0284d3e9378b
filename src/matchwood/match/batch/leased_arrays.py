"""Arrays that are used again once nobody holds them, nor any view of them.

A fresh array has to be found, cleared and mapped by the system, page by page, which takes about as
long as writing matches to it does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


class LeasedArrays:
    """Arrays that wait to be used again. Threads share it.

    >>> arrays = LeasedArrays(most=2)
    >>> row = arrays.lease(8, lambda: np.zeros((2, 4), np.uint8))[0]
    >>> arrays.free_bytes()
    0
    >>> del row
    >>> arrays.free_bytes()
    8
    """

    def __init__(self, most: int) -> None:
        """Keep at most so many arrays that nobody holds."""
        # Adding and taking are atomic; the oldest goes where there are too many.
        self._free: deque[NDArray[Any]] = deque(maxlen=most)

    def lease(self, size: int, make: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """An array of at least `size` bytes: one that nobody holds, or what `make` returns.

        It is the caller's, and returns by itself when the last view of it is gone.
        """
        while True:
            try:
                array = self._free.pop()
            except IndexError:
                array = make()
                break
            if array.nbytes >= size:
                break  # smaller ones are dropped: larger ones take their place
        return np.asarray(_Lease(array, self._free))

    def free_bytes(self) -> int:
        """Bytes of the arrays that nobody holds."""
        return sum(array.nbytes for array in tuple(self._free))


class _Lease:
    """What all views of an array refer to, as the owner of their memory.

    NumPy lets a view of a view refer to the array that the memory belongs to, but goes no further
    than to what is no array: so that all views, and what Arrow makes of them, keep the lease alive.
    """

    __slots__ = ("__array_interface__", "_array", "_free")

    def __init__(self, array: NDArray[Any], free: deque[NDArray[Any]]) -> None:
        self.__array_interface__ = array.__array_interface__
        self._array = array
        self._free = free

    def __del__(self) -> None:
        self._free.append(self._array)
