"""Rules as boxes, one interval per axis, and the base of algorithms that take nothing else.

A rule whose constraint on an axis is several intervals, as `!=` makes two, is one box per choice of
an interval on each axis. The boxes of a rule are disjoint, so that an event is in at most one of
them. Attributes that a rule leaves free are no part of its boxes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.lab.papers.shared import box_algorithm_kernels as kernels
from matchwood.lab.papers.shared.axes import Axes, Constraints, Crowded
from matchwood.lab.papers.shared.protocol import Algorithm, Id, Rule, Unsupported, Work
from matchwood.lab.papers.shared.rule_numbers import RuleNumbers, roomy
from matchwood.language import parse
from matchwood.language.evaluation import evaluate
from matchwood.language.events import Event
from matchwood.language.tree import Node

# The most boxes of one rule.
MOST = 256


class BoxArrays(NamedTuple):
    """Box b is of rule[b] and has the intervals start[b] to start[b + 1], by axis."""

    rule: Int32Array
    start: Int64Array
    axis: Int32Array
    low: Int32Array
    high: Int32Array


def boxes(constraints: Constraints) -> BoxArrays:
    """The boxes of many rules, in their order; `Unsupported` where one would be too many."""
    counts = kernels.count_boxes(constraints.start, constraints.span, MOST)
    if counts.max(initial=0) > MOST:
        raise Unsupported(
            f"rule {counts.argmax() + 1} of {len(counts)}: it is more than {MOST} boxes once != "
            "and in are written with intervals"
        )
    return BoxArrays(*kernels.split_boxes(*constraints, counts))


@lru_cache(maxsize=16_384)  # one set of rules is shown to all of these algorithms
def _is_boxes(rule: Node) -> bool:
    try:
        boxes(Axes().gather([rule]))
    except Unsupported:
        return False
    return True


class FixedBoxes(Algorithm):
    """Rules as boxes by number, and what all algorithms over them share, even those built once.

    An event with a list in an attribute of the rules has no codes: each rule is then evaluated.
    """

    @classmethod
    def supports(cls, rule: Node) -> bool:
        return _is_boxes(rule)

    def build(self, rules: dict[Id, Rule]) -> None:
        """Make codes for all constants, and index all boxes."""
        self._rules = dict(rules)
        self._axes = Axes()
        arrays = boxes(self._axes.gather(list(rules.values())))
        self._rule_numbers = RuleNumbers(rules)
        self._rule_of = arrays.rule
        self._head, self._next = _chains(arrays.rule, len(rules))
        self._free: list[int] = []
        self._room = len(arrays.rule)
        self._always = set(np.flatnonzero(np.diff(arrays.start) == 0).tolist())
        self._known = len(self._axes)  # axes that the index has seen: a later one may have no box
        self.index(arrays)

    def match(self, event: Mapping[str, object]) -> list[Id]:
        codes = self._axes.codes(event)
        if codes is None:
            seen = Event(event)
            self.work = Work(candidates=len(self._rules))
            trees = ((rule_id, parse(rule)) for rule_id, rule in self._rules.items())
            return [rule_id for rule_id, tree in trees if evaluate(tree, seen) is True]
        numbers = self._rule_of[self.find(codes[: self._known])]
        asked = min(
            self.work.candidates, len(self._rules)
        )  # more than one box of a rule may be a candidate
        self.work = self.work._replace(candidates=asked)
        if self.approximate:
            numbers = np.unique(numbers)
        named = self._rule_numbers.named(numbers)
        if self._always:
            always = np.fromiter(self._always, np.int32, len(self._always))
            named += self._rule_numbers.named(self._rule_of[always])
        return named

    @abstractmethod
    def index(self, boxes: BoxArrays) -> None:
        """Take the first boxes; those without intervals are kept elsewhere."""

    @abstractmethod
    def find(self, codes: Int32Array) -> Int32Array:
        """The boxes that an event is in; sets `work`."""

    @property
    def bytes(self) -> int:
        """Bytes of codes, of rules by box, and of the index; at least one."""
        chains = 8 * self._room + 4 * self._rule_numbers.room
        return max(1, self._axes.bytes + chains + self.index_bytes)

    @property
    @abstractmethod
    def index_bytes(self) -> int: ...


class BoxAlgorithm(FixedBoxes):
    """An algorithm over boxes that takes and drops rules one by one."""

    def add(self, rule_id: Id, rule: Rule) -> None:
        if rule_id in self._rules:
            raise ValueError(f"rule {rule_id!r} exists already: remove it first")
        try:
            arrays = boxes(self._axes.constraints(rule))
        except Crowded:
            self.build({**self._rules, rule_id: rule})
            return
        number = self._rule_numbers.add(rule_id)
        self._rules[rule_id] = rule
        self._head = roomy(self._head, number + 1, -1)
        last = -1
        for i in range(len(arrays.rule)):
            box = self._number()
            self._rule_of[box], self._next[box] = number, -1
            if last < 0:
                self._head[number] = box
            else:
                self._next[last] = box
            last = box
            low, high = arrays.start[i], arrays.start[i + 1]
            if low == high:
                self._always.add(box)
            else:
                self._known = len(self._axes)
                self.insert(box, arrays.axis[low:high], arrays.low[low:high], arrays.high[low:high])

    def _number(self) -> int:
        """A number for a new box."""
        if self._free:
            return self._free.pop()
        self._rule_of = roomy(self._rule_of, self._room + 1)
        self._next = roomy(self._next, self._room + 1)
        self._room += 1
        return self._room - 1

    def remove(self, rule_id: Id) -> None:
        """Remove a rule; its boxes are found once more from its text, since codes stay."""
        arrays = boxes(self._axes.constraints(self._rules[rule_id]))
        number = self._rule_numbers.remove(rule_id)
        del self._rules[rule_id]
        box = int(self._head[number])
        self._head[number] = -1
        for i in range(len(arrays.rule)):
            low, high = arrays.start[i], arrays.start[i + 1]
            if low == high:
                self._always.discard(box)
            else:
                self.delete(box, arrays.axis[low:high], arrays.low[low:high], arrays.high[low:high])
            self._free.append(box)
            box = int(self._next[box])

    @abstractmethod
    def insert(self, box: int, axis: Int32Array, low: Int32Array, high: Int32Array) -> None:
        """Take a box, whose number may be the next one, and whose axes may be new."""

    @abstractmethod
    def delete(self, box: int, axis: Int32Array, low: Int32Array, high: Int32Array) -> None:
        """Drop a box, which was taken with these intervals."""


def _chains(rule: Int32Array, rules: int) -> tuple[Int32Array, Int32Array]:
    """The first box of each rule, and the next one of each box; -1 for none."""
    head = np.full(rules, -1, np.int32)
    head[rule[::-1]] = np.arange(len(rule), dtype=np.int32)[::-1]
    following = np.full(len(rule), -1, np.int32)
    same = np.flatnonzero(rule[1:] == rule[:-1])
    following[same] = same + 1
    return head, following
