"""Translation (Ji and Jacobsen, SIGMOD 2021, §2): each rule as a set of conjunctive expressions.

A rule is translated into conjunctive expressions, those go to a matcher of conjunctive
expressions, and a rule is true where one of its expressions is. The expansion is that of `dnf`.
What differs is what is indexed: here each expression is one of its own, whether or not an equal
one is there, of the same or of another rule, as when expressions are handed over to a matcher that
knows nothing of rules; in `dnf` equal conjunctions are one. The paper found PSTBloom the best
matcher for it; this one is the conjunction index, as for the others here.
"""

from __future__ import annotations

from matchwood.papers.dnf import Dnf


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
