"""Rules as boxes: one interval an axis, and the algorithms that take nothing else.

A rule whose constraint on an axis is several intervals, as `!=` makes two, is a box for each way
to choose one of them. Boxes of one rule have nothing in common, so that a single event is in one
of them at most. What a rule leaves free is no part of its boxes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from matchwood.compiled import compiled
from matchwood.language.evaluation import evaluate
from matchwood.language.events import Event
from matchwood.language.text import parse
from matchwood.language.tree import Node
from matchwood.papers.conjunctive import Axes, Constraints, Crowded, Ints, Longs
from matchwood.papers.protocol import Algorithm, Id, Rule, Unsupported, Work
from matchwood.papers.roster import Roster, roomy

MOST = 256  # boxes of one rule


class Boxes(NamedTuple):
    """Box b is of rule[b] and has the intervals start[b] to start[b + 1], by axis."""

    rule: Ints
    start: Longs
    axis: Ints
    low: Ints
    high: Ints


def boxes(constraints: Constraints) -> Boxes:
    """The boxes of many rules, in their order; `Unsupported` where one would be too many."""
    counts = _counts(constraints.start, constraints.span, MOST)
    if counts.max(initial=0) > MOST:
        raise Unsupported(
            f"rule {counts.argmax() + 1} of {len(counts)}: it is more than {MOST} boxes once != "
            "and in are written with intervals"
        )
    return Boxes(*_split(*constraints, counts))


@lru_cache(maxsize=16_384)  # one set of rules is shown to all of these algorithms
def _is_boxes(rule: Node) -> bool:
    try:
        boxes(Axes().gather([rule]))
    except Unsupported:
        return False
    return True


class Boxed(Algorithm):
    """Rules as boxes by number, and what all algorithms over them share.

    An event with a list where rules look has no codes: every rule is then evaluated by itself.
    """

    @classmethod
    def supports(cls, rule: Node) -> bool:
        return _is_boxes(rule)

    def build(self, rules: dict[Id, Rule]) -> None:
        """Codes for all constants, and an index of all boxes."""
        self._rules = dict(rules)
        self._axes = Axes()
        found = boxes(self._axes.gather(list(rules.values())))
        self._roster = Roster(rules)
        self._rule_of = found.rule
        self._head, self._next = _chains(found.rule, len(rules))
        self._free: list[int] = []
        self._room = len(found.rule)
        self._always = set(np.flatnonzero(np.diff(found.start) == 0).tolist())
        self._known = len(self._axes)  # axes that the index has seen: a later one may have no box
        self.index(found)

    def add(self, rule_id: Id, rule: Rule) -> None:
        if rule_id in self._rules:
            raise ValueError(f"rule {rule_id!r} is there already: remove it first")
        try:
            found = boxes(self._axes.constraints(rule))
        except Crowded:
            self.build({**self._rules, rule_id: rule})
            return
        number = self._roster.add(rule_id)
        self._rules[rule_id] = rule
        self._head = roomy(self._head, number + 1, -1)
        last = -1
        for i in range(len(found.rule)):
            box = self._number()
            self._rule_of[box], self._next[box] = number, -1
            if last < 0:
                self._head[number] = box
            else:
                self._next[last] = box
            last = box
            low, high = found.start[i], found.start[i + 1]
            if low == high:
                self._always.add(box)
            else:
                self._known = len(self._axes)
                self.insert(box, found.axis[low:high], found.low[low:high], found.high[low:high])

    def _number(self) -> int:
        """A number for a new box."""
        if self._free:
            return self._free.pop()
        self._rule_of = roomy(self._rule_of, self._room + 1)
        self._next = roomy(self._next, self._room + 1)
        self._room += 1
        return self._room - 1

    def remove(self, rule_id: Id) -> None:
        """The rule says once more where its boxes are: codes stay."""
        found = boxes(self._axes.constraints(self._rules[rule_id]))
        number = self._roster.remove(rule_id)
        del self._rules[rule_id]
        box = int(self._head[number])
        self._head[number] = -1
        for i in range(len(found.rule)):
            low, high = found.start[i], found.start[i + 1]
            if low == high:
                self._always.discard(box)
            else:
                self.delete(box, found.axis[low:high], found.low[low:high], found.high[low:high])
            self._free.append(box)
            box = int(self._next[box])

    def match(self, event: Mapping[str, object]) -> list[Id]:
        codes = self._axes.codes(event)
        if codes is None:
            seen = Event(event)
            self.work = Work(candidates=len(self._rules))
            trees = ((rule_id, parse(rule)) for rule_id, rule in self._rules.items())
            return [rule_id for rule_id, tree in trees if evaluate(tree, seen) is True]
        found = self._rule_of[self.find(codes[: self._known])]
        asked = min(self.work.candidates, len(self._rules))  # of a rule, more than one box may be
        self.work = self.work._replace(candidates=asked)
        if self.approximate:
            found = np.unique(found)
        named = self._roster.named(found)
        if self._always:
            always = np.fromiter(self._always, np.int32, len(self._always))
            named += self._roster.named(self._rule_of[always])
        return named

    @abstractmethod
    def index(self, given: Boxes) -> None:
        """Take the first boxes; those without intervals are kept elsewhere."""

    @abstractmethod
    def insert(self, box: int, axis: Ints, low: Ints, high: Ints) -> None:
        """Take a box, whose number may be the next one, and whose axes may be new."""

    @abstractmethod
    def delete(self, box: int, axis: Ints, low: Ints, high: Ints) -> None:
        """Drop a box, which was taken with these intervals."""

    @abstractmethod
    def find(self, codes: Ints) -> Ints:
        """The boxes that an event is in; sets `work`."""

    @property
    def bytes(self) -> int:
        """Of codes, of rules by box, and of the index; of no rules it is a byte."""
        chains = 8 * self._room + 4 * self._roster.room
        return max(1, self._axes.bytes + chains + self.index_bytes)

    @property
    @abstractmethod
    def index_bytes(self) -> int: ...


def _chains(rule: Ints, rules: int) -> tuple[Ints, Ints]:
    """The first box of each rule, and the next one of each box; -1 for none."""
    head = np.full(rules, -1, np.int32)
    head[rule[::-1]] = np.arange(len(rule), dtype=np.int32)[::-1]
    following = np.full(len(rule), -1, np.int32)
    same = np.flatnonzero(rule[1:] == rule[:-1])
    following[same] = same + 1
    return head, following


@compiled
def _counts(start, span, most):
    """Boxes of each rule; `most` + 1 stands for more."""
    counts = np.ones(len(start) - 1, np.int64)
    for rule in range(len(counts)):
        count = np.int64(1)
        for c in range(start[rule], start[rule + 1]):
            intervals = span[c + 1] - span[c]
            count = min(count * intervals, most + 1)
        counts[rule] = count
    return counts


@compiled
def _split(start, axis, span, low, high, counts):
    """The arrays of `Boxes`; the interval of the last axis changes first."""
    total = np.int64(0)
    intervals = np.int64(0)
    for rule in range(len(counts)):
        total += counts[rule]
        intervals += counts[rule] * (start[rule + 1] - start[rule])
    rule_of = np.empty(total, np.int32)
    box_start = np.zeros(total + 1, np.int64)
    out_axis = np.empty(intervals, np.int32)
    out_low = np.empty(intervals, np.int32)
    out_high = np.empty(intervals, np.int32)
    box = 0
    end = 0
    for rule in range(len(counts)):
        for choice in range(counts[rule]):
            rest = choice
            at = end + start[rule + 1] - start[rule]
            end = at
            for c in range(start[rule + 1] - 1, start[rule] - 1, -1):
                some = span[c + 1] - span[c]
                chosen = span[c] + rest % some
                rest //= some
                at -= 1
                out_axis[at], out_low[at], out_high[at] = axis[c], low[chosen], high[chosen]
            rule_of[box] = rule
            box += 1
            box_start[box] = end
    return rule_of, box_start, out_axis, out_low, out_high
