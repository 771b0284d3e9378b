"""A heap of calls by worth over cost, and what an answer decides; `order` gives the reasons."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import FloatArray, Int32Array, UInt8Array
from matchwood.kernels.compiled import compiled, inlined, lean
from matchwood.kernels.filling import fill_array

# Whether a rule is decided, and how.
OPEN, TRUE, FALSE = 0, 1, 2

# The worth of a call that has to be made in any case.
FORCED = 1e6

# The chance to fail that is assumed of a literal that has never failed.
_LEAST = 1e-3


class Clauses(NamedTuple):
    """Which literals each clause has, which call each literal asks, and both the other way round.

    Clauses are in order of their rules.
    """

    clause_start: Int32Array
    clause_literal: Int32Array
    clause_rule: Int32Array
    clause_joins: UInt8Array  # whether something is still to be checked when all its literals hold
    rule_start: Int32Array
    literal_start: Int32Array
    literal_clause: Int32Array
    literal_call: Int32Array
    call_start: Int32Array
    call_literal: Int32Array


class State(NamedTuple):
    """How far the rules of one event are decided."""

    chance: FloatArray  # that a literal holds
    cost: FloatArray  # of a call
    left: Int32Array  # literals of a clause that are not known
    live: UInt8Array  # of a clause
    clauses_left: Int32Array  # of a rule
    decided: UInt8Array  # of a rule: OPEN, TRUE, FALSE
    known: UInt8Array  # of a call
    holds: UInt8Array  # of a literal; written by the caller before `advance`
    worth: FloatArray  # of a call
    needed: Int32Array  # live clauses that a call is in
    key: FloatArray  # of a call in the heap: worth over cost when it was put there
    heap: Int32Array
    heap_index: Int32Array  # of each call; -1 if it is not in the heap
    complete: Int32Array  # clauses whose literals all hold, which have joins
    counts: NDArray[np.int64]  # calls in the heap, complete clauses, rules still open


# The heap: st.heap[: st.counts[0]], the call with the largest key first


@inlined
def _up(i, st):
    heap, heap_index, key = st.heap, st.heap_index, st.key
    call = heap[i]
    while i > 0:
        above = (i - 1) >> 1
        if key[heap[above]] >= key[call]:
            break
        heap[i] = heap[above]
        heap_index[heap[i]] = i
        i = above
    heap[i] = call
    heap_index[call] = i


@inlined
def _down(i, st):
    heap, heap_index, key = st.heap, st.heap_index, st.key
    size = st.counts[0]
    call = heap[i]
    while True:
        below = 2 * i + 1
        if below >= size:
            break
        if below + 1 < size and key[heap[below + 1]] > key[heap[below]]:
            below += 1
        if key[heap[below]] <= key[call]:
            break
        heap[i] = heap[below]
        heap_index[heap[i]] = i
        i = below
    heap[i] = call
    heap_index[call] = i


# What a clause is worth to its calls


@inlined
def _worth(clause, chance, cl, st):
    left = st.left[clause]
    others = st.clauses_left[cl.clause_rule[clause]]
    if left == 1 and others == 1:
        return FORCED
    worth = max(1.0 - chance, _LEAST) / (left * others)
    return worth + chance if left == 1 else worth


@inlined
def _withdraw(clause, cl, st):
    """Take what a clause is worth from its calls."""
    for k in range(cl.clause_start[clause], cl.clause_start[clause + 1]):
        literal = cl.clause_literal[k]
        call = cl.literal_call[literal]
        if not st.known[call]:
            st.worth[call] -= _worth(clause, st.chance[literal], cl, st)
            st.needed[call] -= 1


@inlined
def _enter(clause, cl, st):
    """Add what a clause is worth to its calls, and move those up that are now worth more."""
    for k in range(cl.clause_start[clause], cl.clause_start[clause + 1]):
        literal = cl.clause_literal[k]
        call = cl.literal_call[literal]
        if not st.known[call]:
            st.worth[call] += _worth(clause, st.chance[literal], cl, st)
            st.needed[call] += 1
            ratio = st.worth[call] / st.cost[call]
            if st.heap_index[call] >= 0 and ratio > st.key[call]:
                st.key[call] = ratio
                _up(st.heap_index[call], st)


@inlined
def _fail(clause, cl, st):
    """A clause that cannot become true; its worth is withdrawn already."""
    rule = cl.clause_rule[clause]
    st.live[clause] = 0
    for other in range(cl.rule_start[rule], cl.rule_start[rule + 1]):
        if st.live[other] and st.left[other] > 0:
            _withdraw(other, cl, st)
    st.clauses_left[rule] -= 1
    if st.clauses_left[rule] == 0:
        st.decided[rule] = FALSE
        st.counts[2] -= 1
        return
    for other in range(cl.rule_start[rule], cl.rule_start[rule + 1]):
        if st.live[other] and st.left[other] > 0:
            _enter(other, cl, st)


@inlined
def _succeed(clause, cl, st):
    """A clause that is true, and its rule with it."""
    rule = cl.clause_rule[clause]
    st.decided[rule] = TRUE
    st.counts[2] -= 1
    for other in range(cl.rule_start[rule], cl.rule_start[rule + 1]):
        if st.live[other] and st.left[other] > 0:
            _withdraw(other, cl, st)
        st.live[other] = 0


# What the caller calls


@lean
def begin(cl, st):
    """Weigh all calls, before any is made."""
    fill_array(st.clauses_left, 0)
    fill_array(st.decided, OPEN)
    fill_array(st.known, 0)
    fill_array(st.worth, 0.0)
    fill_array(st.needed, 0)
    for clause in range(len(cl.clause_rule)):
        st.left[clause] = cl.clause_start[clause + 1] - cl.clause_start[clause]
        st.live[clause] = 1
        st.clauses_left[cl.clause_rule[clause]] += 1
    st.counts[2] = len(st.decided)
    fill_array(st.heap_index, -1)
    for clause in range(len(cl.clause_rule)):
        _enter(clause, cl, st)
    for call in range(len(st.known)):
        st.key[call] = st.worth[call] / st.cost[call]
        st.heap[call] = call
        st.heap_index[call] = call
    st.counts[0] = len(st.known)
    for i in range(len(st.known) // 2, -1, -1):
        if i < len(st.known):
            _down(i, st)


@lean
def choose(cl, st):
    """The call to make next, or -1 where every rule is decided."""
    while st.counts[2] > 0 and st.counts[0] > 0:
        call = st.heap[0]
        ratio = st.worth[call] / st.cost[call]
        if st.needed[call] > 0 and not st.known[call] and ratio < st.key[call] * (1 - 1e-9):
            st.key[call] = ratio
            _down(0, st)
            continue
        st.counts[0] -= 1
        st.heap_index[call] = -1
        if st.counts[0] > 0:
            st.heap[0] = st.heap[st.counts[0]]
            _down(0, st)
        if st.needed[call] > 0 and not st.known[call]:
            return call
    return -1


@lean
def advance(call, cl, st):
    """Take in the answer of a call: whether its literals hold is in `holds`.

    Clauses of which all literals hold, and which have joins, are in complete[:counts[1]] then:
    `conclude` each.
    """
    st.known[call] = 1
    st.counts[1] = 0
    for i in range(cl.call_start[call], cl.call_start[call + 1]):
        literal = cl.call_literal[i]
        for j in range(cl.literal_start[literal], cl.literal_start[literal + 1]):
            clause = cl.literal_clause[j]
            if not st.live[clause]:
                continue
            _withdraw(clause, cl, st)
            if not st.holds[literal]:
                _fail(clause, cl, st)
                continue
            st.left[clause] -= 1
            if st.left[clause] > 0:
                _enter(clause, cl, st)
            elif cl.clause_joins[clause]:
                st.complete[st.counts[1]] = clause
                st.counts[1] += 1
            else:
                _succeed(clause, cl, st)


@lean
def conclude(clause, holds, cl, st):
    """Take in whether the joins of a complete clause hold."""
    if st.live[clause]:
        if holds:
            _succeed(clause, cl, st)
        else:
            _fail(clause, cl, st)


# Preparing a problem


@compiled
def distinct_calls(start, literals, literal_call, new_literal, new_call):
    """The distinct literals and calls of clauses, renumbered.

    `new_literal` and `new_call` are scratch: -1 everywhere before and after.
    """
    count = 0
    distinct_literals = np.empty(len(literals), np.int32)
    local = np.empty(len(literals), np.int32)
    for k in range(len(literals)):
        literal = literals[k]
        if new_literal[literal] < 0:
            new_literal[literal] = count
            distinct_literals[count] = literal
            count += 1
        local[k] = new_literal[literal]
    distinct_literals = distinct_literals[:count].copy()
    calls = np.empty(count, np.int32)
    call_of = np.empty(count, np.int32)
    number = 0
    for i in range(count):
        new_literal[distinct_literals[i]] = -1
        call = literal_call[distinct_literals[i]]
        if new_call[call] < 0:
            new_call[call] = number
            calls[number] = call
            number += 1
        call_of[i] = new_call[call]
    calls = calls[:number].copy()
    for i in range(number):
        new_call[calls[i]] = -1
    return local, distinct_literals, call_of, calls


@compiled
def transposed(start, items, size):
    """(start, owners) by item, of rows start[i]..start[i + 1] of items."""
    bounds = np.zeros(size + 1, np.int32)
    for item in items:
        bounds[item + 1] += 1
    for i in range(size):
        bounds[i + 1] += bounds[i]
    at = bounds[:-1].copy()
    owners = np.empty(len(items), np.int32)
    for row in range(len(start) - 1):
        for k in range(start[row], start[row + 1]):
            owners[at[items[k]]] = row
            at[items[k]] += 1
    return bounds, owners
