"""How far rules are from matching: the fewest predicates that would have to become true."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import compiled
from matchwood.index.layout import (
    CODE_MASK,
    INLINE_MASK,
    INLINE_SHIFT,
    LOW_SHIFT,
    REF_MASK,
    REST_MASK,
    SLOT_MASK,
    SLOT_SHIFT,
)
from matchwood.language.events import Event
from matchwood.match.encode import encode
from matchwood.match.single import SegmentMatcher

FAR = 1 << 30


@compiled
def _distances(records, count, first, literal_lacks, row_literal, codes, group_of, literal_group, groups):  # fmt: skip  # noqa: E501
    """The distance of each group: what lacks is added up in an `and`, the least in an `or`.

    literal_lacks[ref] is 1 where a literal is not true of the event; codes below 0 are lists.
    """
    distance = np.empty(len(records), np.int32)  # by where the record starts
    of_group = np.full(groups, FAR, np.int32)
    at = 0
    for node in range(count):
        header = records[at]
        is_and = (header >> 31) & 1
        inline_end = at + 1 + ((header >> INLINE_SHIFT) & INLINE_MASK)
        end = inline_end + (header & REST_MASK)
        total = np.int64(0) if is_and else np.int64(FAR)
        for k in range(at + 1, end):
            word = records[k]
            if k < inline_end and word >= 0:
                code = codes[(word >> SLOT_SHIFT) & SLOT_MASK]
                hit = (word >> LOW_SHIFT) & CODE_MASK <= code <= word & CODE_MASK
                mine = np.int64(0 if hit else 1)
            elif k < inline_end:
                mine = np.int64(literal_lacks[row_literal[word & REF_MASK]])
            elif word & REF_MASK < first:
                mine = np.int64(literal_lacks[word & REF_MASK])
            else:
                mine = np.int64(distance[(word & REF_MASK) - first])
            total = min(total + mine, FAR) if is_and else min(total, mine)
        distance[at] = total
        if group_of[node] >= 0:
            of_group[group_of[node]] = total
        at = end
    for i in range(len(literal_group)):
        of_group[literal_group[i, 1]] = literal_lacks[literal_group[i, 0]]
    return of_group


@compiled
def _lacking(rows, low, high, codes):
    """1 for each literal that is not true of the codes; opaque ones are left at 1."""
    lacks = np.ones(2 * len(rows), np.uint8)
    for atom in range(len(rows)):
        if rows[atom, 6] >= 0:
            continue
        code = codes[rows[atom, 0]]
        if code < 0:
            continue
        inside = False
        for i in range(rows[atom, 3], rows[atom, 4]):
            if low[i] <= code <= high[i]:
                inside = True
                break
        there = rows[atom, 1] <= code <= rows[atom, 2]
        lacks[2 * atom] = 0 if inside else 1
        lacks[2 * atom + 1] = 0 if there and not inside else 1
    return lacks


def candidates(matcher: SegmentMatcher, seen: Event, alive: NDArray[np.uint8], n: int) -> list[int]:
    """About n ordinals of rules that are nearest by codes alone, nearest first.

    Lists, patterns and calls count as lacking here; the caller looks at the rules themselves.
    """
    segment = matcher.segment
    tree = segment.tree
    codes: NDArray[Any] = np.zeros(max(1, len(segment.slots)), np.int32)
    encoded, _ = encode(seen, matcher.coders, matcher.patterned)
    codes[encoded.slots] = encoded.codes
    lacks = _lacking(segment.rows, segment.atoms.low, segment.atoms.high, codes)
    groups = len(tree.group_start) - 1
    of_group = _distances(
        tree.records, segment.nodes, segment.first, lacks, tree.row_literal, codes, tree.group_of,
        tree.literal_group, groups,
    )  # fmt: skip
    sizes = np.diff(tree.group_start)
    distance = np.repeat(of_group, sizes)
    never = segment.rules - len(distance)
    distance = np.concatenate([distance, np.full(never, FAR, np.int32)])
    distance[distance == 0] = FAR
    if len(alive):
        distance[alive == 0] = FAR
    wanted = min(n, len(distance))
    nearest = np.argpartition(distance, wanted - 1)[:wanted] if wanted else np.empty(0, np.int64)
    chosen = nearest[np.argsort(distance[nearest], kind="stable")]
    return [int(ordinal) for ordinal in chosen if distance[ordinal] < FAR]
