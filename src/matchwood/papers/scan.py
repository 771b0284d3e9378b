"""Scan: every rule in turn, left as soon as its truth is settled.

Ji and Jacobsen, *A-Tree*, SIGMOD 2021, §2: "the naive matching method scans every ABE and matches
it against the event". Rules are trees of their own in one run of words, and share nothing but the
lookup of predicates.

A word is a literal, or below zero an operator with the length of its tree, so that the rest of a
settled tree is skipped: -(2 * length + is_or) - 1, then its operands.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from matchwood.compiled import compiled, lean
from matchwood.index.program import OR, TRUE
from matchwood.papers.forms import form, forms
from matchwood.papers.predicates import Predicates
from matchwood.papers.protocol import Algorithm, Id, Rule, Work
from matchwood.papers.roster import Roster, roomy

_GONE = -1  # the place of a rule that was removed
_FALSE_WORD, _TRUE_WORD = -1, -2  # an operator of length 0: a constant


class Scan(Algorithm):
    """All rules, one after the other.

    >>> scan = Scan({"adults": "age >= 18", "teens": "age between 13 and 19"})
    >>> scan.match({"age": 18}), scan.work.candidates
    (['adults', 'teens'], 2)
    """

    name = "Scan"
    paper = "Ji, Jacobsen 2021, §2"

    def build(self, rules: dict[Id, Rule]) -> None:
        """Lay the trees out, one after the other."""
        self._roster = Roster(rules)
        self._predicates = Predicates()
        program, start = self._predicates.gather(list(rules.values()))
        words, start = forms(program, start, self._predicates.atoms)
        _measure(words)
        self._words, self._used, self._live = words, len(words), len(words)
        self._at = start[:-1].copy()
        self._truth = np.zeros(0, np.uint8)

    def add(self, rule_id: Id, rule: Rule) -> None:
        """Write the tree at the end."""
        program = self._predicates.program(rule)
        words = form(program, self._predicates.atoms)
        _measure(words)
        number = self._roster.add(rule_id)
        end = self._used + len(words)
        self._words = roomy(self._words, end)
        self._words[self._used : end] = words
        self._at = roomy(self._at, number + 1, _GONE)
        self._at[number] = self._used
        self._used = end
        self._live += len(words)

    def remove(self, rule_id: Id) -> None:
        """Leave the tree out; trees close up once half of all words are of none."""
        number = self._roster.remove(rule_id)
        self._live -= _length(self._words, self._at[number])
        self._at[number] = _GONE
        if 2 * self._live < self._used:
            words = np.empty(self._live, np.int32)
            _close_up(self._words, self._at, words)
            self._words, self._used = words, self._live

    def match(self, event: Mapping[str, object]) -> list[Id]:
        """Every rule is tried."""
        true = self._predicates.true_of(event)
        self._truth = roomy(self._truth, 2 * self._predicates.atoms)
        self._truth[true] = 1
        out = np.empty(len(self._at), np.int32)
        ends, kinds = np.empty(_DEEPEST, np.int64), np.empty(_DEEPEST, np.uint8)
        found, tested, visited = _scan(self._words, self._at, self._truth, out, ends, kinds)
        self._truth[true] = 0
        self.work = Work(tested, visited, len(self._roster))
        return self._roster.named(out[:found])

    @property
    def bytes(self) -> int:
        """Of the trees, where each is, and the predicates."""
        return 4 * self._used + 8 * self._roster.room + self._predicates.bytes


_DEEPEST = 1024  # operators in each other: 200 as written, and two for each balanced xor


@compiled
def _measure(words):
    """Operator words with their numbers of operands become those with their lengths."""
    lengths = np.empty(1024, np.int64)
    top = 0
    for at in range(len(words) - 1, -1, -1):
        length = np.int64(1)
        word = words[at]
        if word < 0:
            op, count = (-word - 1) & 7, (-word - 1) >> 3
            for _ in range(count):
                top -= 1
                length += lengths[top]
            if count:
                words[at] = -(2 * length + (op == OR)) - 1
            else:
                words[at] = _TRUE_WORD if op == TRUE else _FALSE_WORD
        if top == len(lengths):
            larger = np.empty(2 * top, np.int64)
            larger[:top] = lengths
            lengths = larger
        lengths[top] = length
        top += 1


@compiled
def _length(words, at):
    word = words[at]
    return max(1, (-word - 1) >> 1) if word < 0 else 1


@compiled
def _close_up(words, place, out):
    top = 0
    for rule in range(len(place)):
        if place[rule] >= 0:
            length = _length(words, place[rule])
            out[top : top + length] = words[place[rule] : place[rule] + length]
            place[rule] = top
            top += length


@lean
def _scan(words, place, truth, out, ends, kinds):
    """The rules that are true: out[:first of what is returned]; also predicates, and words read."""
    found = 0
    tested = 0
    visited = 0
    for rule in range(len(place)):
        at = place[rule]
        if at < 0:
            continue
        top = 0
        while True:
            word = words[at]
            at += 1
            visited += 1
            if word >= 0:
                true = truth[word] == 1
                tested += 1
            elif word >= _TRUE_WORD:
                true = word == _TRUE_WORD
            else:
                kinds[top] = (-word - 1) & 1
                ends[top] = at - 1 + ((-word - 1) >> 1)
                top += 1
                continue
            while top > 0:
                if true == (kinds[top - 1] == 1):
                    at = ends[top - 1]
                elif at < ends[top - 1]:
                    break
                top -= 1
            if top == 0:
                break
        if true:
            out[found] = rule
            found += 1
    return found, tested, visited
