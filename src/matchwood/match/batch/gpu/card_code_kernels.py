"""Values of columns to codes, on a card: see `codes.card_columns` for what is left to the host.

Codes are written where `place_codes` reads them, behind those that the host has made.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np
from numba import cuda

from matchwood.kernels.records import MISSING, NO_MOMENT
from matchwood.match.batch.gpu.warp_kernels import device_function, launched

# Of each slot: where what rules compare it with begins and ends, and where its codes between these
# begin.
CODE_FACTS = 3

_ONE = np.uint32(1)
_NO_MOMENT = np.int64(NO_MOMENT)
_MISSING = np.int32(MISSING)


@device_function
def _code(value, slot, facts, constants, equal, gap):
    """The code of a value: that of an equal constant, or the one before the next higher one."""
    at = np.uint32(np.uint32(CODE_FACTS) * slot)
    begin = np.uint32(facts[at])
    end = np.uint32(facts[np.uint32(at + _ONE)])
    low, high = begin, end
    while low < high:
        middle = np.uint32(np.uint32(low + high) >> _ONE)
        if constants[middle] < value:
            low = np.uint32(middle + _ONE)
        else:
            high = middle
    if low < end:
        if constants[low] == value:
            return np.int32(equal[low])
    first_gap = np.uint32(facts[np.uint32(at + np.uint32(2))])
    return np.int32(gap[np.uint32(first_gap + np.uint32(low - begin))])


@launched
def code_doubles(values, columns, events, batch, slots_at, out_at, facts, constants, equal, gap):
    """Write the codes of columns of doubles, one column after the other; NaN is missing."""
    place = np.uint32(cuda.grid(1))
    end = np.uint32(np.uint32(columns) * np.uint32(events))
    while place < end:
        column = np.uint32(place // np.uint32(events))
        slot = np.uint32(batch[np.uint32(np.uint32(slots_at) + column)])
        value = values[place]
        code = _MISSING
        if value == value:
            code = _code(value, slot, facts, constants, equal, gap)
        batch[np.uint32(np.uint32(out_at) + place)] = code
        place = np.uint32(place + np.uint32(cuda.gridsize(1)))


@launched
def code_moments(values, columns, events, batch, slots_at, out_at, facts, constants, equal, gap):
    """The same for columns of moments."""
    place = np.uint32(cuda.grid(1))
    end = np.uint32(np.uint32(columns) * np.uint32(events))
    while place < end:
        column = np.uint32(place // np.uint32(events))
        slot = np.uint32(batch[np.uint32(np.uint32(slots_at) + column)])
        value = values[place]
        code = _MISSING
        if value != _NO_MOMENT:
            code = _code(value, slot, facts, constants, equal, gap)
        batch[np.uint32(np.uint32(out_at) + place)] = code
        place = np.uint32(place + np.uint32(cuda.gridsize(1)))


@launched
def look_up_codes(columns, events, batch, tables_at, rows_at, out_at):
    """Write the codes of columns whose distinct values the host has encoded.

    At `tables_at` is where the table of each column begins, and at `rows_at` the place of each row
    in its table, or a number below zero for null.
    """
    place = np.uint32(cuda.grid(1))
    end = np.uint32(np.uint32(columns) * np.uint32(events))
    while place < end:
        column = np.uint32(place // np.uint32(events))
        table = np.uint32(batch[np.uint32(np.uint32(tables_at) + column)])
        row = batch[np.uint32(np.uint32(rows_at) + place)]
        code = _MISSING
        if row >= 0:
            code = batch[np.uint32(table + np.uint32(row))]
        batch[np.uint32(np.uint32(out_at) + place)] = code
        place = np.uint32(place + np.uint32(cuda.gridsize(1)))
