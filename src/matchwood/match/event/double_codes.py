"""The codes of numbers that are given as doubles."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from matchwood.language.values import Family, exact
from matchwood.match.event.encode import Coder


def double_table(
    coder: Coder,
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """(doubles, code of each, code between two of them).

    A double stands for its shortest decimal, and rounding keeps the order of decimals. So a double
    lies on the same side of a constant as of the double nearest to that constant; if it is that
    double itself, the decimals are compared.
    """
    if coder.doubles is None:
        constants = coder.sorted[Family.NUMBER]
        nearest = np.array([_nearest(constant) for constant in constants], np.float64)
        doubles, counts = np.unique(nearest, return_counts=True)
        first = coder.first[Family.NUMBER]
        gap = first + 2 * np.r_[0, np.cumsum(counts)]
        equal = [coder.code(Family.NUMBER, exact(float(double))) for double in doubles]
        coder.doubles = doubles, np.array(equal, np.int64), gap.astype(np.int64)
    table: tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]] = coder.doubles
    return table


def _nearest(constant: int | Decimal) -> float:
    try:
        return float(constant)
    except OverflowError:
        return float("inf") if constant > 0 else float("-inf")
