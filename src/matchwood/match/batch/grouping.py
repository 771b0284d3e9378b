"""Pairs of event and rule, in any order, to one list of rules per event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.match.batch.grouping_kernels import count_events, scatter_places, scatter_values


def grouped(
    pairs: Sequence[tuple[Int32Array, Int32Array]], events: int, values: NDArray[Any] | None = None
) -> tuple[Int64Array, NDArray[Any]]:
    """One list per event: (bounds of the lists, all lists one after the other).

    A list has the second numbers of the pairs of its event, or `values` at these numbers. This is
    a counting sort: nothing is compared.
    """
    bounds = np.zeros(events + 1, np.int64)
    for numbers, _ in pairs:
        count_events(numbers, bounds)
    np.cumsum(bounds, out=bounds)
    into = np.empty(bounds[-1], np.int32 if values is None else values.dtype)
    after = bounds[:-1].copy()
    for numbers, rules in pairs:
        if values is None:
            scatter_places(numbers, rules, after, into)
        else:
            scatter_values(numbers, rules, values, after, into)
    return bounds, into
