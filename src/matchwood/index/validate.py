"""Whether the arrays of an index are fit for kernels, which check nothing themselves.

A file from elsewhere is not trusted, however well its checksums fit. Each check below is one pass
over some of the arrays and relies on those that it waits for; together they make sure that no
kernel reads or writes outside an array, or goes round in circles. They do not make sure that the
answers are right: a forged index may well match what it likes.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import compiled
from matchwood.index.arrange import Arranged
from matchwood.index.atoms import AtomArrays
from matchwood.index.file import IndexFileError
from matchwood.index.layout import (
    ACCESS_SHIFT,
    CODE_MASK,
    INLINE_MASK,
    INLINE_SHIFT,
    LOW_SHIFT,
    NODE_MASK,
    REF_MASK,
    REST_MASK,
    SLOT_MASK,
    SLOT_SHIFT,
)
from matchwood.index.validate_pushes import (
    FINE,
    NONE,
    Lists,
    check_asked,
    check_list_contents,
    check_lists,
    check_stabs,
    check_trees,
    empty_lists,
)

Ints = NDArray[np.int32]


def validate(tree: Arranged, atoms: AtomArrays, codes: Ints, rules: int, opaque: int) -> None:
    """Raise IndexFileError unless kernels can safely read these arrays.

    `codes` is the number of codes of each slot, `opaque` that of predicates that are no intervals.

    >>> from matchwood.index.segment import build
    >>> segment = build(["age >= 18", "age < 13 or tier = 'gold'"]).segment
    >>> validate(segment.tree, segment.atoms, segment.codes, segment.rules, 0)
    >>> validate(segment.tree, segment.atoms, segment.codes, 1, 0)
    Traceback (most recent call last):
    ...
    matchwood.index.file.IndexFileError: holds an index that is not sound: groups of rules, at 2
    """
    _shapes(tree, atoms, codes)
    tree = Arranged(*(_fixed(array) for array in tree))  # type: ignore[arg-type]
    atoms = atoms._replace(kind=atoms.kind.astype(np.int32))  # type: ignore[arg-type]
    atoms = AtomArrays(*(_fixed(array) for array in atoms))  # type: ignore[arg-type]
    codes = _fixed(codes)
    _refuse("levels", check_levels(tree.levels, len(tree.group_of)))
    lists = empty_lists(tree.pushes)
    with ThreadPoolExecutor(2) as beside:  # kernels let other threads run
        walked = beside.submit(_check_lists, tree, lists)
        simple = beside.submit(_check_simple, tree, atoms, codes, rules, opaque)
        found = beside.submit(_check_found, tree, atoms, codes, lists, walked)
        try:
            _check_nodes(tree, codes, 2 * len(atoms.slot), lists, walked)
        finally:
            simple.result()
        found.result()


def _check_simple(tree: Arranged, atoms: AtomArrays, codes: Ints, rules: int, opaque: int) -> None:
    """What no other check relies on."""
    groups, first = len(tree.group_start) - 1, 2 * len(atoms.slot)
    _refuse("atoms", check_atoms(*atoms, codes, opaque))
    _refuse("rows of masks", check_rows(tree.row_literal, first))
    _refuse("groups of rules", check_groups(tree.group_start, rules))
    claims = check_claims(tree.group_of, tree.literal_group, tree.always, groups, first)
    _refuse("groups of nodes and literals", claims)


def _check_lists(tree: Arranged, lists: Lists) -> None:
    walked = check_lists(
        tree.pushes, tree.literal_push, tree.push_at, len(tree.group_start) - 1, _never(tree), lists
    )
    _refuse("push lists", walked)


def _check_found(
    tree: Arranged, atoms: AtomArrays, codes: Ints, lists: Lists, walked: Future[None]
) -> None:
    """What an event finds."""
    walked.result()
    _refuse("stabbing trees", check_trees(tree.tree_at, tree.tree_size, tree.tree_start, codes))
    stabs = check_stabs(
        tree.tree_at, tree.tree_size, tree.tree_start, tree.stab_bound, tree.stab_push,
        tree.literal_push, lists, atoms.slot, atoms.opaque, codes, len(tree.group_start) - 1,
        _never(tree),
    )  # fmt: skip
    _refuse("entries of stabbing trees", stabs)
    asked = check_asked(tree.asked, tree.asked_push, tree.literal_push, atoms.opaque)
    _refuse("literals that are asked", asked)


def _check_nodes(
    tree: Arranged, codes: Ints, first: int, lists: Lists, walked: Future[None]
) -> None:
    """What follows from it."""
    count, groups = len(tree.group_of), len(tree.group_start) - 1
    record_at = np.empty(count, np.int32)
    wakeable = np.zeros(count, np.uint8)  # an `and` with a push list, not yet in a range
    records = check_records(
        tree.records, tree.levels, tree.push_at, codes, tree.row_literal, first, tree.used[0],
        record_at, wakeable,
    )  # fmt: skip
    _refuse("records", records)
    walked.result()
    contents = check_list_contents(
        tree.pushes, lists, tree.records, record_at, wakeable, groups, _never(tree)
    )
    _refuse("contents of push lists", contents)


def _never(tree: Arranged) -> int:
    """The group that no push list may name, because it is true anyway; -1 for none."""
    return int(tree.always[0]) if len(tree.always) else -1


def _refuse(what: str, place: int) -> None:
    if place != FINE:
        raise IndexFileError(f"holds an index that is not sound: {what}, at {place}")


def _fixed(array: NDArray[Any]) -> NDArray[Any]:
    """One type for every kernel: contiguous and read-only."""
    array = np.ascontiguousarray(array).view()
    array.flags.writeable = False
    return array


def _shapes(tree: Arranged, atoms: AtomArrays, codes: Ints) -> None:
    """Types, dimensions, and lengths that have to agree."""
    long = ("records", "literal_group")
    arrays: dict[str, NDArray[Any]] = tree._asdict() | atoms._asdict() | {"codes": codes}
    for name, array in arrays.items():
        dtype = np.int64 if name in long else np.int32
        shape = array.shape[:1] if name != "literal_group" else (*array.shape[:1], 2)
        narrow = name == "kind" and array.dtype == np.uint8
        if (array.dtype != dtype and not narrow) or array.ndim == 0 or array.shape != shape:
            raise IndexFileError(f"holds {name} as {array.dtype} of shape {array.shape}")
    same = [
        ("group_of", "push_at"),
        ("stab_bound", "stab_push"),
        ("asked", "asked_push"),
        ("tree_at", "tree_size", "codes"),
        ("slot", "family_low", "family_high", "kind", "opaque"),
        ("low", "high"),
    ]
    lengths = {name: len(array) for name, array in arrays.items()}
    for names in same:
        if len({lengths[name] for name in names}) > 1:
            raise IndexFileError(f"holds arrays of different lengths: {', '.join(names)}")
    atom_count = lengths["slot"]
    lacking = not lengths["tree_start"] or not lengths["group_start"] or lengths["used"] != 1
    if lacking or (lengths["start"], lengths["literal_push"]) != (atom_count + 1, 2 * atom_count):
        raise IndexFileError("holds arrays whose lengths do not fit together")


@compiled
def check_atoms(slot, family_low, family_high, start, low, high, kind, opaque, codes, opaques):
    """Atoms in order of slots; families and intervals inside the codes, intervals sorted, apart
    and inside their family; opaque atoms numbered in order, so that no number is taken twice."""
    if start[0] != 0 or start[-1] != len(low):
        return len(slot)
    numbered = 0
    last = 0
    for i in range(len(slot)):
        if slot[i] < last or slot[i] >= len(codes) or start[i] > start[i + 1]:
            return i
        last = slot[i]
        size = codes[slot[i]]
        if family_low[i] < 0 or family_low[i] > size or not -1 <= family_high[i] < size:
            return i
        below = family_low[i] - 1
        for j in range(start[i], min(start[i + 1], len(low))):
            if low[j] <= below or high[j] < low[j] or high[j] > family_high[i]:
                return i
            below = high[j]
        if opaque[i] == -1:
            if kind[i] != 0:
                return i
        elif opaque[i] != numbered or not 1 <= kind[i] <= 2 or start[i] != start[i + 1]:
            return i
        else:
            numbered += 1
    return FINE if numbered == opaques else len(slot)


@compiled
def check_rows(row_literal, first):
    """Rows are of literals; two of one literal would do no harm."""
    for i in range(len(row_literal)):
        if row_literal[i] < 0 or row_literal[i] >= first:
            return i
    return FINE


@compiled
def check_levels(levels, count):
    """From 0 to the number of nodes; a level is never empty."""
    if len(levels) == 0 or levels[0] != 0 or levels[-1] != count:
        return len(levels)
    for i in range(1, len(levels)):
        if levels[i] <= levels[i - 1]:
            return i
    return FINE


@compiled
def check_groups(group_start, rules):
    """Groups are not empty, follow each other from 0 on, and have no more rules than there are."""
    if group_start[0] != 0:
        return 0
    for i in range(1, len(group_start)):
        if group_start[i] <= group_start[i - 1] or group_start[i] > rules:
            return i
    return FINE


@compiled
def check_claims(group_of, literal_group, always, groups, first):
    """A group belongs to one node or one literal, or is the one that is always true."""
    taken = np.zeros(groups, np.uint8)
    if len(always) > 1:
        return len(always)
    for group in always:
        if group < 0 or group >= groups:
            return 0
        taken[group] = 1
    for i in range(len(group_of)):
        group = group_of[i]
        if group != -1:
            if group < 0 or group >= groups or taken[group]:
                return i
            taken[group] = 1
    for i in range(len(literal_group)):
        literal, root = literal_group[i, 0], literal_group[i, 1]
        if literal < 0 or literal >= first or root < 0 or root >= groups or taken[root]:
            return i
        taken[root] = 1
    return FINE


@compiled
def check_records(
    records, levels, push_at, codes, row_literal, first, expected, record_at, wakeable
):
    """Records follow each other without gaps, numbered in order; every word of a record is one
    that kernels can follow; references to nodes go to lower levels, so that no stack of kernels
    is deeper than there are levels."""
    count = len(record_at)
    used_at = np.empty(max(0, min(expected, count)), np.int32)  # records that others ask for
    used = 0
    used_below = 0  # how many of them are on lower levels
    level = 0
    at = 0
    for node in range(count):
        if node == levels[level]:
            used_below = used
            level += 1
        if at >= len(records):
            return node
        header = records[at]
        inline = (header >> INLINE_SHIFT) & INLINE_MASK
        inline_end = at + 1 + inline
        end = inline_end + (header & REST_MASK)
        if (header >> 32) & NODE_MASK != node or end > len(records) or end == at + 1:
            return node
        access = (header >> ACCESS_SHIFT) & 3
        if access > 1 or access > inline:
            return node
        for k in range(at + 1, inline_end):
            word = records[k]
            slot = (word >> SLOT_SHIFT) & SLOT_MASK
            if slot >= len(codes):
                return node
            if word < 0:
                row = word & ((1 << SLOT_SHIFT) - 1)
                if row >= len(row_literal):
                    return node
            else:
                high = word & CODE_MASK
                if high >= codes[slot] or (word >> LOW_SHIFT) & CODE_MASK > high + 1:
                    return node
        for k in range(inline_end, end):
            word = records[k]
            ref = word & REF_MASK
            other = word >> 32
            if ref >= first:
                if other < 0 or other >= used_below or used_at[other] != ref - first:
                    return node
            elif other < 0 or other >= len(row_literal) or row_literal[other] != ref:
                return node
        if header < 0:
            if used == len(used_at):
                return node
            used_at[used] = at
            used += 1
        record_at[node] = at
        wakeable[node] = (header >> 31) & 1 and push_at[node] != NONE
        at = end
    return FINE if at == len(records) and used == expected else count
