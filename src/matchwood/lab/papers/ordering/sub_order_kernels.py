"""Kernels of Sub-Order: comparing chains, ordering them, and evaluating in that order."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled


@compiled
def difference(a, b, selectivity, cost):
    """C(a, b) - C(b, a): a shared predicate that is false spares the other chain.

    Chains are in one order of all predicates, so links do not cross. `reach` is the chance to get
    to a link; `above` the cost of what stands above it, links before it left out.
    """
    total = 0.0
    i = j = 0
    reach_a = reach_b = 1.0  # all above is true
    own_a = own_b = 1.0  # all above but links is true
    above_a = above_b = 0.0
    while i < len(a) and j < len(b):
        # the next link is the next predicate of a that b has, and all before it in b
        link = -1
        for k in range(i, len(a)):
            for z in range(j, len(b)):
                if a[k] == b[z]:
                    link = z
                    break
            if link >= 0:
                break
            above_a += own_a * cost[a[k]]
            own_a *= selectivity[a[k]]
            reach_a *= selectivity[a[k]]
            i = k + 1
        if link < 0:
            break
        for z in range(j, link):
            above_b += own_b * cost[b[z]]
            own_b *= selectivity[b[z]]
            reach_b *= selectivity[b[z]]
        chance = selectivity[b[link]]
        total += (1 - chance) * (reach_b * above_a - reach_a * above_b)
        reach_a *= chance
        reach_b *= chance
        i += 1
        j = link + 1
    return total


@compiled
def compare_pairs(start, chain, owner_start, owner, selectivity, cost, most):
    """Pairs that share a predicate, the one to come first, and what that saves."""
    count = 0
    for t in range(len(owner_start) - 1):
        size = owner_start[t + 1] - owner_start[t]
        count += size * (size - 1) // 2 if size <= most else size * most
    before = np.empty(count, np.int32)
    after = np.empty(count, np.int32)
    saves = np.empty(count)
    count = 0
    for t in range(len(owner_start) - 1):
        low, high = owner_start[t], owner_start[t + 1]
        size = high - low
        for i in range(low, high):
            others = high - i - 1 if size <= most else most
            for j in range(others):
                if size <= most:
                    other = owner[i + 1 + j]
                else:
                    other = owner[low + (i - low + 1 + j * (size - 1) // most) % size]
                subscription = owner[i]
                if subscription == other:
                    continue
                cost_difference = difference(
                    chain[start[subscription] : start[subscription + 1]],
                    chain[start[other] : start[other + 1]],
                    selectivity,
                    cost,
                )
                if cost_difference == 0.0:
                    continue
                before[count] = subscription if cost_difference < 0 else other
                after[count] = other if cost_difference < 0 else subscription
                saves[count] = abs(cost_difference)
                count += 1
    return before[:count], after[:count], saves[:count]


@compiled
def join_pairs(before, after, size):
    """Join chains into runs, taking the pairs in turn; returns all chains, run after run."""
    next_of = np.full(size, -1, np.int32)
    has_before = np.zeros(size, np.bool_)
    run = np.arange(size)
    heads = np.empty(size, np.int32)
    head_count = 0
    for i in range(len(before)):
        u, v = before[i], after[i]
        if next_of[u] >= 0 or has_before[v]:
            continue
        a, b = u, v
        while run[a] != a:
            run[a] = run[run[a]]
            a = run[a]
        while run[b] != b:
            run[b] = run[run[b]]
            b = run[b]
        if a == b:
            continue
        run[a] = b
        next_of[u] = v
        has_before[v] = True
        heads[head_count] = u
        head_count += 1
    order = np.empty(size, np.int32)
    done = np.zeros(size, np.bool_)
    previous = np.full(size, -1, np.int32)
    for u in range(size):
        if next_of[u] >= 0:
            previous[next_of[u]] = u
    count = 0
    for i in range(head_count + size):
        u = heads[i] if i < head_count else i - head_count
        if done[u]:
            continue
        while previous[u] >= 0:
            u = previous[u]
        while u >= 0:
            order[count] = u
            count += 1
            done[u] = True
            u = next_of[u]
    return order


@compiled
def evaluate(order, start, chain, owner_start, owner, truth):
    """§4.2.2: chain by chain from its top; what is false removes every chain that has it."""
    known = np.zeros(len(truth), np.bool_)
    removed = np.zeros(len(start) - 1, np.bool_)
    evaluated = np.empty(len(truth), np.int32)
    count = 0
    for subscription in order:
        for k in range(start[subscription], start[subscription + 1]):
            if removed[subscription]:
                break
            t = chain[k]
            if known[t]:
                continue
            known[t] = True
            evaluated[count] = t
            count += 1
            if not truth[t]:
                for j in range(owner_start[t], owner_start[t + 1]):
                    removed[owner[j]] = True
    return evaluated[:count], ~removed
