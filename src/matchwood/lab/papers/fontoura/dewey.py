"""Dewey ID (Fontoura et al. 2010, §3): a leaf holds the path to it, by which rules are decided.

The ID of a leaf has a number for each edge on the way down from the root, an AND: which operand it
leads to, from 1 on, and below an AND whether that is the last one (the paper's *). Trees are not
kept: EVALUATEAND and EVALUATEOR (Algorithms 1–3) follow the IDs of the true leaves, in order, and
see from missing numbers, or from a missing *, that an operand of an AND has no true leaf at all.

IDs are packed into 32 bits, as in the paper, from the highest bit on. An operand n of b binary
digits is b ones, a zero and its digits after the first; the * is one more bit, below an AND; zeros
follow. So IDs are ordered as numbers, and begin with a one. Should an ID of a rule take more than
32 bits, all IDs of the rule are in a table, packed alike, with at least one zero after each, and
the 32 bits, which begin with a zero, are a position in it. The annotation of a leaf is one word:
rule and ID.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import Int32Array
from matchwood.lab.papers.fontoura import dewey_kernels as kernels
from matchwood.lab.papers.fontoura.annotation_index import AnnotationIndex, Annotations
from matchwood.lab.papers.fontoura.by_leaves import ByLeaves
from matchwood.lab.papers.fontoura.leaves import Leaves


def _short_operands() -> NDArray[np.uint8]:
    """The table of short operands: an entry for each value of the next 8 bits of an ID, as
    `dewey_kernels.pack_short` packs it; 0 where they do not hold a whole operand below 16."""
    short = np.zeros(256, np.uint8)
    for operand in range(1, 16):
        digits = operand.bit_length()
        code = ((1 << digits) - 1) << digits | operand - (1 << digits - 1)
        free = 8 - 2 * digits
        short[code << free : (code + 1) << free] = kernels.pack_short(operand, 2 * digits)
    return short


# The table by which kernels read most operands at once, without counting digits.
_SHORT = _short_operands()


class DeweyId(ByLeaves):
    """Conjunctions by index, and rules by the Dewey IDs of those that are true.

    >>> algorithm = DeweyId({"a": "x = 1 and (y = 2 or z = 3)", "b": "x = 2"})
    >>> algorithm.match({"x": 1, "z": 3})
    ['a']
    """

    name = "Dewey ID"
    paper = "Fontoura et al. 2010, §3"

    def index_of(self, trees: Leaves) -> AnnotationIndex:
        return DeweyIndex(trees, self.walk, self.share)


class DeweyIds(NamedTuple):
    """The annotation of each leaf, the table of long IDs, and the length of the longest ID."""

    words: NDArray[np.uint64]
    table: NDArray[np.uint32]
    longest: int


class DeweyIndex(AnnotationIndex):
    """Leaves by their Dewey ID."""

    def __init__(self, trees: Leaves, walk: bool = False, share: bool = True) -> None:
        ids = annotate(trees)
        self.note(trees.conjunctions, ids.words, walk=walk, share=share)
        self._table = ids.table
        self._levels = tuple(np.zeros((4, ids.longest + 1), np.int32))

    def evaluate(self, annotations: Annotations) -> Int32Array:
        out = np.empty(len(annotations), np.int32)
        count, self.candidates = kernels.evaluate(
            annotations, self._table, _SHORT, self._levels, out
        )
        return out[:count]

    @property
    def bytes(self) -> int:
        return super().bytes + self._table.nbytes


def annotate(trees: Leaves) -> DeweyIds:
    """The Dewey ID of each leaf.

    >>> from matchwood.lab.papers.fontoura.conjunction_index import Conjunctions
    >>> from matchwood.kernels.programs import AND, OR, pack_operator
    >>> two, three, either = pack_operator(AND, 2), pack_operator(AND, 3), pack_operator(OR, 3)
    >>> tree = np.array([either, two, 0, 1, 2, three, 3, 4, 5], np.int32)  # the paper's Figure 2
    >>> leaf = Conjunctions(np.arange(7), np.arange(6, dtype=np.int32))
    >>> spelled(annotate(Leaves(tree, np.array([0, 9]), leaf)))
    ['1*.1.1', '1*.1.2*', '1*.2', '1*.3.1', '1*.3.2', '1*.3.3*']
    """
    words = np.empty(len(trees.conjunctions.start) - 1, np.uint64)
    table, longest = kernels.annotate(trees.words, trees.start, words)
    return DeweyIds(words, table, longest)


def spelled(ids: DeweyIds) -> list[str]:
    """IDs as the paper writes them."""
    spellings = []
    for word in ids.words:
        steps: list[str] = []
        at, window, valid = kernels.open_id(word, ids.table)
        window = np.uint64(window)
        while window >> np.uint64(63):
            step, at, window, valid = kernels.next_step(
                at, window, valid, ids.table, _SHORT, len(steps) & 1 == 0
            )
            window = np.uint64(window)
            operand, is_marked = kernels.unpack_step(int(step))
            steps.append(f"{operand}{'*' if is_marked else ''}")
        spellings.append(".".join(steps))
    return spellings
