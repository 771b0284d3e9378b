"""Which call to make next, so that every rule is decided at the least expected cost.

A rule is decided by *clauses*: it is true when all literals of one of its clauses hold, and false
when each of its clauses has one that does not. A literal is what a clause asks of the answer of
one call, and several may ask different things of it (`?n > 50`, `?n > 100`).

The next call is the one that decides most for its cost. To a clause with n literals left, of a
rule with m clauses left, a literal that may fail with probability 1 - p is worth (1 - p) / (n m):
short clauses are nearer to being decided, and what is shared by many is worth the sum. The last
literal of the last clause has to be asked in any case, so that comes before all else. A binary
heap keeps calls by worth over cost; worth that has sunk is noticed when a call comes to the top.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import compiled, inlined, lean

OPEN, TRUE, FALSE = 0, 1, 2
FORCED = 1e6  # the worth of what has to be asked in any case
_LEAST = 1e-3  # the chance to fail of what never failed yet

Ints = NDArray[np.int32]
Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]


class Clauses(NamedTuple):
    """Clauses over literals, and literals of calls, both ways; clauses are in order of rules."""

    clause_start: Ints
    clause_literal: Ints
    clause_rule: Ints
    clause_joins: Bytes  # whether something is still to be checked when all its literals hold
    rule_start: Ints
    literal_start: Ints
    literal_clause: Ints
    literal_call: Ints
    call_start: Ints
    call_literal: Ints


class State(NamedTuple):
    """How far the rules of one event are decided."""

    chance: Floats  # that a literal holds
    cost: Floats  # of a call
    left: Ints  # literals of a clause that are not known
    live: Bytes  # of a clause
    clauses_left: Ints  # of a rule
    decided: Bytes  # of a rule: OPEN, TRUE, FALSE
    known: Bytes  # of a call
    holds: Bytes  # of a literal; written by the caller before `advance`
    worth: Floats  # of a call
    needed: Ints  # live clauses that a call is in
    key: Floats  # of a call in the heap: worth over cost when it was put there
    heap: Ints
    place: Ints  # of a call in the heap, -1: not there
    complete: Ints  # clauses whose literals all hold, which have joins
    counts: NDArray[np.int64]  # calls in the heap, complete clauses, rules still open


# The heap


@inlined
def _up(i, st):
    heap, place, key = st.heap, st.place, st.key
    call = heap[i]
    while i > 0:
        above = (i - 1) >> 1
        if key[heap[above]] >= key[call]:
            break
        heap[i] = heap[above]
        place[heap[i]] = i
        i = above
    heap[i] = call
    place[call] = i


@inlined
def _down(i, st):
    heap, place, key = st.heap, st.place, st.key
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
        place[heap[i]] = i
        i = below
    heap[i] = call
    place[call] = i


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
    """Add what a clause is worth to its calls, and move up those that are now worth more."""
    for k in range(cl.clause_start[clause], cl.clause_start[clause + 1]):
        literal = cl.clause_literal[k]
        call = cl.literal_call[literal]
        if not st.known[call]:
            st.worth[call] += _worth(clause, st.chance[literal], cl, st)
            st.needed[call] += 1
            now = st.worth[call] / st.cost[call]
            if st.place[call] >= 0 and now > st.key[call]:
                st.key[call] = now
                _up(st.place[call], st)


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
    st.clauses_left[:] = 0
    st.decided[:] = OPEN
    st.known[:] = 0
    st.worth[:] = 0.0
    st.needed[:] = 0
    for clause in range(len(cl.clause_rule)):
        st.left[clause] = cl.clause_start[clause + 1] - cl.clause_start[clause]
        st.live[clause] = 1
        st.clauses_left[cl.clause_rule[clause]] += 1
    st.counts[2] = len(st.decided)
    st.place[:] = -1
    for clause in range(len(cl.clause_rule)):
        _enter(clause, cl, st)
    for call in range(len(st.known)):
        st.key[call] = st.worth[call] / st.cost[call]
        st.heap[call] = call
        st.place[call] = call
    st.counts[0] = len(st.known)
    for i in range(len(st.known) // 2, -1, -1):
        if i < len(st.known):
            _down(i, st)


@lean
def choose(cl, st):
    """The call to make next, or -1 where every rule is decided."""
    while st.counts[2] > 0 and st.counts[0] > 0:
        call = st.heap[0]
        now = st.worth[call] / st.cost[call]
        if st.needed[call] > 0 and not st.known[call] and now < st.key[call] * (1 - 1e-9):
            st.key[call] = now
            _down(0, st)
            continue
        st.counts[0] -= 1
        st.place[call] = -1
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
    """What the joins of a complete clause came to."""
    if st.live[clause]:
        if holds:
            _succeed(clause, cl, st)
        else:
            _fail(clause, cl, st)


# Making a problem


@compiled
def gather(start, literals, literal_call, new_literal, new_call):
    """The distinct literals and calls of clauses, renumbered.

    `new_literal` and `new_call` are -1 everywhere, and so they are left.
    """
    count = 0
    found = np.empty(len(literals), np.int32)
    local = np.empty(len(literals), np.int32)
    for k in range(len(literals)):
        literal = literals[k]
        if new_literal[literal] < 0:
            new_literal[literal] = count
            found[count] = literal
            count += 1
        local[k] = new_literal[literal]
    found = found[:count].copy()
    calls = np.empty(count, np.int32)
    call_of = np.empty(count, np.int32)
    number = 0
    for i in range(count):
        new_literal[found[i]] = -1
        call = literal_call[found[i]]
        if new_call[call] < 0:
            new_call[call] = number
            calls[number] = call
            number += 1
        call_of[i] = new_call[call]
    calls = calls[:number].copy()
    for i in range(number):
        new_call[calls[i]] = -1
    return local, found, call_of, calls


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


def clauses_over(
    clause_start: Ints,
    clause_literal: Ints,
    clause_rule: Ints,
    clause_joins: Bytes,
    literal_call: Ints,
    calls: int,
) -> Clauses:
    """Clauses in order of rules, all rules with one, over literals 0.. and calls 0.."""
    rules = int(clause_rule[-1]) + 1 if len(clause_rule) else 0
    rule_start = np.searchsorted(clause_rule, np.arange(rules + 1)).astype(np.int32)
    literal_start, literal_clause = transposed(clause_start, clause_literal, len(literal_call))
    each = np.arange(len(literal_call) + 1, dtype=np.int32)
    call_start, call_literal = transposed(each, literal_call, calls)
    return Clauses(
        clause_start, clause_literal, clause_rule, clause_joins, rule_start, literal_start,
        literal_clause, literal_call, call_start, call_literal,
    )  # fmt: skip


def new_state(clauses: Clauses, chance: Floats, cost: Floats) -> State:
    """Nothing is known yet; `cost` is over 0. `begin` makes a used one as good as new."""
    number, rules = len(clauses.clause_rule), len(clauses.rule_start) - 1
    literals, calls = len(clauses.literal_call), len(cost)
    ints, small = np.int32, np.uint8
    state = State(
        chance, cost, np.zeros(number, ints), np.zeros(number, small), np.zeros(rules, ints),
        np.zeros(rules, small), np.zeros(calls, small), np.zeros(literals, small),
        np.zeros(calls), np.zeros(calls, ints), np.zeros(calls), np.zeros(calls, ints),
        np.zeros(calls, ints), np.zeros(number, ints), np.zeros(3, np.int64),
    )  # fmt: skip
    begin(clauses, state)
    return state
