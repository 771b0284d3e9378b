"""Push lists: their counts, in one word or in three, and lists that are one group."""

import numpy as np
import pytest

from matchwood.kernels.compiled import compiled
from matchwood.kernels.pushes import (
    HEAD,
    MOST_GROUPS,
    MOST_ORS,
    MOST_RANGES,
    NO_LIST,
    WIDE,
    WIDE_HEAD,
    fit_one_word,
    group_of_list,
    list_bounds,
    may_have_ranges,
    pack_counts,
    pack_group,
    unpack_counts,
)

MOST = (MOST_RANGES, MOST_ORS, MOST_GROUPS)
COUNTS = [(0, 0, 1), (1, 0, 0), (0, 1, 0), (3, 2, 1), (MOST_RANGES, 0, 0), (0, MOST_ORS, 0), MOST]


@pytest.mark.parametrize("counts", COUNTS)
def test_counts(counts):
    assert fit_one_word(*counts)
    word = pack_counts(*counts)
    assert 0 <= word < 1 << 31
    assert unpack_counts(word) == counts
    assert may_have_ranges(word) == (counts[0] > 0)


@pytest.mark.parametrize("field", range(3))
def test_counts_that_do_not_fit(field):
    counts = [0, 0, 0]
    counts[field] = MOST[field] + 1
    assert not fit_one_word(*counts)
    assert may_have_ranges(WIDE)


def test_whole_arrays():
    columns = np.array(COUNTS, np.int32).T
    assert fit_one_word(*columns).all()
    assert np.array_equal(np.stack(unpack_counts(pack_counts(*columns))), columns)


def bounds(at, head, ranges, ors, groups):
    begin = at + head
    return begin, begin + 2 * ranges, begin + 2 * ranges + ors, begin + 2 * ranges + ors + groups


@compiled
def _bounds(pushes, at):
    return list_bounds(pushes, at)


@pytest.mark.parametrize("counts", COUNTS)
def test_bounds(counts):
    short = np.array([7, 7, -1, pack_counts(*counts)], np.int32)
    wide = np.array([7, 7, -1, WIDE, *counts], np.int32)
    assert list_bounds(short, 2) == _bounds(short, 2) == bounds(2, HEAD, *counts)
    assert list_bounds(wide, 2) == _bounds(wide, 2) == bounds(2, WIDE_HEAD, *counts)


@pytest.mark.parametrize("group", [0, 1, (1 << 31) - 2])
def test_one_group(group):
    position = pack_group(group)
    assert -(1 << 31) <= position < NO_LIST
    assert group_of_list(position) == group
