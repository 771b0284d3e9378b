"""Push lists: what follows when a literal or a node is true, as int32 words, and their codec.

    | source | counts | (record, length)… | push lists of `or`s… | groups… |

`source` is what `records.state_of_record` says of the node that the list belongs to, or -1 for a
literal. Each pair (record, length) is a range of `and` records to check, which lie one after the
other; then follow the push lists of `or` nodes that become true, and the groups of rules that
match. The word `counts` says how many there are of each kind:

    | 0: 1 bit | ranges: 10 bits | ors: 10 bits | groups: 11 bits |

A list with more than MOST_RANGES, MOST_ORS or MOST_GROUPS has WIDE in place of the counts, and
after it the three counts in words of their own.

A list that consists of one group is not written out. Wherever the position of a list is stored,
-2 - group stands in its place, and NO_LIST where there is no list at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.kernels.compiled import codec

# In place of the position of a push list: there is none.
NO_LIST = -1

# In place of `counts`: three words follow with one count each.
WIDE = -1

# Words before the entries of a list: its source and its counts.
HEAD = 2

# Words before the entries of a list whose counts have words of their own.
WIDE_HEAD = 5

# Columns of arrays that have the counts of one list per row.
COUNT_COLUMNS = 3
RANGES, ORS, GROUPS = range(COUNT_COLUMNS)

# Bits of the word `counts` that hold the number of ranges.
_RANGE_BITS = 10

# Bits of the word `counts` that hold the number of `or`s.
_OR_BITS = 10

# Bits of the word `counts` that hold the number of groups.
_GROUP_BITS = 11

# Ranges of a list whose counts fit into one word, at most.
MOST_RANGES = (1 << _RANGE_BITS) - 1

# `or`s of a list whose counts fit into one word, at most.
MOST_ORS = (1 << _OR_BITS) - 1

# Groups of a list whose counts fit into one word, at most.
MOST_GROUPS = (1 << _GROUP_BITS) - 1


@codec
def fit_one_word(ranges: Any, ors: Any, groups: Any) -> Any:
    """Whether counts fit into one word.

    >>> fit_one_word(1023, 1023, 2047), fit_one_word(1024, 0, 0)
    (True, False)
    """
    return (ranges <= MOST_RANGES) & (ors <= MOST_ORS) & (groups <= MOST_GROUPS)


@codec
def pack_counts(ranges: Any, ors: Any, groups: Any) -> Any:
    """The word `counts` of a list; the counts must fit (`fit_one_word`)."""
    return ranges << (_OR_BITS + _GROUP_BITS) | ors << _GROUP_BITS | groups


@codec
def unpack_counts(counts: Any) -> Any:
    """(ranges, ors, groups) of a word `counts` that is not WIDE.

    >>> unpack_counts(pack_counts(3, 2, 1))
    (3, 2, 1)
    """
    ors = (counts >> _GROUP_BITS) & MOST_ORS
    return counts >> (_OR_BITS + _GROUP_BITS), ors, counts & MOST_GROUPS


@codec
def list_bounds(pushes: Any, at: Any) -> Any:
    """Where the ranges of the list at `at` begin and end, its `or`s end, and its groups end."""
    counts = np.int64(pushes[at + 1])
    if counts >= 0:
        ranges, ors, groups = unpack_counts(counts)
        begin = at + HEAD
    else:
        ranges, ors, groups = (
            np.int64(pushes[at + 2]),
            np.int64(pushes[at + 3]),
            np.int64(pushes[at + 4]),
        )
        begin = at + WIDE_HEAD
    ranges_end = begin + 2 * ranges
    ors_end = ranges_end + ors
    return begin, ranges_end, ors_end, ors_end + groups


@codec
def pack_group(group: Any) -> Any:
    """What stands in place of a list that consists of one group.

    >>> pack_group(0), group_of_list(-2)
    (-2, 0)
    """
    return -2 - group


@codec
def group_of_list(position: Any) -> Any:
    """The group that is the whole of a list, given its position, which is below NO_LIST."""
    return -2 - position


@codec
def last_group(pushes: Any, position: Any) -> Any:
    """The last group of a push list that has one, given its position or what stands in its place.

    >>> last_group([], pack_group(5)), int(last_group([-1, pack_counts(0, 0, 2), 7, 8], 0))
    (5, 8)
    """
    if position < 0:
        return group_of_list(position)
    return np.int64(pushes[list_bounds(pushes, position)[3] - 1])


@codec
def may_have_ranges(counts: Any) -> Any:
    """Whether the word `counts` says that there are ranges, or is WIDE and leaves it open."""
    return counts >> (_OR_BITS + _GROUP_BITS) != 0
