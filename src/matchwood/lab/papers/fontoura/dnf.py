"""DNF expansion (Fontoura et al. 2010, §5.2): rules multiplied out, over the conjunction index.

Each rule becomes the conjunctions of its disjunctive normal form, without those that contradict
themselves. Equal conjunctions, of one rule or of many, are indexed once, with the rules of each: a
rule is true where one of its conjunctions is. The normal form can be exponentially
larger than the rule; beyond a budget of bytes the build stops with `OverBudget`.
"""

from __future__ import annotations

import numpy as np

from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.lab.papers.fontoura import dnf_kernels as kernels
from matchwood.lab.papers.fontoura.annotation_index import AnnotationIndex, Annotations
from matchwood.lab.papers.fontoura.conjunction_index import Conjunctions
from matchwood.lab.papers.fontoura.delta import Delta
from matchwood.lab.papers.shared.forms import Forms, forms
from matchwood.lab.papers.shared.protocol import OverBudget, Rules

# The most bytes of the normal forms of all rules of an index.
BUDGET = 1 << 30

# Bytes of a literal of a normal form.
_LITERAL_BYTES = 4


class Dnf(Delta):
    """Rules by the conjunctions of their disjunctive normal form.

    >>> algorithm = Dnf({"a": "x = 1 and (y = 2 or z = 3)", "b": "x = 2"})
    >>> algorithm.match({"x": 1, "z": 3})
    ['a']
    >>> wide = " and ".join(f"(a{i} = 1 or b{i} = 1)" for i in range(40))
    >>> Dnf({"wide": wide})
    Traceback (most recent call last):
    ...
    matchwood.lab.papers.shared.protocol.OverBudget: the normal forms take over 1,073,741,824...
    """

    name = "DNF"
    paper = "Fontoura et al. 2010, §5.2"
    budgeted = True

    def __init__(self, rules: Rules = (), budget: int = BUDGET, walk: bool = False) -> None:
        self.budget = budget
        super().__init__(rules, walk)

    def index(self, program: Int32Array, start: Int64Array) -> AnnotationIndex:
        written = forms(program, start, self.predicates.atoms)
        conjunctions, rules = expand(written, self.budget)
        return DisjunctIndex(conjunctions, rules, len(written.start) - 1, True, self.walk)


class DisjunctIndex(AnnotationIndex):
    """Conjunctions with the rules that each of them makes true."""

    def __init__(
        self,
        conjunctions: Conjunctions,
        rules: Int32Array,
        rule_count: int,
        share: bool,
        walk: bool,
    ) -> None:
        """Conjunctions with the rule of each; `share` makes equal ones one."""
        self.note(conjunctions, rules, share, walk)
        self._seen = np.zeros(rule_count, np.uint8)

    def sort(self, conjunctions: Int32Array) -> Annotations:
        """The annotations; their order does not matter here."""
        return self.annotations(conjunctions)

    def evaluate(self, annotations: Annotations) -> Int32Array:
        out = np.empty(min(len(annotations), len(self._seen)), np.int32)
        self.candidates = kernels.once(annotations, self._seen, out)
        return out[: self.candidates]

    @property
    def bytes(self) -> int:
        return super().bytes + self._seen.nbytes


def expand(forms: Forms, budget: int = BUDGET) -> tuple[Conjunctions, Int32Array]:
    """The conjunctions of the normal forms of all rules, and the rule of each."""
    start, literals, rules, over = kernels.expand(*forms, budget // _LITERAL_BYTES)
    if over >= 0:
        raise OverBudget(
            f"the normal forms take over {budget:,} bytes, at rule {over + 1:,} of "
            f"{len(forms.start) - 1:,}: take fewer or simpler rules, or raise the budget"
        )
    return Conjunctions(start, literals), rules
