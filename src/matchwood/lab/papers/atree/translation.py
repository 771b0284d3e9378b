"""Translation (Ji and Jacobsen, SIGMOD 2021, §2): each rule as a set of conjunctive expressions.

A rule is translated into conjunctive expressions, which go to a matcher of conjunctive expressions;
a rule is true where one of its expressions is. The expansion is that of `dnf`, but here each
expression is indexed on its own, even if an equal one of the same or of another rule exists, as a
matcher that knows nothing of rules would do; in `dnf` equal conjunctions are shared.

The paper's matcher is PSTBloom, which it does not describe. In its place is the conjunction index,
which with `walk=True` is the k-index, one of the matchers that the paper names (§2). As in its
Figure 11 and Table 4 there are two parts: *TR1*, the index, and *TR2*, the translated expressions
and the time that it takes to make them. Both are kept.
"""

from __future__ import annotations

from time import process_time

from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.lab.papers.fontoura.annotation_index import AnnotationIndex
from matchwood.lab.papers.fontoura.dnf import DisjunctIndex, Dnf, expand
from matchwood.lab.papers.shared.forms import Forms, forms


class Translation(Dnf):
    """Rules by conjunctive expressions, each indexed on its own.

    >>> algorithm = Translation({"a": "(p1 or p2 or p3) and p4 and (p5 or p6)"})
    >>> algorithm.expressions
    6
    >>> algorithm.match({"p2": True, "p4": True, "p6": True})
    ['a']
    """

    name = "Translation"
    paper = "Ji, Jacobsen 2021, §2"

    def index(self, program: Int32Array, start: Int64Array) -> AnnotationIndex:
        return TranslatedIndex(forms(program, start, self.predicates.atoms), self.budget, self.walk)

    @property
    def expressions(self) -> int:
        """How many conjunctive expressions all rules were translated into."""
        return sum(index.conjunctions for index in self.indexes)

    @property
    def translated_bytes(self) -> int:
        """Bytes of the translated expressions (TR2), which are part of `bytes`."""
        return sum(index.translated_bytes for index in self._translated)

    @property
    def translate_s(self) -> float:
        """Seconds of processor time in which the present expressions were translated (TR2)."""
        return sum(index.seconds for index in self._translated)

    @property
    def _translated(self) -> list[TranslatedIndex]:
        return [index for index in self.indexes if isinstance(index, TranslatedIndex)]


class TranslatedIndex(DisjunctIndex):
    """Expressions with the rule that each of them makes true, and the expressions themselves."""

    def __init__(self, written: Forms, budget: int, walk: bool) -> None:
        begun = process_time()
        self.expressions, rules = expand(written, budget)
        self.seconds = process_time() - begun
        super().__init__(self.expressions, rules, len(written.start) - 1, False, walk)

    @property
    def translated_bytes(self) -> int:
        """Bytes of the translated expressions."""
        return self.expressions.start.nbytes + self.expressions.literals.nbytes

    @property
    def bytes(self) -> int:
        return super().bytes + self.translated_bytes
