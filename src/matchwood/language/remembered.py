"""What was computed lately, within a budget of bytes.

Values that events and rules bring are of any length, so a number of entries bounds no memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper
from sys import getsizeof
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

# Bytes of an entry besides those of its key and value, about.
_ENTRY = 100

# An entry that would take more than this part of the budget is not remembered.
_LARGEST = 1 / 8


class Remembered(dict[K, V]):
    """Values by key; once they take more than the budget, it starts again. Threads share it.

    >>> lengths: Remembered[str, int] = Remembered(10_000)
    >>> lengths.remember("abc", 3, 60)
    >>> lengths.get("abc"), lengths.bytes
    (3, 160)
    >>> lengths.remember("much", 4, 2_000)
    >>> "much" in lengths
    False
    """

    __slots__ = ("budget", "bytes")

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.bytes = 0  # threads may lose a few entries of the count, until it starts again

    def remember(self, key: K, value: V, size: int) -> None:
        """Remember a value, given the bytes that it and its key take."""
        size += _ENTRY
        if size > self.budget * _LARGEST:
            return
        if self.bytes + size > self.budget:
            self.clear()
        self.bytes += size
        self[key] = value

    def clear(self) -> None:
        """Forget everything."""
        super().clear()
        self.bytes = 0


class RememberedFunction(Generic[V]):
    """A function of one text that remembers its results."""

    def __init__(
        self, function: Callable[[str], V], budget: int, size_of: Callable[[str, V], int]
    ) -> None:
        self.known: Remembered[str, V] = Remembered(budget)
        self._function = function
        self._size_of = size_of
        update_wrapper(self, function)

    def __call__(self, text: str) -> V:
        result = self.known.get(text)
        if result is None:
            result = self._function(text)
            self.known.remember(text, result, getsizeof(text) + self._size_of(text, result))
        return result


def remembered_by_text(
    budget: int, size_of: Callable[[str, V], int]
) -> Callable[[Callable[[str], V]], RememberedFunction[V]]:
    """Remember the results of a function; `size_of` says what bytes the result of a text takes."""
    return partial(RememberedFunction, budget=budget, size_of=size_of)
