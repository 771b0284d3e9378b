"""The order of rows by several columns of integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import Int64Array


def sorted_rows(*columns: NDArray[np.integer[Any]]) -> Int64Array:
    """The order of rows by these columns, the first one first; equal rows stay in their order.

    Columns and row numbers are packed into one integer per row if they fit: NumPy sorts those
    several times as fast as rows by several keys.

    >>> sorted_rows(np.array([1, 0, 1]), np.array([5, 7, -5])).tolist()
    [1, 2, 0]
    """
    count = len(columns[0])
    if not count:
        return np.empty(0, np.int64)
    least = [int(column.min()) for column in columns]
    bits = [
        (int(column.max()) - low).bit_length() for column, low in zip(columns, least, strict=True)
    ]
    row_bits = count.bit_length()
    if sum(bits) + row_bits > 63:
        return np.lexsort(columns[::-1])
    key = np.zeros(count, np.int64)
    for column, low, width in zip(columns, least, bits, strict=True):
        key = key << width | (column.astype(np.int64) - low)
    key = np.sort(key << row_bits | np.arange(count))
    rows: Int64Array = key & ((1 << row_bits) - 1)
    return rows
