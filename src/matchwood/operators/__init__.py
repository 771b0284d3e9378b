"""Operators: functions that rules call, which take time and may bind variables.

The index never calls an operator. It finds the rules that are true without a call, and for the
others the conditions under which calls are worth making; what is left is decided here.

    rule ── residue ── clauses ──┐
                                 ├── deciding ── true rules
    event, index's conditions ───┘      │  ▲
                                  order │  │ answers
                                        ▼  │
                              registry (call_execution) ── report, learning

    registry          `@operator`, and the operators of a matcher by name
    call_execution    how a function is run: directly, with a time limit, or as a coroutine
    geo               operators for positions on Earth, which every matcher knows
    residue           what remains of one rule once all predicates without calls are known
    clauses           the residues of many rules as arrays
    order             which call to make next, at the least expected cost
    order_kernels     the heap and the bookkeeping of `order`
    step_kernels      one kernel call per answer: take it in, choose the next call
    learning          estimated costs of calls and chances of literals
    learning_kernels  the running means of `learning`
    open_clauses      an event with the clauses that are open, and how far they are decided
    deciding          asks call by call, for one event or for many in rounds
    report            how often operators were called, how long they took, what failed
"""

from matchwood.operators.registry import Operator, Operators, load, operator

__all__ = ["Operator", "Operators", "load", "operator"]
