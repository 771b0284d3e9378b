"""Guards of literals that are evaluated on demand: an event without the attributes asks for none.

A comparison of two attributes or of sums, a look-up in a list with a name, and a rule about the
elements of a list are undefined where an attribute of theirs is null. So in place of such a literal
the index has an `and` of tests that the attributes are there, which codes decide, and of the
literal; and likewise in place of its negation.
"""

from __future__ import annotations

import numpy as np

from matchwood.index.build.atoms import AtomTable
from matchwood.index.build.rule_programs import GatheredPrograms
from matchwood.kernels.array_types import Int64Array
from matchwood.kernels.programs import GUARD, atom_of, pack_operator
from matchwood.language.tree import (
    AttributeComparison,
    Call,
    Elements,
    InList,
    IsNull,
    Node,
    SumComparison,
)
from matchwood.language.tree.arithmetic import Attribute
from matchwood.language.tree.subjects import EVERYTHING


def guarded(gathered: GatheredPrograms, atoms: AtomTable) -> GatheredPrograms:
    """The same programs, with guards before the literals that are evaluated on demand."""
    program = gathered.program
    of_atom = [(number, _guards(node, atoms)) for number, node in list(atoms.opaque.items())]
    most = max((len(mine) for _, mine in of_atom), default=0)
    if most == 0:
        return gathered
    guards = np.zeros((len(atoms), most), np.int32)
    count = np.zeros(len(atoms), np.int64)
    for number, mine in of_atom:
        guards[number, : len(mine)] = mine
        count[number] = len(mine)
    is_literal = program >= 0
    atom = np.where(is_literal, atom_of(program), 0)
    before: Int64Array = np.where(is_literal, count[atom], 0)
    words = before + 1 + (before > 0)  # of each word: its guards, itself, and GUARD
    ends = np.cumsum(words)
    made = np.empty(int(ends[-1]) if len(ends) else 0, np.int32)
    first = ends - words
    made[first + before] = program
    for place in range(most):
        some = np.flatnonzero(before > place)
        made[first[some] + place] = guards[atom[some], place]
    some = np.flatnonzero(before > 0)
    made[ends[some] - 1] = [pack_operator(GUARD, int(those) + 1) for those in before[some]]
    bounds = np.r_[0, ends][gathered.start]
    return gathered._replace(program=made, start=bounds.astype(np.int64))


def _guards(node: Node, atoms: AtomTable) -> list[int]:
    """The literals that are true wherever a predicate or its negation is."""
    return [
        atoms.literal(IsNull(name, True))
        for name in dict.fromkeys(_needed(node))
        if name != EVERYTHING
    ]


def _needed(node: Node) -> tuple[str, ...]:
    """Attributes without which a predicate is undefined, if it is evaluated on demand."""
    match node:
        case AttributeComparison() | SumComparison() | InList():
            return node.subjects
        case Elements():
            return (node.attribute,)
        case Call(name="contains", arguments=(Attribute(), Attribute())):
            return node.subjects
    return ()
