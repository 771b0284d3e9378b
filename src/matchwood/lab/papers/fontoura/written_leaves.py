"""Rules as they were written, down to conjunctions at one depth (Fontoura et al. 2010, §5).

The trees of the paper have an AND at the root, level 0, then an OR and an AND in turn, and leaves
that are conjunctions. A text does not say where a tree ends and a conjunction begins: both are
`and`. Here the depth of the leaves says it. An AND of nothing but predicates is a leaf if it lies
at that depth or deeper, and an AND with a leaf for each predicate if it lies above. Elsewhere a
predicate is a conjunction of size 1. Operands stay in the order of the text.

The paper's Figure 2 is of depth 3: below the AND that is put on top and the OR, `A and B` is an AND
at level 2.

    (A and B) or C or (D and E and F)     1*.1.1, 1*.1.2*, 1*.2, 1*.3.1, 1*.3.2, 1*.3.3*

`leaves` takes all predicates of an AND as one leaf instead, which makes fewer and longer ones. An
operator inside one of its own kind is an operand of one of the other kind, of which it is the only
operand. Negation is pushed to the predicates; a rule with `xor`, `xnor` or a constant, which the
paper does not have, is taken in the form that the other algorithms take.
"""

from __future__ import annotations

import numpy as np

from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.lab.papers.fontoura import written_leaves_kernels as kernels
from matchwood.lab.papers.fontoura.conjunction_index import Conjunctions
from matchwood.lab.papers.fontoura.leaves import Leaves
from matchwood.lab.papers.shared.forms import Forms, forms


def written_leaves(program: Int32Array, start: Int64Array, atoms: int, depth: int) -> Leaves:
    """The trees of rules down to conjunctions at a depth, from postfix programs over atoms."""
    if depth < 1:
        raise ValueError(f"depth is {depth}, expected at least 1: the root is no conjunction")
    return _down_to(depth, _written(program, start, forms(program, start, atoms)))


def _written(program: Int32Array, start: Int64Array, plain: Forms) -> Forms:
    """Rules in prefix order, as they were written."""
    words = np.empty(len(program) + len(plain.words), np.int32)
    out_start = np.zeros(len(start), np.int64)
    used = kernels.write(program, start, plain.words, plain.start, words, out_start)
    return Forms(words[:used].copy(), out_start)


def _down_to(depth: int, written: Forms) -> Leaves:
    """The leaves of trees in prefix order."""
    room = len(written.words)
    words = np.empty(2 * room, np.int32)
    start = np.zeros(len(written.start), np.int64)
    literals = np.empty(room, np.int32)
    leaf_start = np.zeros(room + 1, np.int64)
    used, leaf = kernels.leaves_at(depth, *written, words, start, leaf_start, literals)
    leaf_start = leaf_start[: leaf + 1].copy()
    return Leaves(
        words[:used].copy(), start, Conjunctions(leaf_start, literals[: leaf_start[-1]].copy())
    )
