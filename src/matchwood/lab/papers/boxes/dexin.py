"""DEXIN: attributes one after the other, each by what it excludes or by what it includes.

Fan, Liu and Tang, *DEXIN: A fast content-based multi-attribute event matching algorithm using
dynamic exclusive and inclusive methods*, 2016. Every attribute has two arrays of slots: boxes by
their low ends and by their high ends. The exclusive method (Algorithm 1) walks the slots beyond
the event's value and removes what it finds from the partial result; the inclusive method
(Algorithm 2) tests every box that is left. A plan (Algorithm 4, or the best of all) says for each
event in which order attributes come and which method each has.

Slots are ranges of codes, which are spread evenly over the constants. An end that a rule leaves
out is in no slot. How many ends the exclusive method would walk is known for each slot, so that a
matching rate takes one access per attribute. If the event lacks an attribute, all of its slots are
walked. The partial result is a set of bits while boxes are excluded, then a list.

The paper has other containers: a red-black tree in each slot, where here is a sorted run of one
array for all slots, and a hash map with a linked list for partial results, where here are bits.
"""

from __future__ import annotations

from time import thread_time
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import Int32Array
from matchwood.lab.papers.boxes import dexin_kernels as kernels
from matchwood.lab.papers.boxes.slots import Slots
from matchwood.lab.papers.shared.axes_kernels import LAST, MISSING
from matchwood.lab.papers.shared.box_algorithm import BoxAlgorithm, BoxArrays
from matchwood.lab.papers.shared.protocol import Rules, Work
from matchwood.lab.papers.shared.rule_numbers import roomy

# Slots per array: τ of the paper's Table 1.
SLOTS = 1500
# The most attributes for which all plans are compared: there are 2 ** 24 of them.
EXHAUSTIVE = 24


class Dexin(BoxAlgorithm):
    """Boxes by their ends, and a plan for each event.

    `planner` is "near", Low-Matching-Rate-First-Fit, or "optimal", the best of all plans that the
    paper's observations leave. `method` uses one method for all attributes. Without
    `ordered`, slots are unsorted lists, which the paper offers for quicker subscribing.

    >>> dexin = Dexin({"adults": "age >= 18", "cheap": "price < 10 and age > 18", "b": "kind != 2"})
    >>> dexin.match({"age": 18, "price": 5, "kind": 2})
    ['adults']
    >>> dexin.plan
    [('age', 'exclusive'), ('kind', 'inclusive'), ('price', 'inclusive')]
    """

    name = "DEXIN"
    paper = "Fan, Liu, Tang 2016"
    cost = 0.0  # cost of the last plan, by Formula 6; 1 is as many steps as there are boxes
    timings = (
        0.0,
        0.0,
        0.0,
        0.0,
    )  # seconds of the last match: the second plan, the fourth the rest

    def __init__(
        self,
        rules: Rules = (),
        slots: int = SLOTS,
        planner: Literal["near", "optimal"] = "near",
        method: Literal["both", "exclusive", "inclusive"] = "both",
        ordered: bool = True,
    ) -> None:
        self.slots, self.planner, self.method, self.ordered = slots, planner, method, ordered
        super().__init__(rules)

    def index(self, boxes: BoxArrays) -> None:
        """Sort ends into slots, and lay the intervals of each attribute out in a column."""
        axes, count = len(self._axes), len(boxes.rule)
        self._slots = Slots(boxes, axes, self.slots, self.ordered)
        self._low = np.full((axes, count), MISSING, np.int32)
        self._high = np.full((axes, count), LAST, np.int32)
        box = np.repeat(np.arange(count, dtype=np.int32), np.diff(boxes.start))
        self._low[boxes.axis, box], self._high[boxes.axis, box] = boxes.low, boxes.high
        self._constrained = np.bincount(boxes.axis, minlength=axes)
        self._scratch()

    def _scratch(self) -> None:
        self._alive = np.empty_like(self._slots.live)
        self._out = np.empty(64 * len(self._alive), np.int32)

    def insert(self, box: int, axis: Int32Array, low: Int32Array, high: Int32Array) -> None:
        axes = len(self._axes)
        self._slots.insert(box, axis, low, high, axes)
        if len(self._slots.live) > len(self._alive):
            self._scratch()
        if axes > len(self._low):
            more = axes - len(self._low)
            self._constrained = np.r_[self._constrained, np.zeros(more, np.int64)]
            shape = (more, self._low.shape[1])
            self._low = np.concatenate((self._low, np.full(shape, MISSING, np.int32)))
            self._high = np.concatenate((self._high, np.full(shape, LAST, np.int32)))
        if box >= self._low.shape[1]:
            self._low = np.ascontiguousarray(roomy(self._low.T, box + 1, MISSING).T)
            self._high = np.ascontiguousarray(roomy(self._high.T, box + 1, LAST).T)
        self._low[axis, box], self._high[axis, box] = low, high
        self._constrained[axis] += 1

    def delete(self, box: int, axis: Int32Array, low: Int32Array, high: Int32Array) -> None:
        self._slots.delete(box, axis, low, high)
        self._low[axis, box], self._high[axis, box] = MISSING, LAST
        self._constrained[axis] -= 1

    def find(self, codes: Int32Array) -> Int32Array:
        """Algorithm 3: plan, then one attribute after the other."""
        begun = thread_time()
        runs = self._slots.runs
        rate = kernels.matching_rates(
            codes, self._slots.beyond, self._constrained, self._slots.count, self.slots
        )
        self._plan = self._planned(rate)
        order, exclusive = self._plan
        planned = thread_time()
        matched, entries, asked, listed = kernels.pipeline(
            codes, order, exclusive, runs.at, runs.size, runs.keys, runs.items,
            self._low, self._high, self._slots.live, self._alive, self._out,
            self.slots, self.ordered,
        )  # fmt: skip
        self.timings = (0.0, planned - begun, 0.0, thread_time() - planned)
        self.work = Work(entries + asked, entries, listed)
        return self._out[:matched]

    def _planned(self, rate: NDArray[np.float64]) -> tuple[Int32Array, int]:
        """Attributes in order, and how many of the first are exclusive."""
        order = np.argsort(rate, kind="stable").astype(np.int32)
        sorted_rate = rate[order]
        if self.method != "both":
            exclusive = len(rate) if self.method == "exclusive" else 0
        elif self.planner == "near":
            exclusive = int(kernels.first_fit(sorted_rate))
        elif len(rate) > EXHAUSTIVE:
            raise ValueError(
                f"the rules have {len(rate)} attributes, expected at most {EXHAUSTIVE} for the "
                'optimal plan: take planner="near"'
            )
        else:
            chosen = kernels.best_plan(sorted_rate)
            first = (chosen >> np.arange(len(rate))) & 1 == 1
            order = np.concatenate((order[first], order[~first]))
            exclusive = int(first.sum())
        self.cost = float(kernels.plan_cost(rate[order], exclusive))
        return order, exclusive

    @property
    def plan(self) -> list[tuple[str, str]]:
        """The plan of the last match: attributes in order, each with its method."""
        order, exclusive = self._plan
        methods = ["exclusive"] * exclusive + ["inclusive"] * (len(order) - exclusive)
        return [(self._axes.attribute(axis), how) for axis, how in zip(order, methods, strict=True)]

    @property
    def index_bytes(self) -> int:
        """Bytes of slots with their counts, columns of intervals, and the bits of live boxes."""
        return self._slots.bytes + 8 * len(self._constrained) * self._room
