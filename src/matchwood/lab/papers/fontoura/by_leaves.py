"""What Dewey ID, Interval ID and Scan with conjunction match have in common: rules by their leaves.

Three switches say how leaf-level conjunctions are made and found. The defaults are the fastest
here; the paper's own are `walk=True, share=False` and the depth of its rules.
"""

from __future__ import annotations

from abc import abstractmethod

from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.lab.papers.fontoura.annotation_index import AnnotationIndex
from matchwood.lab.papers.fontoura.delta import Delta
from matchwood.lab.papers.fontoura.leaves import Leaves, leaves
from matchwood.lab.papers.fontoura.written_leaves import written_leaves
from matchwood.lab.papers.shared.forms import forms
from matchwood.lab.papers.shared.protocol import Rules


class ByLeaves(Delta):
    """An algorithm whose annotations are of leaf-level conjunctions.

    `walk` traverses the lists of the conjunction index in parallel instead of counting. `share`
    makes equal conjunctions one; without it each leaf is indexed on its own. `depth` is that of the
    leaves of rules which are read as they were written (see `written_leaves`); by default all
    predicates of an AND are one leaf.
    """

    def __init__(
        self,
        rules: Rules = (),
        walk: bool = False,
        share: bool = True,
        depth: int | None = None,
    ) -> None:
        self.share = share
        self.depth = depth
        super().__init__(rules, walk)

    @abstractmethod
    def index_of(self, trees: Leaves) -> AnnotationIndex:
        """An index of some rules, given by their leaves."""

    def index(self, program: Int32Array, start: Int64Array) -> AnnotationIndex:
        return self.index_of(self.leaves(program, start))

    def leaves(self, program: Int32Array, start: Int64Array) -> Leaves:
        """The trees of rules down to their leaves, as the switches say."""
        atoms = self.predicates.atoms
        if self.depth is None:
            return leaves(forms(program, start, atoms))
        return written_leaves(program, start, atoms, self.depth)
