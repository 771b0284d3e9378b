"""Kernels of DEXIN: matching rates, plans, and the pipeline that follows a plan."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled, lean, trailing_zeros
from matchwood.lab.papers.boxes.slots_kernels import exclude
from matchwood.lab.papers.shared.axes_kernels import BITS, MISSING


@compiled
def matching_rates(codes, beyond, constrained, count, slots):
    """The matching rate of the event on every attribute (Formula 3), its slots taken whole."""
    rate = np.empty(len(codes), np.float64)
    for axis in range(len(codes)):
        none = np.int64(constrained[axis])
        if codes[axis] != MISSING:
            none = np.int64(beyond[axis, (np.int64(codes[axis]) * slots) >> BITS])
        rate[axis] = max(0.0, 1 - none / max(count, 1))
    return rate


@compiled
def first_fit(rate):
    """Algorithm 4, for ascending rates: how many of the first attributes are exclusive."""
    left = 1.0
    for k in range(1, len(rate)):
        left *= rate[k - 1]
        if left <= 1 - rate[k]:
            return k
    return len(rate)


@compiled
def best_plan(rate):
    """The set of exclusive attributes, in bits, that costs least; rates ascend.

    Observations 1 to 3 leave one plan per set of attributes that is not empty.
    """
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
def plan_cost(rate, exclusive):
    """The cost of a plan (Formula 6); attributes are in the order of the plan."""
    cost, left = 0.0, 1.0
    for k in range(len(rate)):
        cost += 1 - rate[k] if k < exclusive else left
        left *= rate[k]
    return cost


@lean
def pipeline(
    codes, order, exclusive, at, size, keys, items, low, high, live, alive, out, slots, ordered
):
    """Algorithm 3: write the boxes that are left to `out`; returns how many, the ends that the
    exclusive method met, the tests of the inclusive method, and the boxes that it tested."""
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
    for i in range(len(alive)):  # the first inclusive attribute makes a list of what is left
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
