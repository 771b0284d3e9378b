"""OpIndex: subscriptions by their rarest attribute, their predicates by attribute and operator.

Zhang, Chan and Tan, *An efficient publish/subscribe index for e-commerce databases*, VLDB 2014. The
first level has subscriptions by pivot, their attribute that the fewest others have: an event
looks only under its own attributes. Below each pivot are the predicates of its
subscriptions, by attribute and operator, `>=`, `<=` and `=`, each list in segments by value. True
predicates are counted; a subscription has matched when all of its predicates were. A range is two
predicates.
"""

from __future__ import annotations

import numpy as np

from matchwood.kernels.array_types import Int32Array
from matchwood.lab.papers.boxes import opindex_kernels as kernels
from matchwood.lab.papers.boxes.runs import Runs
from matchwood.lab.papers.shared.axes_kernels import BITS
from matchwood.lab.papers.shared.box_algorithm import BoxAlgorithm, BoxArrays
from matchwood.lab.papers.shared.protocol import Rules, Unsupported, Work
from matchwood.lab.papers.shared.rule_numbers import roomy

# Segments per list.
SEGMENTS = 128
# The most predicates of a rule: counts are bytes.
_MOST = 255


class OpIndex(BoxAlgorithm):
    """Boxes by pivot, and their predicates by attribute and operator.

    >>> index = OpIndex({"adults": "age >= 18", "cheap": "price < 10 and age > 18"})
    >>> index.match({"age": 18, "price": 5}), index.match({"age": 19, "price": 5})
    (['adults'], ['adults', 'cheap'])
    >>> index.match({"price": 5}), index.work.predicates
    ([], 1)
    """

    name = "OpIndex"
    paper = "Zhang, Chan, Tan 2014"

    def __init__(self, rules: Rules = (), segments: int = SEGMENTS) -> None:
        self.segments = segments
        super().__init__(rules)

    def index(self, boxes: BoxArrays) -> None:
        axes = len(self._axes)
        self._often = np.bincount(boxes.axis, minlength=axes)
        self._pivot = kernels.choose_pivots(boxes.start, boxes.axis, self._often)
        self._pivoted = np.bincount(self._pivot[self._pivot >= 0], minlength=axes)
        self._lists = np.full((axes, axes, 3), -1, np.int32)  # by pivot, attribute and operator
        box = np.repeat(np.arange(len(boxes.rule), dtype=np.int32), np.diff(boxes.start))
        entry, op, key, item = kernels.predicates_of(boxes.axis, boxes.low, boxes.high, box)
        list_key = (self._pivot[item], boxes.axis[entry], op)
        known = np.zeros(self._lists.shape, bool)
        known[list_key] = True
        self._lists[known] = np.arange(known.sum(), dtype=np.int32)
        self._count = int(known.sum())
        run = self._lists[list_key] * self.segments + _segment(key, self.segments)
        self._runs = Runs(self._count * self.segments, ordered=True)
        self._runs.fill(run, key, item)
        need = np.bincount(item, minlength=len(boxes.rule))
        _check(int(need.max(initial=0)))
        self._need = need.astype(np.uint8)
        self._scratch()

    def _scratch(self) -> None:
        self._counts = np.empty_like(self._need)
        self._out = np.empty(len(self._need), np.int32)

    def insert(self, box: int, axis: Int32Array, low: Int32Array, high: Int32Array) -> None:
        axes = len(self._axes)
        more = axes - len(self._lists)
        if more:
            self._lists = np.pad(self._lists, ((0, more), (0, more), (0, 0)), constant_values=-1)
            self._often = np.r_[self._often, np.zeros(more, np.int64)]
            self._pivoted = np.r_[self._pivoted, np.zeros(more, np.int64)]
        pivot = int(axis[np.argmin(self._often[axis])])
        entry, op, key, _ = kernels.predicates_of(axis, low, high, axis)
        _check(len(entry))
        self._often[axis] += 1
        self._pivoted[pivot] += 1
        self._pivot = roomy(self._pivot, box + 1, -1)
        self._pivot[box] = pivot
        self._need = roomy(self._need, box + 1)
        self._need[box] = len(entry)
        if len(self._need) > len(self._counts):
            self._scratch()
        for at, operator, end in zip(entry.tolist(), op.tolist(), key.tolist(), strict=True):
            list_key = (pivot, axis[at], operator)
            if self._lists[list_key] < 0:
                self._lists[list_key] = self._count
                self._count += 1
                self._runs.reserve(self._count * self.segments)
            self._runs.insert(self._run(list_key, end), end, box)

    def _run(self, list_key: tuple[int, ...], key: int) -> int:
        return int(self._lists[list_key]) * self.segments + (key * self.segments >> BITS)

    def delete(self, box: int, axis: Int32Array, low: Int32Array, high: Int32Array) -> None:
        pivot = int(self._pivot[box])
        entry, op, key, _ = kernels.predicates_of(axis, low, high, axis)
        for at, operator, end in zip(entry.tolist(), op.tolist(), key.tolist(), strict=True):
            self._runs.delete(self._run((pivot, axis[at], operator), end), end, box)
        self._often[axis] -= 1
        self._pivoted[pivot] -= 1
        self._pivot[box], self._need[box] = -1, 0

    def find(self, codes: Int32Array) -> Int32Array:
        matched, entries = kernels.count(
            codes, self._lists, self._pivoted, self._runs.at, self._runs.size, self._runs.keys,
            self._runs.items, self._need, self._counts, self._out, self.segments,
        )  # fmt: skip
        self.work = Work(entries, entries, 0)
        return self._out[:matched]

    @property
    def index_bytes(self) -> int:
        """Bytes of lists and their positions, pivots, and the number of predicates of each box."""
        return self._runs.bytes + self._lists.nbytes + 5 * self._room


def _check(predicates: int) -> None:
    if predicates > _MOST:
        raise Unsupported(f"a rule has {predicates} predicates, expected at most {_MOST}")


def _segment(key: Int32Array, segments: int) -> Int32Array:
    segment: Int32Array = (key.astype(np.int64) * segments >> BITS).astype(np.int32)
    return segment
