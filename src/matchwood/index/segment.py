"""A segment: the rules of one build, in arrays that are never written again.

Rules have ordinals in a segment, in an order that the build chose; what belongs to a rule (its
id, text, tags, priority) is kept by ordinal outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.index.arrange import Arranged, arrange
from matchwood.index.atoms import LAZY, AtomArrays, Atoms, Slot, kind_of
from matchwood.index.build import Progress, gather, no_collection
from matchwood.index.nodes import Shared, share
from matchwood.index.reuse import narrow, reuse
from matchwood.index.statistics import Statistics, probabilities
from matchwood.language.errors import RuleError
from matchwood.language.tree import Node
from matchwood.operators.residue import calls_of

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """One layout for all kernels: contiguous and read-only, so that each is compiled once."""
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array


def atom_rows(atoms: AtomArrays) -> Ints:
    """Atom by atom: slot, family's first and last code, bounds of its intervals, kind, opaque."""
    bounds = (atoms.start[:-1], atoms.start[1:])
    columns = (atoms.slot, atoms.family_low, atoms.family_high, *bounds, atoms.kind, atoms.opaque)
    return read_only(np.stack([column.astype(np.int32) for column in columns], 1))


class Built(NamedTuple):
    """A segment, which given rule each ordinal is, and the rules that were refused.

    Of the given rules that call operators, `costly` has the trees.
    """

    segment: Segment
    order: Longs
    refused: list[tuple[int, RuleError]]
    costly: dict[int, Node]


class Segment:
    """Immutable: slots with their constants, atoms, and the arranged tree.

    `costly` are the ordinals of rules that call `operators`: the segment finds those that are
    true without a call, and `match.costly` the others.
    """

    def __init__(
        self,
        slots: list[Slot],
        atoms: AtomArrays,
        opaque: list[Node],
        tree: Arranged,
        rules: int,
        costly: Ints | None = None,
        operators: Sequence[str] = (),
    ) -> None:
        self.slots = slots
        self.rows = atom_rows(atoms)
        # one copy of the atoms: the columns are views of the rows that kernels read
        slot, family_low, family_high, _, _, kind, number = self.rows.T
        start, low, high = (read_only(array) for array in (atoms.start, atoms.low, atoms.high))
        self.atoms = AtomArrays(slot, family_low, family_high, start, low, high, kind, number)
        self.opaque = opaque
        self.tree = Arranged(*(read_only(array) for array in tree))
        self.rules = rules
        self.first = 2 * len(atoms.slot)
        self.codes = np.array([slot.codes for slot in slots], np.int32)
        self.costly = read_only(np.empty(0, np.int32) if costly is None else costly)
        self.operators = tuple(operators)
        self.lazy = [number for number, node in enumerate(opaque) if kind_of(node) == LAZY]

    @property
    def nodes(self) -> int:
        return len(self.tree.group_of)

    @property
    def bytes(self) -> int:
        """Bytes of the index: arrays that kernels read, rule texts and ids aside."""
        arrays = (*self.tree, self.rows, self.atoms.start, self.atoms.low, self.atoms.high)
        return sum(array.nbytes for array in arrays)


def build(
    rules: Sequence[object],
    statistics: Statistics | None = None,
    progress: Progress | None = None,
) -> Built:
    """Build a segment of all rules that are well formed."""
    atoms = Atoms()
    with no_collection():
        gathered = gather(rules, atoms, progress)
        arrays, number, opaque = atoms.seal()
        shared = shared_nodes(gathered.program, gathered.start, number)
        chance = probabilities(arrays, atoms.slots, statistics)
        codes = np.array([slot.codes for slot in atoms.slots], np.int32)
        tree, order = arrange(shared, arrays, codes, chance)
    given = gathered.accepted[order]
    costly = np.flatnonzero(np.isin(given, list(gathered.costly))).astype(np.int32)
    trees = gathered.costly.values()
    names = sorted({call.name for one in trees for call in calls_of(one)})
    segment = Segment(atoms.slots, arrays, opaque, tree, len(order), costly, names)
    return Built(segment, given, gathered.refused, gathered.costly)


def shared_nodes(program: Ints, start: Longs, number: Ints) -> Shared:
    """The nodes of programs whose atoms are renumbered."""
    literals = program >= 0
    program[literals] = 2 * number[program[literals] >> 1] + (program[literals] & 1)
    return narrow(reuse(share(program, start, len(number))))
