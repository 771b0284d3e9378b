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

import numpy as np

from matchwood.kernels.array_types import FloatArray, Int32Array, UInt8Array
from matchwood.operators.order_kernels import Clauses, State, begin, transposed


def clauses_over(
    clause_start: Int32Array,
    clause_literal: Int32Array,
    clause_rule: Int32Array,
    clause_joins: UInt8Array,
    literal_call: Int32Array,
    calls: int,
) -> Clauses:
    """The arrays of clauses, which are given in order of their rules.

    Every rule has a clause; rules, literals and calls are numbered from 0 without gaps.
    """
    rules = int(clause_rule[-1]) + 1 if len(clause_rule) else 0
    rule_start = np.searchsorted(clause_rule, np.arange(rules + 1)).astype(np.int32)
    literal_start, literal_clause = transposed(clause_start, clause_literal, len(literal_call))
    each = np.arange(len(literal_call) + 1, dtype=np.int32)
    call_start, call_literal = transposed(each, literal_call, calls)
    return Clauses(
        clause_start, clause_literal, clause_rule, clause_joins, rule_start, literal_start,
        literal_clause, literal_call, call_start, call_literal,
    )  # fmt: skip


def new_state(clauses: Clauses, chance: FloatArray, cost: FloatArray) -> State:
    """The state before any call is made; costs are in seconds and above 0.

    `begin` resets a state that was used.
    """
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
