"""Whether the arrays of an index are safe for kernels, which check nothing themselves.

A file from elsewhere is not trusted, even if its checksums are right. Each check is one pass over
some of the arrays and relies on the checks that it waits for. Together they make sure that no
kernel reads or writes outside an array, or loops for ever. They do not make sure that the answers
are right: a forged index may match whatever it likes.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.arrange import Arranged
from matchwood.index.build.atom_codes import AtomArrays
from matchwood.index.build.packed_atoms import PackedAtoms, unpack_atoms
from matchwood.index.build.threads import available_cores, in_threads, pieces_of
from matchwood.index.file.array_file import IndexFileError
from matchwood.index.file.check_kernels import (
    check_atoms,
    check_claims,
    check_groups,
    check_levels,
    check_records,
    locate_nodes,
    number_states,
)
from matchwood.index.file.push_list_check_kernels import (
    FINE,
    Lists,
    check_asked,
    check_list_contents,
    check_lists,
    check_stabs,
    check_trees,
)
from matchwood.kernels.array_types import Int32Array, UInt8Array
from matchwood.kernels.records import FAMILY_COLUMNS, ROW_COLUMNS, ROW_FAMILY, ROW_OPAQUE

# Numbers in each row of the arrays that have rows.
_WIDTHS = {"literal_group": (2,), "rows": (ROW_COLUMNS,)}


def validate(
    tree: Arranged, packed: PackedAtoms, codes: Int32Array, rules: int, opaque: int
) -> None:
    """Raise IndexFileError unless kernels can safely read these arrays.

    `codes` is the number of codes of each slot; `opaque` is the number of predicates that are not
    sets of codes.

    >>> from matchwood.index.build.segment import build
    >>> segment = build(["age >= 18", "age < 13 or tier = 'gold'"]).segment
    >>> validate(segment.tree, segment.packed, segment.codes, segment.rules, 0)
    >>> validate(segment.tree, segment.packed, segment.codes, 1, 0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    matchwood.index.file.array_file.IndexFileError: holds an index that is not sound: groups of...
    """
    _shapes(tree, packed, codes)
    tree = Arranged(*(_fixed(array) for array in tree))
    _check_rows(packed)
    codes = _fixed(codes)
    _refuse("groups of rules", check_groups(tree.group_start, rules))
    with ThreadPoolExecutor(4) as beside:  # kernels release the GIL
        atoms = beside.submit(_fixed_atoms, packed)
        nodes = _nodes(tree)
        roots = tree.nodes + len(tree.literal_group) + len(tree.always)
        if tree.groups > roots:
            raise IndexFileError(f"holds {tree.groups} groups of rules for {roots} roots")
        lists = _empty_lists(tree.pushes)
        walked = beside.submit(_check_lists, tree, nodes, lists)
        simple = beside.submit(_check_simple, tree, atoms, codes, opaque, walked)
        lookups = beside.submit(_check_found, tree, atoms, codes, lists, walked)
        try:
            _check_nodes(tree, nodes, codes, 2 * packed.atoms, lists, walked)
        finally:
            simple.result()
        lookups.result()


class Nodes(NamedTuple):
    """Where the record of each node starts, and where its push list is."""

    record_at: Int32Array
    push_at: Int32Array


def _check_rows(packed: PackedAtoms) -> None:
    """Rows name families that are there, and the last one ends all intervals."""
    family, opaque = packed.rows[:, ROW_FAMILY], packed.rows[:, ROW_OPAQUE]
    families, rest = divmod(len(packed.families), FAMILY_COLUMNS)
    known = (family[:-1] >= 0) & (family[:-1] < families) & (opaque[:-1] >= -1)
    if rest or not known.all() or packed.rows[-1].tolist() != [0, len(packed.low), -1]:
        raise IndexFileError("holds an index that is not sound: rows of atoms")


def _nodes(tree: Arranged) -> Nodes:
    count = int(tree.levels[-1]) if len(tree.levels) else -1
    if not 0 <= count <= len(tree.records):
        raise IndexFileError(f"holds levels of {count} nodes")
    _refuse("levels", check_levels(tree.levels, count))
    nodes = Nodes(np.empty(count, np.int32), np.empty(count, np.int32))
    _refuse("places of records", locate_nodes(tree.records, *nodes))
    return Nodes(*(_fixed(array) for array in nodes))


def _fixed_atoms(packed: PackedAtoms) -> AtomArrays:
    atoms = unpack_atoms(packed)
    atoms = atoms._replace(kind=atoms.kind.astype(np.int32))
    return AtomArrays(*(_fixed(array) for array in atoms))


def _empty_lists(pushes: Int32Array) -> Lists:
    """Room for what `check_lists` finds out."""
    bits = np.zeros(len(pushes) // 8 + 1, np.uint8)
    return Lists(bits, np.zeros(1, np.int64), np.zeros(len(pushes) // 2 + 1, np.int64))


def _check_simple(
    tree: Arranged,
    unpacked: Future[AtomArrays],
    codes: Int32Array,
    opaque: int,
    walked: Future[None],
) -> None:
    """The checks that no other one relies on."""
    atoms = unpacked.result()
    _refuse("atoms", check_atoms(*atoms, codes, opaque))
    walked.result()
    claims = check_claims(
        tree.records, tree.pushes, tree.literal_group, tree.always, tree.groups,
        2 * len(atoms.slot),
    )  # fmt: skip
    _refuse("groups of nodes and literals", claims)


def _check_lists(tree: Arranged, nodes: Nodes, lists: Lists) -> None:
    walked = check_lists(
        tree.pushes, tree.literal_push, nodes.push_at, nodes.record_at, tree.groups, _never(tree),
        lists,
    )  # fmt: skip
    _refuse("push lists", walked)


def _check_found(
    tree: Arranged,
    unpacked: Future[AtomArrays],
    codes: Int32Array,
    lists: Lists,
    walked: Future[None],
) -> None:
    """What an event finds: stabbing trees, and literals that are always asked."""
    atoms = unpacked.result()
    walked.result()
    trees = check_trees(
        tree.tree_at, tree.tree_size, tree.tree_points, tree.tree_start, len(tree.stab_bound), codes
    )
    _refuse("stabbing trees", trees)
    cores = available_cores()
    checks = [
        partial(
            check_stabs, tree.tree_at, tree.tree_size, tree.tree_points, tree.tree_start,
            tree.stab_bound, tree.stab_push, tree.literal_push, lists, atoms.slot, atoms.opaque,
            codes, tree.groups, _never(tree), first, last, np.searchsorted(atoms.slot, first),
        )
        for first, last in _slots_in_pieces(tree, cores)
    ]  # fmt: skip
    for stabs in in_threads(checks, cores):
        _refuse("entries of stabbing trees", stabs)
    asked = check_asked(tree.asked, tree.asked_push, tree.literal_push, atoms.opaque)
    _refuse("literals that are asked", asked)


def _slots_in_pieces(tree: Arranged, pieces: int) -> list[tuple[int, int]]:
    """All slots, in pieces whose trees have about as many entries."""
    entries = tree.tree_start[tree.tree_at]
    begins = [begin for begin, _ in pieces_of(len(tree.stab_push), pieces)][1:]
    bounds = [0, *np.searchsorted(entries, begins).tolist(), len(entries)]
    return list(pairwise(bounds))


def _check_nodes(
    tree: Arranged,
    nodes: Nodes,
    codes: Int32Array,
    first: int,
    lists: Lists,
    walked: Future[None],
) -> None:
    """What follows from it: records, and the contents of push lists."""
    wakeable = np.zeros(tree.nodes, np.uint8)  # an `and` with a push list, not yet in a range
    node_of = _fixed(number_states(tree.records, nodes.record_at))
    cores = available_cores()
    checks = [
        partial(
            check_records, tree.records, *nodes, tree.levels, codes, first, node_of, begin, end,
            wakeable,
        )
        for begin, end in pieces_of(tree.nodes, 4 * cores)  # records differ in length
    ]  # fmt: skip
    for records in in_threads(checks, cores):
        _refuse("records", records)
    walked.result()
    _check_contents(tree, nodes, lists, node_of, wakeable)


def _check_contents(
    tree: Arranged, nodes: Nodes, lists: Lists, node_of: Int32Array, wakeable: UInt8Array
) -> None:
    cores = available_cores()
    pieces = pieces_of(len(tree.pushes), cores)
    woken = np.zeros((len(pieces), 1), np.int64)
    before = np.count_nonzero(wakeable)
    checks = [
        partial(
            check_list_contents, tree.pushes, lists, tree.records, nodes.record_at, node_of,
            wakeable, tree.groups, _never(tree), *bounds, woken[piece],
        )
        for piece, bounds in enumerate(pieces)
    ]  # fmt: skip
    for contents in in_threads(checks, cores):
        _refuse("contents of push lists", contents)
    if woken.sum() != before - np.count_nonzero(wakeable):  # two pieces had the same node
        _refuse("contents of push lists", len(tree.pushes))


def _never(tree: Arranged) -> int:
    """The group that is always true, which no push list may name; -1 if there is none."""
    return int(tree.always[0]) if len(tree.always) else -1


def _refuse(what: str, place: int) -> None:
    if place != FINE:
        raise IndexFileError(f"holds an index that is not sound: {what}, at {place}")


def _fixed(array: NDArray[Any]) -> NDArray[Any]:
    """The array as every kernel expects it: contiguous and read-only."""
    array = np.ascontiguousarray(array).view()
    array.flags.writeable = False
    return array


def _shapes(tree: Arranged, packed: PackedAtoms, codes: Int32Array) -> None:
    """Check types, dimensions, and lengths that have to agree."""
    long = ("records", "literal_group")
    arrays: dict[str, NDArray[Any]] = tree._asdict() | packed._asdict() | {"codes": codes}
    for name, array in arrays.items():
        dtype = np.int64 if name in long else np.int32
        shape = (*array.shape[:1], *_WIDTHS.get(name, ()))
        if array.dtype != dtype or array.ndim == 0 or array.shape != shape:
            raise IndexFileError(f"holds {name} as {array.dtype} of shape {array.shape}")
    same = [
        ("asked", "asked_push"),
        ("tree_at", "tree_size", "tree_points", "codes"),
        ("low", "high"),
    ]
    lengths = {name: len(array) for name, array in arrays.items()}
    for names in same:
        if len({lengths[name] for name in names}) > 1:
            raise IndexFileError(f"holds arrays of different lengths: {', '.join(names)}")
    lacking = not lengths["tree_start"] or not lengths["group_start"] or not lengths["rows"]
    if lacking or lengths["literal_push"] != 2 * packed.atoms:
        raise IndexFileError("holds arrays whose lengths do not fit together")
