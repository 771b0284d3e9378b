"""Pairs of event and rule, in any order, to lists by event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import compiled

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


def grouped(
    pairs: Sequence[tuple[Ints, Ints]], events: int, values: NDArray[Any] | None = None
) -> tuple[Longs, NDArray[Any]]:
    """(bounds of each event's list, all lists): the places of its pairs in order, or values[place].

    A counting sort: nothing is compared.
    """
    bounds = np.zeros(events + 1, np.int64)
    for numbers, _ in pairs:
        _count(numbers, bounds)
    np.cumsum(bounds, out=bounds)
    into = np.empty(bounds[-1], np.int32 if values is None else values.dtype)
    after = bounds[:-1].copy()
    for numbers, places in pairs:
        if values is None:
            _scatter(numbers, places, after, into)
        else:
            _scatter_values(numbers, places, values, after, into)
    return bounds, into


@compiled
def _count(numbers: Ints, bounds: Longs) -> None:
    for number in numbers:
        bounds[number + 1] += 1


@compiled
def _scatter(numbers: Ints, places: Ints, after: Longs, into: Ints) -> None:
    for i in range(len(numbers)):
        at = after[numbers[i]]
        into[at] = places[i]
        after[numbers[i]] = at + 1


@compiled
def _scatter_values(numbers: Ints, places: Ints, values: Any, after: Longs, into: Any) -> None:
    for i in range(len(numbers)):
        at = after[numbers[i]]
        into[at] = values[places[i]]
        after[numbers[i]] = at + 1
