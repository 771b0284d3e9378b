"""Running means of costs and of truths, by call, literal and operator."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from math import log

from matchwood.kernels.array_types import FloatArray, Int32Array
from matchwood.kernels.compiled import inlined, lean

# Observations of a literal or operator after which all earlier ones count half.
FULL = 256

# Observations over which the mean of a cost is taken, roughly.
RECENT = 32

# Seconds that every call takes beside the operator itself: smaller costs are not told apart.
AROUND = 2e-5


@inlined
def _average(mean: FloatArray, made: FloatArray, index: int, value: float) -> None:
    made[index] = min(made[index] + 1, RECENT)
    mean[index] += (value - mean[index]) / made[index]


@inlined
def _count(asked: FloatArray, held: FloatArray, index: int, holds: float) -> None:
    if asked[index] >= FULL:
        asked[index] /= 2
        held[index] /= 2
    asked[index] += 1
    held[index] += holds


@lean
def note_costs(
    numbers: Int32Array, seconds: FloatArray, operator: Int32Array, cost: FloatArray,
    made: FloatArray, operator_cost: FloatArray, operator_made: FloatArray,
) -> None:  # fmt: skip
    for i in range(len(numbers)):
        log_seconds = log(seconds[i] + AROUND)
        _average(cost, made, numbers[i], log_seconds)
        _average(operator_cost, operator_made, operator[numbers[i]], log_seconds)


@lean
def note_truths(
    numbers: Int32Array, holds: FloatArray, operator: Int32Array, asked: FloatArray,
    held: FloatArray, operator_asked: FloatArray, operator_held: FloatArray,
) -> None:  # fmt: skip
    for i in range(len(numbers)):
        _count(asked, held, numbers[i], holds[i])
        _count(operator_asked, operator_held, operator[numbers[i]], holds[i])
