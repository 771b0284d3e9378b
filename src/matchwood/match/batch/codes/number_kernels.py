"""A column of numbers to codes, in one pass over its values and the bits of which are valid."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import lean
from matchwood.kernels.records import MISSING


@lean
def code_numbers(numbers, validity, first, doubles, equal, gap, bound, codes):
    """Write the code of each number; how many are not below `bound`, in either direction.

    `doubles` are in order; `equal` has the code of each, and `gap` those between two of them. Bit
    `first` of `validity` says whether the first number is valid; without bytes, all are.
    """
    large = 0
    every = len(validity) == 0
    for row in range(len(numbers)):
        bit = first + row
        number = numbers[row]
        valid = every or (validity[bit >> 3] >> np.uint8(bit & 7)) & np.uint8(1) != 0
        if not valid or number != number:
            codes[row] = MISSING
            continue
        low, high = 0, len(doubles)
        while low < high:
            middle = (low + high) >> 1
            if doubles[middle] < number:
                low = middle + 1
            else:
                high = middle
        is_equal = low < len(doubles) and doubles[low] == number
        codes[row] = equal[low] if is_equal else gap[low]
        large += not -bound < number < bound
    return large
