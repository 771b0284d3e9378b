"""A segment: the rules of one build, in arrays that are never written again.

Rules are numbered by ordinals, in an order that the build chooses. What belongs to a rule (its id,
text, tags, priority) is kept outside, by ordinal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.arrange import Arranged, arrange
from matchwood.index.build.atom_codes import AtomArrays
from matchwood.index.build.atoms import AtomTable, kind_of
from matchwood.index.build.gc_pause import collection_paused
from matchwood.index.build.guards import guarded
from matchwood.index.build.packed_atoms import PackedAtoms, pack_atoms, unpack_atoms
from matchwood.index.build.reuse import narrow, reuse
from matchwood.index.build.rule_programs import (
    GatheredPrograms,
    Progress,
    gather,
    gather_trees,
)
from matchwood.index.build.shared_nodes import SharedNodes, share
from matchwood.index.build.slots import Slot
from matchwood.index.build.statistics import Statistics, probabilities
from matchwood.index.build.threads import available_cores
from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.kernels.programs import atom_of, is_negated, pack_literal
from matchwood.kernels.records import LAZY
from matchwood.language.errors import RuleError
from matchwood.language.tree import Node
from matchwood.operators.residue import calls_of


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """The array as all kernels expect it, contiguous and read-only: each is then compiled once."""
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array


def atom_rows(atoms: AtomArrays) -> Int32Array:
    """One row per atom that says everything, with the columns that `kernels.records` names."""
    bounds = (atoms.start[:-1], atoms.start[1:])
    columns = (atoms.slot, atoms.family_low, atoms.family_high, *bounds, atoms.kind, atoms.opaque)
    return np.ascontiguousarray(np.stack([column.astype(np.int32) for column in columns], 1))


class Built(NamedTuple):
    """A segment, the position of each ordinal's rule among those given, and the refused rules.

    `costly` has the trees of the given rules that call operators.
    """

    segment: Segment
    order: Int64Array
    refused: list[tuple[int, RuleError]]
    costly: dict[int, Node]


class Segment:
    """Slots with their constants, atoms, and the arranged nodes; immutable.

    `costly` are the ordinals of rules that call `operators`. The segment finds those that are true
    without a call; the others are decided by `operators.deciding`.
    """

    def __init__(
        self,
        slots: list[Slot],
        packed: PackedAtoms,
        opaque: list[Node],
        tree: Arranged,
        rules: int,
        costly: Int32Array | None = None,
        operators: Sequence[str] = (),
    ) -> None:
        self.slots = slots
        self.packed = PackedAtoms(*(read_only(array) for array in packed))
        self.opaque = opaque
        self.tree = Arranged(*(read_only(array) for array in tree))
        self.rules = rules
        self.first = 2 * packed.atoms
        self.codes = np.array([slot.codes for slot in slots], np.int32)
        self.costly = read_only(np.empty(0, np.int32) if costly is None else costly)
        self.operators = tuple(operators)
        self.lazy = [number for number, node in enumerate(opaque) if kind_of(node) == LAZY]

    @property
    def atoms(self) -> AtomArrays:
        """The atoms, unpacked."""
        return unpack_atoms(self.packed)

    @property
    def nodes(self) -> int:
        return self.tree.nodes

    @property
    def bytes_of_arrays(self) -> dict[str, int]:
        """Bytes of each array that kernels read, without the texts and ids of rules."""
        arrays = self.tree._asdict() | self.packed._asdict()
        return {name: array.nbytes for name, array in arrays.items()}

    @property
    def bytes(self) -> int:
        """Bytes of all these arrays."""
        return sum(self.bytes_of_arrays.values())


def build(
    rules: Sequence[object],
    statistics: Statistics | None = None,
    progress: Progress | None = None,
    threads: int | None = None,
) -> Built:
    """Build a segment of all rules that are well formed; the others are refused.

    `threads` is how many threads are used, all cores by default. The segment is the same however
    many they are.
    """
    if threads is None:
        threads = available_cores()
    atoms = AtomTable()
    with collection_paused():
        gathered = gather(rules, atoms, progress, threads)
        return _arranged(gathered, atoms, statistics, threads)


def build_trees(trees: Iterable[Node]) -> Built:
    """Build a segment of rules about elements, given as trees that are parts of other rules."""
    atoms = AtomTable()
    with collection_paused():
        return _arranged(gather_trees(trees, atoms), atoms, None, 1)


def _arranged(
    gathered: GatheredPrograms, atoms: AtomTable, statistics: Statistics | None, threads: int
) -> Built:
    gathered = guarded(gathered, atoms)
    arrays, number, opaque = atoms.seal()
    shared = shared_nodes(gathered.program, gathered.start, number)
    chance = probabilities(arrays, atoms.slots, statistics)
    codes = np.array([slot.codes for slot in atoms.slots], np.int32)
    tree, order = arrange(shared, arrays, codes, chance, threads)
    positions = gathered.accepted[order]
    costly = np.flatnonzero(np.isin(positions, list(gathered.costly))).astype(np.int32)
    names = sorted({call.name for rule in gathered.costly.values() for call in calls_of(rule)})
    segment = Segment(atoms.slots, pack_atoms(arrays), opaque, tree, len(order), costly, names)
    return Built(segment, positions, gathered.refused, gathered.costly)


def shared_nodes(program: Int32Array, start: Int64Array, number: Int32Array) -> SharedNodes:
    """The shared nodes of programs, whose atoms get their new numbers first, in place."""
    literals = program >= 0
    old = program[literals]
    program[literals] = pack_literal(number[atom_of(old)], is_negated(old))
    return narrow(reuse(share(program, start, len(number))))
