"""How many predicates of each rule would have to become true before the rule matches."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled
from matchwood.kernels.programs import pack_literal
from matchwood.kernels.pushes import last_group
from matchwood.kernels.records import (
    FAMILY_COLUMNS,
    FAMILY_FIRST,
    FAMILY_LAST,
    FAMILY_SLOT,
    GROUP,
    LITERAL,
    ROW_FAMILY,
    ROW_OPAQUE,
    ROW_START,
    header_inline,
    header_is_and,
    header_is_root,
    header_push,
    header_rest,
    is_several,
    record_end,
    reference_at,
    word_high,
    word_literal,
    word_low,
    word_slot,
)

# The distance of a rule that is no near miss: one that matches, is never true, or was removed. Sums
# of distances stop here.
FAR = 1 << 30


@compiled
def group_distances(records, pushes, first, literal_lacks, codes, literal_group, groups):
    """The distance of each group: the sum over the operands of an `and`, the least of an `or`.

    literal_lacks[ref] is 1 if a literal is not true of the event; codes below 0 are lists.
    """
    distance = np.empty(len(records), np.int32)  # by where the record starts
    of_group = np.full(groups, FAR, np.int32)
    at = 0
    while at < len(records):
        header = records[at]
        is_and = header_is_and(header)
        inline_end = at + 1 + header_inline(header)
        total = np.int64(0) if is_and else np.int64(FAR)
        for k in range(at + 1, inline_end):
            word = records[k]
            if is_several(word):
                mine = np.int64(literal_lacks[word_literal(word)])
            else:
                code = codes[word_slot(word)]
                mine = np.int64(not word_low(word) <= code <= word_high(word))
            total = min(total + mine, FAR) if is_and else min(total, mine)
        for number in range(header_rest(header)):
            ref = reference_at(records, inline_end, number)
            mine = np.int64(literal_lacks[ref] if ref < first else distance[ref - first])
            total = min(total + mine, FAR) if is_and else min(total, mine)
        distance[at] = total
        if header_is_root(header):
            of_group[last_group(pushes, header_push(header))] = total
        at = record_end(at, header)
    for i in range(len(literal_group)):
        of_group[literal_group[i, GROUP]] = literal_lacks[literal_group[i, LITERAL]]
    return of_group


@compiled
def lacking_literals(rows, families, low, high, codes):
    """1 for each literal that is not true of the codes; opaque ones are left at 1."""
    count = len(rows) - 1
    lacks = np.ones(2 * count, np.uint8)
    for atom in range(count):
        if rows[atom, ROW_OPAQUE] >= 0:
            continue
        family = FAMILY_COLUMNS * np.int64(rows[atom, ROW_FAMILY])
        code = codes[families[family + FAMILY_SLOT]]
        if code < 0:
            continue
        inside = False
        for i in range(rows[atom, ROW_START], rows[atom + 1, ROW_START]):
            if low[i] <= code <= high[i]:
                inside = True
                break
        there = families[family + FAMILY_FIRST] <= code <= families[family + FAMILY_LAST]
        lacks[pack_literal(atom, 0)] = 0 if inside else 1
        lacks[pack_literal(atom, 1)] = 0 if there and not inside else 1
    return lacks
