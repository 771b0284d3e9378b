"""Scan: every rule in turn, each only until its truth is decided.

Ji and Jacobsen, *A-Tree*, SIGMOD 2021, §2: "the naive matching method scans every ABE and matches
it against the event". Rules are trees of their own in one run of words, and share nothing but the
lookup of predicates.

A word is a literal or, below zero, an operator with the length of its tree (see `pack_tree`), so
that the rest of a decided tree can be skipped. Its operands follow.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from matchwood.lab.papers.atree import exhaustive_scan_kernels as kernels
from matchwood.lab.papers.shared.forms import form, forms
from matchwood.lab.papers.shared.predicate_lookup import PredicateLookup
from matchwood.lab.papers.shared.protocol import Algorithm, Id, Rule, Work
from matchwood.lab.papers.shared.rule_numbers import RuleNumbers, roomy

# The position of a rule that was removed.
_GONE = -1


class ExhaustiveScan(Algorithm):
    """All rules, one after the other.

    >>> scan = ExhaustiveScan({"adults": "age >= 18", "teens": "age between 13 and 19"})
    >>> scan.match({"age": 18}), scan.work.candidates
    (['adults', 'teens'], 2)
    """

    name = "Scan"
    paper = "Ji, Jacobsen 2021, §2"

    def build(self, rules: dict[Id, Rule]) -> None:
        """Lay the trees out, one after the other."""
        self._rule_numbers = RuleNumbers(rules)
        self._predicates = PredicateLookup()
        program, start = self._predicates.gather(list(rules.values()))
        words, start = forms(program, start, self._predicates.atoms)
        kernels.write_lengths(words)
        self._words, self._used, self._live = words, len(words), len(words)
        self._at = start[:-1].copy()
        self._truth = np.zeros(0, np.uint8)

    def add(self, rule_id: Id, rule: Rule) -> None:
        """Write the tree at the end."""
        program = self._predicates.program(rule)
        words = form(program, self._predicates.atoms)
        kernels.write_lengths(words)
        number = self._rule_numbers.add(rule_id)
        end = self._used + len(words)
        self._words = roomy(self._words, end)
        self._words[self._used : end] = words
        self._at = roomy(self._at, number + 1, _GONE)
        self._at[number] = self._used
        self._used = end
        self._live += len(words)

    def remove(self, rule_id: Id) -> None:
        """Drop the tree; compact the trees once half of all words are unused."""
        number = self._rule_numbers.remove(rule_id)
        self._live -= kernels.length_of(self._words, self._at[number])
        self._at[number] = _GONE
        if 2 * self._live < self._used:
            words = np.empty(self._live, np.int32)
            kernels.close_up(self._words, self._at, words)
            self._words, self._used = words, self._live

    def match(self, event: Mapping[str, object]) -> list[Id]:
        """Evaluate every rule."""
        true = self._predicates.true_of(event)
        self._truth = roomy(self._truth, 2 * self._predicates.atoms)
        self._truth[true] = 1
        out = np.empty(len(self._at), np.int32)
        ends, kinds = np.empty(_DEEPEST, np.int64), np.empty(_DEEPEST, np.uint8)
        count, tested, visited = kernels.scan(self._words, self._at, self._truth, out, ends, kinds)
        self._truth[true] = 0
        self.work = Work(tested, visited, len(self._rule_numbers))
        return self._rule_numbers.named(out[:count])

    @property
    def bytes(self) -> int:
        """Bytes of the trees, their positions, and the predicates."""
        return 4 * self._used + 8 * self._rule_numbers.room + self._predicates.bytes


# The deepest nesting of operators: 200 as written, and two per level of a balanced xor.
_DEEPEST = 1024
