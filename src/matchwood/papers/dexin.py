"""DEXIN: attributes one after the other, each by what it excludes or by what it includes.

Fan, Liu and Tang, *DEXIN: A fast content-based multi-attribute event matching algorithm using
dynamic exclusive and inclusive methods*, 2016. Every attribute has two arrays of slots: boxes by
their low ends and by their high ends. The exclusive method (Algorithm 1) walks the slots beyond
the event's value and takes what it finds out of the partial result; the inclusive method
(Algorithm 2) asks every box that is left. A plan (Algorithm 4, or the best of all) says for each
event in which order attributes come and which method each has.

Slots are by codes, which lie evenly where constants do. An end that a rule leaves out is in no
slot. Of an attribute that the event lacks, both arrays are walked whole. The partial result is a
set of bits while boxes are excluded, then a list.
"""

from __future__ import annotations

from time import perf_counter
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import compiled, lean, trailing_zeros
from matchwood.papers.boxes import Boxed, Boxes
from matchwood.papers.conjunctive import BITS, LAST, MISSING, Ints
from matchwood.papers.protocol import Rules, Work
from matchwood.papers.roster import roomy
from matchwood.papers.slots import Slots, exclude

SLOTS = 1500  # τ of the paper's Table 1
EXHAUSTIVE = 24  # attributes that the best plan is looked for with: 2 ** 24 of them


class Dexin(Boxed):
    """Boxes by their ends, and a plan for each event.

    `planner` is "near", Low-Matching-Rate-First-Fit, or "optimal", the best of all plans that the
    paper's observations leave. `method` holds all attributes to one method. Without `ordered`,
    slots are lists as they came, which the paper offers for quicker subscribing.

    >>> dexin = Dexin({"adults": "age >= 18", "cheap": "price < 10 and age > 18", "b": "kind != 2"})
    >>> dexin.match({"age": 18, "price": 5, "kind": 2})
    ['adults']
    >>> dexin.plan
    [('age', 'exclusive'), ('kind', 'inclusive'), ('price', 'inclusive')]
    """

    name = "DEXIN"
    paper = "Fan, Liu, Tang 2016"
    cost = 0.0  # of the last plan, by Formula 6: 1 is as many steps as there are boxes
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

    def index(self, given: Boxes) -> None:
        """Sort ends into slots, and lay the intervals of each attribute out in a column."""
        axes, count = len(self._axes), len(given.rule)
        self._slots = Slots(given, axes, self.slots, self.ordered)
        self._low = np.full((axes, count), MISSING, np.int32)
        self._high = np.full((axes, count), LAST, np.int32)
        box = np.repeat(np.arange(count, dtype=np.int32), np.diff(given.start))
        self._low[given.axis, box], self._high[given.axis, box] = given.low, given.high
        self._constrained = np.bincount(given.axis, minlength=axes)
        self._scratch()

    def _scratch(self) -> None:
        self._alive = np.empty_like(self._slots.live)
        self._out = np.empty(64 * len(self._alive), np.int32)

    def insert(self, box: int, axis: Ints, low: Ints, high: Ints) -> None:
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

    def delete(self, box: int, axis: Ints, low: Ints, high: Ints) -> None:
        self._slots.delete(box, axis, low, high)
        self._low[axis, box], self._high[axis, box] = MISSING, LAST
        self._constrained[axis] -= 1

    def find(self, codes: Ints) -> Ints:
        """Algorithm 3: plan, then one attribute after the other."""
        begun = perf_counter()
        runs = self._slots.runs
        rate = _rates(codes, runs.size, self._constrained, self._slots.count, self.slots)
        self._plan = self._planned(rate)
        order, exclusive = self._plan
        planned = perf_counter()
        found, entries, asked, listed = _pipeline(
            codes, order, exclusive, runs.at, runs.size, runs.keys, runs.items,
            self._low, self._high, self._slots.live, self._alive, self._out,
            self.slots, self.ordered,
        )  # fmt: skip
        self.timings = (0.0, planned - begun, 0.0, perf_counter() - planned)
        self.work = Work(entries + asked, entries, listed)
        return self._out[:found]

    def _planned(self, rate: NDArray[np.float64]) -> tuple[Ints, int]:
        """Attributes in order, and how many of the first are exclusive."""
        order = np.argsort(rate, kind="stable").astype(np.int32)
        sorted_rate = rate[order]
        if self.method != "both":
            exclusive = len(rate) if self.method == "exclusive" else 0
        elif self.planner == "near":
            exclusive = int(_first_fit(sorted_rate))
        elif len(rate) > EXHAUSTIVE:
            raise ValueError(
                f"the rules have {len(rate)} attributes, expected at most {EXHAUSTIVE} for the "
                'optimal plan: take planner="near"'
            )
        else:
            chosen = _best(sorted_rate)
            first = (chosen >> np.arange(len(rate))) & 1 == 1
            order = np.concatenate((order[first], order[~first]))
            exclusive = int(first.sum())
        self.cost = float(_cost(rate[order], exclusive))
        return order, exclusive

    @property
    def plan(self) -> list[tuple[str, str]]:
        """What the last match did: attributes in order, each with its method."""
        order, exclusive = self._plan
        methods = ["exclusive"] * exclusive + ["inclusive"] * (len(order) - exclusive)
        return [(self._axes.attribute(axis), how) for axis, how in zip(order, methods, strict=True)]

    @property
    def index_bytes(self) -> int:
        """Of slots, columns of intervals, and which boxes there are."""
        return self._slots.bytes + 8 * len(self._constrained) * self._room


@compiled
def _rates(codes, size, constrained, count, slots):
    """The matching rate of the event on every attribute (Formula 3), its slots taken whole."""
    rate = np.empty(len(codes), np.float64)
    for axis in range(len(codes)):
        first = 2 * axis * slots
        none = np.int64(0)
        if codes[axis] == MISSING:
            none = constrained[axis]
        else:
            slot = (np.int64(codes[axis]) * slots) >> BITS
            for i in range(first + slot, first + slots):
                none += size[i]
            for i in range(first + slots, first + slots + slot + 1):
                none += size[i]
        rate[axis] = max(0.0, 1 - none / max(count, 1))
    return rate


@compiled
def _first_fit(rate):
    """Algorithm 4, of rates that ascend: how many attributes come first and are exclusive."""
    left = 1.0
    for k in range(1, len(rate)):
        left *= rate[k - 1]
        if left <= 1 - rate[k]:
            return k
    return len(rate)


@compiled
def _best(rate):
    """The set of exclusive attributes, in bits, that costs least: Observations 1 to 3 leave as
    many plans as there are sets but the empty one. Rates ascend."""
    best, least = 1, np.inf
    for chosen in range(1, 1 << len(rate)):
        cost, left, asked, inner = 0.0, 1.0, 0.0, 1.0
        for k in range(len(rate)):
            if chosen >> k & 1:
                cost += 1 - rate[k]
                left *= rate[k]
            else:
                asked += inner
                inner *= rate[k]
        cost += left * asked
        if cost < least:
            best, least = chosen, cost
    return best


@compiled
def _cost(rate, exclusive):
    """Formula 6: of attributes in the order of the plan."""
    cost, left = 0.0, 1.0
    for k in range(len(rate)):
        cost += 1 - rate[k] if k < exclusive else left
        left *= rate[k]
    return cost


@lean
def _pipeline(
    codes, order, exclusive, at, size, keys, items, low, high, live, alive, out, slots, ordered
):
    """Algorithm 3: the boxes that are left, out[:first of what is returned]; also the ends that
    the exclusive method met, how often the inclusive one asked, and how many boxes."""
    for i in range(len(live)):
        alive[i] = live[i]
    entries = np.int64(0)
    for k in range(exclusive):
        axis = order[k]
        entries += exclude(alive, at, size, keys, items, axis, codes[axis], slots, ordered)
    top = 0
    asked = 0
    if exclusive == len(order):
        for i in range(len(alive)):
            word = alive[i]
            while word:
                out[top] = (i << 6) + trailing_zeros(word)
                top += 1
                word &= word - np.uint64(1)
        return top, entries, asked, 0
    axis = order[exclusive]
    code = codes[axis]
    for i in range(len(alive)):  # the first that is asked makes a list of what is left
        word = alive[i]
        while word:
            box = (i << 6) + trailing_zeros(word)
            word &= word - np.uint64(1)
            asked += 1
            out[top] = box
            top += (low[axis, box] <= code) & (code <= high[axis, box])
    listed = asked
    for k in range(exclusive + 1, len(order)):
        axis = order[k]
        code = codes[axis]
        asked += top
        left = 0
        for i in range(top):
            box = out[i]
            out[left] = box
            left += (low[axis, box] <= code) & (code <= high[axis, box])
        top = left
    return top, entries, asked, listed
