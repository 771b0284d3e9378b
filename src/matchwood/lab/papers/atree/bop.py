"""BoP: count the true predicates of each rule, evaluate the rules that have enough of them.

Bittner and Hinze, *The arbitrary Boolean publish/subscribe model: making the case*, DEBS 2007, as
Ji and Jacobsen, *A-Tree*, SIGMOD 2021, §2, describe it. For each rule there is the minimum number
of predicates that must be true for it to be true: 1 for a predicate, the sum over an `and`, the
least over an `or`. An event's true predicates are counted rule by rule; a rule whose count reaches
its minimum is a candidate, and its tree is evaluated. A predicate that occurs twice in a
rule counts twice, as the sum over an `and` demands.

Trees are bytes, as in Figure 2: CONJ or DISJ and the number of operands, LEAF and the number of
the predicate. Numbers have seven bits per byte, lowest first; the top bit says that more follow.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from matchwood.kernels.programs import TRUE, pack_operator
from matchwood.lab.papers.atree import bop_kernels as kernels
from matchwood.lab.papers.atree.bop_kernels import (
    NEVER,
)
from matchwood.lab.papers.shared.forms import form, forms
from matchwood.lab.papers.shared.predicate_lookup import PredicateLookup
from matchwood.lab.papers.shared.protocol import Algorithm, Id, Rule, Work
from matchwood.lab.papers.shared.rule_numbers import RuleNumbers, roomy

# The most operators of a tree that are open at once during evaluation.
_DEEPEST = 1024


class BoP(Algorithm):
    """Rules with the least number of predicates that make them true.

    >>> bop = BoP({1: "a = 1 and (b = 1 or c = 1)", 2: "a = 1 and b = 2"})
    >>> bop.match({"a": 1, "c": 1}), bop.work.candidates
    ([1], 1)
    """

    name = "BoP"
    paper = "Bittner, Hinze 2007; Ji, Jacobsen 2021, §2"

    def build(self, rules: dict[Id, Rule]) -> None:
        """Encode all trees, then list the rules of each predicate."""
        self._rule_numbers = RuleNumbers(rules)
        self._predicates = PredicateLookup()
        program, start = self._predicates.gather(list(rules.values()))
        words, start = forms(program, start, self._predicates.atoms)
        self._trees, self._tree_at, self._minimum = kernels.encode(words, start)
        self._used = self._live = len(self._trees)
        self._lists = np.zeros((2 * self._predicates.atoms, 3), np.int64)
        self._rules = kernels.make_postings(words, start, self._lists)
        self._rules_used = len(self._rules)
        self._always = set(np.flatnonzero(words[start[:-1]] == pack_operator(TRUE, 0)).tolist())
        self._count = np.zeros(len(rules), np.int32)
        self._truth = np.zeros(0, np.uint8)

    def add(self, rule_id: Id, rule: Rule) -> None:
        """Write the tree at the end, and add the rule to the lists of its predicates."""
        words = form(self._predicates.program(rule), self._predicates.atoms)
        number = self._rule_numbers.add(rule_id)
        tree, at, minimum = kernels.encode(words, np.array([0, len(words)], np.int64))
        if words[0] == pack_operator(TRUE, 0):
            self._always.add(number)
        self._trees = roomy(self._trees, self._used + len(tree))
        self._trees[self._used : self._used + len(tree)] = tree
        self._tree_at = roomy(self._tree_at, number + 1)
        self._tree_at[number] = self._used + at[0]
        self._minimum = roomy(self._minimum, number + 1)
        self._minimum[number] = minimum[0]
        self._count = roomy(self._count, number + 1)
        self._used += len(tree)
        self._live += len(tree)
        self._lists = roomy(self._lists, 2 * self._predicates.atoms)
        self._rules, self._rules_used = kernels.add_posting(
            words, number, self._lists, self._rules, self._rules_used
        )

    def remove(self, rule_id: Id) -> None:
        """Remove the rule from the lists; compact the trees once half of their bytes are unused."""
        number = self._rule_numbers.remove(rule_id)
        self._always.discard(number)
        if self._minimum[number] != NEVER:
            at = self._tree_at[number]
            self._live -= kernels.remove_posting(self._trees, at, number, self._lists, self._rules)
            self._minimum[number] = NEVER
        if 2 * self._live < self._used:
            self._trees = kernels.close_up(self._trees, self._tree_at, self._minimum, self._live)
            self._used = self._live

    def match(self, event: Mapping[str, object]) -> list[Id]:
        """Count, and evaluate the candidates."""
        true = self._predicates.true_of(event)
        self._truth = roomy(self._truth, 2 * self._predicates.atoms)
        self._truth[true] = 1
        self._lists = roomy(self._lists, 2 * self._predicates.atoms)
        out = np.empty(len(self._count), np.int32)
        state = np.empty((3, _DEEPEST), np.int64)
        count, visited, candidates = kernels.match(
            true, self._lists, self._rules, self._count, self._minimum, self._trees,
            self._tree_at, self._truth, out, state,
        )  # fmt: skip
        self._truth[true] = 0
        self.work = Work(len(true), visited, candidates + len(self._always))
        always = np.fromiter(self._always, np.int32, len(self._always))
        return self._rule_numbers.named(np.concatenate((out[:count], always)))

    @property
    def bytes(self) -> int:
        """Bytes of trees, minima, counts, lists and predicates."""
        by_rule = sum(array.nbytes for array in (self._tree_at, self._minimum, self._count))
        return (
            self._used + by_rule + self._lists.nbytes + 4 * self._rules_used
            + self._predicates.bytes
        )  # fmt: skip
