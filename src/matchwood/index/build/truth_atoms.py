"""Tests of the truth of predicates that are sets of codes, as sets of codes themselves.

Of a predicate that is true of the intervals I of a family, an atom stands for each test. Beside it
stands its exact complement, as its negation:

    is true       the intervals I                     is not true     all other codes
    is not false  I, and all codes that are not       is false        the rest of the family
                  of the family
    is unknown    all codes that are not of the       is not unknown  the family
                  family

All codes are those of missing values and of other families, too. Of a list no predicate is unknown,
so of its values those of the family alone count: for that the second and third keep their family,
which says where an interval is true of a value in a list.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from matchwood.index.build.atom_codes import AtomArrays
from matchwood.kernels.array_types import Int64Array
from matchwood.kernels.records import MISSING

# Intervals of codes, in order.
Intervals = list[tuple[int, int]]


def with_tests(arrays: AtomArrays, tests: Sequence[str | None], codes: Int64Array) -> AtomArrays:
    """The atoms, some of which are those of tests; `codes` counts the codes of each slot."""
    tested = [atom for atom, test in enumerate(tests) if test is not None]
    if not tested:
        return arrays
    start = arrays.start.tolist()
    intervals: dict[int, Intervals] = {}
    for atom in tested:
        last = int(codes[arrays.slot[atom]]) - 1
        mine = range(start[atom], start[atom + 1])
        found = [(int(arrays.low[i]), int(arrays.high[i])) for i in mine]
        if tests[atom] == "true":
            arrays.family_low[atom], arrays.family_high[atom] = MISSING, last
        else:
            first, end = int(arrays.family_low[atom]), int(arrays.family_high[atom])
            found = _with_others(found, first, end, last)
        intervals[atom] = found
    return _with_intervals(arrays, intervals)


def _with_others(intervals: Intervals, first: int, end: int, last: int) -> Intervals:
    """The intervals, and all codes up to `last` that are not of the family first..end."""
    if first > end:
        return [(MISSING, last)]
    joined: Intervals = []
    for low, high in [(MISSING, first - 1), *intervals, (end + 1, last)]:
        if joined and joined[-1][1] + 1 == low:
            joined[-1] = joined[-1][0], high
        elif low <= high:
            joined.append((low, high))
    return joined


def _with_intervals(arrays: AtomArrays, intervals: dict[int, Intervals]) -> AtomArrays:
    """The atoms, where some have other intervals."""
    counts = np.diff(arrays.start)
    owner = np.repeat(np.arange(len(counts)), counts)
    kept = ~np.isin(owner, list(intervals))
    new = [(atom, *interval) for atom, mine in intervals.items() for interval in mine]
    more = np.array(new, np.int64).reshape(-1, 3)
    owner = np.r_[owner[kept], more[:, 0]]
    low, high = np.r_[arrays.low[kept], more[:, 1]], np.r_[arrays.high[kept], more[:, 2]]
    order = np.lexsort((low, owner))
    start = np.r_[0, np.cumsum(np.bincount(owner, minlength=len(counts)))]
    return arrays._replace(
        start=start.astype(np.int32),
        low=low[order].astype(np.int32),
        high=high[order].astype(np.int32),
    )
