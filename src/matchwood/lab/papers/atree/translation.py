"""Translation (Ji and Jacobsen, SIGMOD 2021, §2): each rule as a set of conjunctive expressions.

A rule is translated into conjunctive expressions, which go to a matcher of conjunctive expressions;
a rule is true where one of its expressions is. The expansion is that of `dnf`, but here each
expression is indexed on its own, even if an equal one of the same or of another rule exists, as a
matcher that knows nothing of rules would do; in `dnf` equal conjunctions are shared. The paper
found PSTBloom to be the best matcher for this; here it is the conjunction index, as for the others.
"""

from __future__ import annotations

from matchwood.lab.papers.fontoura.dnf import Dnf


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
    share = False

    @property
    def expressions(self) -> int:
        """How many conjunctive expressions all rules were translated into."""
        return sum(index.conjunctions for index in self.indexes)
