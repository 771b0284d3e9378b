"""Columns of a table that a card turns into codes by itself: distinct values, numbers and times.

Where a card would not mean exactly the same, the processor encodes: integers that doubles may not
hold, and times outside of what 64 bits hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.kernels.records import MISSING, NO_MOMENT
from matchwood.language.values import Family, Time
from matchwood.match.event.encode import Coder


class LookedUpCodes(NamedTuple):
    """The codes of a column by its distinct values."""

    table: Int32Array  # of each distinct value, and behind them MISSING
    rows: Int32Array  # of each row its value, or -1 for null

    def cut(self, low: int, high: int) -> Int32Array:
        """The codes of the rows low..high.

        >>> LookedUpCodes(np.array([5, 7, 0]), np.array([1, -1, 0, 1])).cut(0, 3).tolist()
        [7, 0, 5]
        """
        codes: Int32Array = self.table[self.rows[low:high]]
        return codes


class MomentTable(NamedTuple):
    """The codes of moments, in nanoseconds, in a second slot."""

    moments: Int64Array  # those that rules name, in ascending order
    equal: Int64Array  # the code of each
    gap: Int64Array  # the code before each, and behind the last one


def moment_table(coder: Coder) -> MomentTable:
    """The moments that rules compare an attribute with; those beyond 64 bits are before or behind
    all others."""
    assert coder.time is not None, "only a second slot has moments"
    constants = coder.time.constants.get(Family.TIME, [])
    all_moments = [constant.ns for constant in constants if isinstance(constant, Time)]
    before = sum(moment <= NO_MOMENT for moment in all_moments)
    inside = [moment for moment in all_moments if NO_MOMENT < moment < 1 << 63]
    if Family.TIME not in coder.time.first:  # it has addresses alone
        none = np.empty(0, np.int64)
        return MomentTable(none, none, np.array([MISSING], np.int64))
    gap = coder.time.first[Family.TIME] + 2 * (before + np.arange(len(inside) + 1))
    return MomentTable(np.array(inside, np.int64), gap[:-1] + 1, gap)


class Moments(NamedTuple):
    """A column of times as moments."""

    moments: Int64Array  # of each row; NO_MOMENT for null
    table: MomentTable

    def cut(self, low: int, high: int) -> Int32Array:
        """The codes of the rows low..high."""
        asked = self.moments[low:high]
        place = np.searchsorted(self.table.moments, asked)
        codes = self.table.gap[place]
        inside = np.flatnonzero(place < len(self.table.moments))
        same = inside[self.table.moments[place[inside]] == asked[inside]]
        codes[same] = self.table.equal[place[same]]
        codes[asked == NO_MOMENT] = MISSING
        return codes.astype(np.int32)


# The codes of a column: as they are, or as something that gives those of some rows.
ColumnOfCodes = Int32Array | LookedUpCodes | Moments


def as_array(codes: ColumnOfCodes) -> Int32Array:
    """The codes of all rows."""
    if isinstance(codes, LookedUpCodes):
        return codes.cut(0, len(codes.rows))
    return codes.cut(0, len(codes.moments)) if isinstance(codes, Moments) else codes


class CardColumns(NamedTuple):
    """Some rows of such columns; theirs are the last slots of the batch, in this order."""

    looked_up: list[LookedUpCodes]
    numbers: int  # how many columns of numbers there are
    write_doubles: Callable[[NDArray[np.float64]], bool]  # a row for each; whether they are exact
    write_codes: Callable[[Int32Array], None]  # the codes of numbers, for when they are not
    moments: list[Int64Array]  # NO_MOMENT for null
    other_codes: Callable[[], Int32Array]  # those of the slots before these columns

    @property
    def searched(self) -> int:
        """How many columns are numbers or times, of which each value is searched for."""
        return self.numbers + len(self.moments)
