"""BoP: count the true predicates of each rule, evaluate the rules that have enough of them.

Bittner and Hinze, *The arbitrary Boolean publish/subscribe model: making the case*, DEBS 2007, as
Ji and Jacobsen, *A-Tree*, SIGMOD 2021, §2, describe it. For each rule there is the minimum number
of predicates that must be true for it to be true: 1 for a predicate, the sum over an `and`, the
least over an `or`. An event's true predicates are counted rule by rule; a rule whose count reaches
its minimum is a candidate, and its tree is evaluated. A predicate that stands in a rule twice
counts twice, as the sum over an `and` demands.

Trees are bytes, as in Figure 2: CONJ or DISJ and the number of operands, LEAF and the number of
the predicate. Numbers have seven bits a byte, the lowest first; the top bit says that more follow.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from matchwood.compiled import compiled, inlined, lean
from matchwood.index.program import AND, TRUE
from matchwood.papers.forms import form, forms
from matchwood.papers.predicates import Predicates
from matchwood.papers.protocol import Algorithm, Id, Rule, Work
from matchwood.papers.roster import Roster, roomy

_CONJ, _DISJ, _LEAF = 1, 2, 4
_NEVER = 0  # the minimum of a rule that is false, and of numbers that no rule has
_AT, _SIZE, _ROOM = range(3)  # of the rules of a predicate, in `_rules`
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
        self._roster = Roster(rules)
        self._predicates = Predicates()
        program, start = self._predicates.gather(list(rules.values()))
        words, start = forms(program, start, self._predicates.atoms)
        self._trees, self._tree_at, self._minimum = _encode(words, start)
        self._used = self._live = len(self._trees)
        self._lists = np.zeros((2 * self._predicates.atoms, 3), np.int64)
        self._rules = _postings(words, start, self._lists)
        self._rules_used = len(self._rules)
        self._always = set(np.flatnonzero(words[start[:-1]] == -TRUE - 1).tolist())
        self._count = np.zeros(len(rules), np.int32)
        self._truth = np.zeros(0, np.uint8)

    def add(self, rule_id: Id, rule: Rule) -> None:
        """Write the tree at the end, and add the rule to the lists of its predicates."""
        words = form(self._predicates.program(rule), self._predicates.atoms)
        number = self._roster.add(rule_id)
        tree, at, minimum = _encode(words, np.array([0, len(words)], np.int64))
        if words[0] == -TRUE - 1:
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
        self._rules, self._rules_used = _list(
            words, number, self._lists, self._rules, self._rules_used
        )

    def remove(self, rule_id: Id) -> None:
        """Take the rule out of the lists; trees close up once half of all bytes are of none."""
        number = self._roster.remove(rule_id)
        self._always.discard(number)
        if self._minimum[number] != _NEVER:
            at = self._tree_at[number]
            self._live -= _unlist(self._trees, at, number, self._lists, self._rules)
            self._minimum[number] = _NEVER
        if 2 * self._live < self._used:
            self._trees = _close_up(self._trees, self._tree_at, self._minimum, self._live)
            self._used = self._live

    def match(self, event: Mapping[str, object]) -> list[Id]:
        """Count, and evaluate the candidates."""
        true = self._predicates.true_of(event)
        self._truth = roomy(self._truth, 2 * self._predicates.atoms)
        self._truth[true] = 1
        self._lists = roomy(self._lists, 2 * self._predicates.atoms)
        out = np.empty(len(self._count), np.int32)
        state = np.empty((3, _DEEPEST), np.int64)
        found, visited, candidates = _match(
            true, self._lists, self._rules, self._count, self._minimum, self._trees,
            self._tree_at, self._truth, out, state,
        )  # fmt: skip
        self._truth[true] = 0
        self.work = Work(len(true), visited, candidates + len(self._always))
        always = np.fromiter(self._always, np.int32, len(self._always))
        return self._roster.named(np.concatenate((out[:found], always)))

    @property
    def bytes(self) -> int:
        """Of trees, minima, counts, lists and predicates."""
        by_rule = sum(array.nbytes for array in (self._tree_at, self._minimum, self._count))
        return (
            self._used + by_rule + self._lists.nbytes + 4 * self._rules_used
            + self._predicates.bytes
        )  # fmt: skip


@compiled
def _encode(words, start):
    """Trees in bytes, where each is, and the minimum of each rule; a constant has no tree."""
    trees = np.empty(6 * len(words) + 16, np.uint8)
    place = np.zeros(len(start) - 1, np.int64)
    minimum = np.zeros(len(start) - 1, np.int32)
    least = np.empty(1024, np.int64)
    at = 0
    for rule in range(len(start) - 1):
        place[rule] = at
        if words[start[rule]] < 0 and -words[start[rule]] - 1 < 8:
            continue
        for i in range(start[rule], start[rule + 1]):
            word = words[i]
            if word >= 0:
                trees[at] = _LEAF
                number = np.int64(word)
            else:
                trees[at] = _CONJ if (-word - 1) & 7 == AND else _DISJ
                number = np.int64((-word - 1) >> 3)
            at += 1
            while number >= 128:
                trees[at] = 128 | (number & 127)
                number >>= 7
                at += 1
            trees[at] = number
            at += 1
        top = 0
        for i in range(start[rule + 1] - 1, start[rule] - 1, -1):
            word = words[i]
            value = np.int64(1)
            if word < 0:
                top -= 1
                value = least[top]
                for _ in range(((-word - 1) >> 3) - 1):
                    top -= 1
                    if (-word - 1) & 7 == AND:
                        value += least[top]
                    else:
                        value = min(value, least[top])
            if top == len(least):
                larger = np.empty(2 * top, np.int64)
                larger[:top] = least
                least = larger
            least[top] = value
            top += 1
        minimum[rule] = least[0]
    return trees[:at].copy(), place, minimum


@compiled
def _postings(words, start, lists):
    """The rules of every literal, one after the other; `lists` says where."""
    for word in words:
        if word >= 0:
            lists[word, _ROOM] += 1
    at = 0
    for literal in range(len(lists)):
        lists[literal, _AT] = at
        at += lists[literal, _ROOM]
    rules = np.empty(at, np.int32)
    for rule in range(len(start) - 1):
        for i in range(start[rule], start[rule + 1]):
            if words[i] >= 0:
                mine = lists[words[i]]
                rules[mine[_AT] + mine[_SIZE]] = rule
                mine[_SIZE] += 1
    return rules


@compiled
def _list(words, rule, lists, rules, used):
    """Add a rule to the lists of its literals; a list without room moves to the end."""
    for word in words:
        if word < 0:
            continue
        mine = lists[word]
        if mine[_SIZE] == mine[_ROOM]:
            room = 2 * mine[_ROOM] + 2
            if used + room > len(rules):
                total = np.int64(0)
                for literal in range(len(lists)):
                    total += lists[literal, _ROOM]
                larger = np.empty(total + total // 4 + 2 * room + 64, np.int32)
                used = 0
                for literal in range(len(lists)):  # what moved has left holes: close them
                    low, size = lists[literal, _AT], lists[literal, _SIZE]
                    larger[used : used + size] = rules[low : low + size]
                    lists[literal, _AT] = used
                    used += lists[literal, _ROOM]
                rules = larger
            rules[used : used + mine[_SIZE]] = rules[mine[_AT] : mine[_AT] + mine[_SIZE]]
            mine[_AT], mine[_ROOM] = used, room
            used += room
        rules[mine[_AT] + mine[_SIZE]] = rule
        mine[_SIZE] += 1
    return rules, used


@inlined
def _number(trees, at):
    """A number, and the place behind it."""
    number = np.int64(trees[at] & 127)
    shift = 7
    while trees[at] & 128:
        at += 1
        number |= np.int64(trees[at] & 127) << shift
        shift += 7
    return number, at + 1


@lean
def _unlist(trees, at, rule, lists, rules):
    """Take a rule out of the lists of its literals; the bytes of its tree."""
    begin = at
    left = 1  # operands that are still to come, of all operators that are open
    while left > 0:
        kind = trees[at]
        number, at = _number(trees, at + 1)
        left -= 1
        if kind != _LEAF:
            left += number
            continue
        mine = lists[number]
        for i in range(mine[_AT], mine[_AT] + mine[_SIZE]):
            if rules[i] == rule:
                mine[_SIZE] -= 1
                rules[i] = rules[mine[_AT] + mine[_SIZE]]
                break
    return at - begin


@compiled
def _close_up(trees, place, minimum, size):
    """The trees of the rules that are left, one after the other."""
    out = np.empty(size, np.uint8)
    top = 0
    for rule in range(len(place)):
        if minimum[rule] != _NEVER:
            at = place[rule]
            place[rule] = top
            left = 1
            while left > 0:
                begin = at
                number, at = _number(trees, at + 1)
                left += number - 1 if trees[begin] != _LEAF else -1
                out[top : top + at - begin] = trees[begin:at]
                top += at - begin
    return out


@lean
def _match(true, lists, rules, count, minimum, trees, place, truth, out, state):
    """Rules that are true: out[:first of what is returned]; also entries and bytes, candidates."""
    count[:] = 0
    visited = 0
    candidates = 0
    for literal in true:
        mine = lists[literal]
        visited += mine[_SIZE]
        for i in range(mine[_AT], mine[_AT] + mine[_SIZE]):
            rule = rules[i]
            count[rule] += 1
            if count[rule] == minimum[rule]:
                out[candidates] = rule
                candidates += 1
    found = 0
    for i in range(candidates):
        value, nodes = _evaluate(trees, place[out[i]], truth, state)
        visited += nodes
        if value:
            out[found] = out[i]
            found += 1
    return found, visited, candidates


@inlined
def _evaluate(trees, at, truth, state):
    """The truth of a tree, and how many nodes it has."""
    kinds, left, values = state[0], state[1], state[2]
    top = 0
    nodes = 0
    while True:
        kind = trees[at]
        number, at = _number(trees, at + 1)
        nodes += 1
        if kind != _LEAF:
            kinds[top], left[top], values[top] = kind, number, kind == _CONJ
            top += 1
            continue
        value = np.int64(truth[number])
        while top > 0:
            if kinds[top - 1] == _CONJ:
                values[top - 1] &= value
            else:
                values[top - 1] |= value
            left[top - 1] -= 1
            if left[top - 1] > 0:
                break
            top -= 1
            value = values[top]
        if top == 0:
            return value, nodes
