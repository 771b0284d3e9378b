"""The steps of a counting sort of pairs by event."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from typing import Any

from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.kernels.compiled import compiled


@compiled
def count_events(numbers: Int32Array, bounds: Int64Array) -> None:
    for number in numbers:
        bounds[number + 1] += 1


@compiled
def scatter_places(
    numbers: Int32Array, places: Int32Array, after: Int64Array, into: Int32Array
) -> None:
    for i in range(len(numbers)):
        at = after[numbers[i]]
        into[at] = places[i]
        after[numbers[i]] = at + 1


@compiled
def scatter_values(
    numbers: Int32Array, places: Int32Array, values: Any, after: Int64Array, into: Any
) -> None:
    for i in range(len(numbers)):
        at = after[numbers[i]]
        into[at] = values[places[i]]
        after[numbers[i]] = at + 1
