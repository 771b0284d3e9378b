"""One way into the kernels of `order` for each call of an operator: answer in, next call out."""

from __future__ import annotations

from typing import Any

from matchwood.compiled import lean
from matchwood.operators.order import Clauses, State, advance, choose
from matchwood.views import reader

DONE, JOINS = -1, -2  # in place of a call: nothing is open; joins of clauses are to be concluded

_KINDS = (Clauses, State)
_clauses = reader(_KINDS, 0, False)
_state = reader(_KINDS, 1, True)


def _step(places: Any, call: int) -> int:
    """Take in the answer of a call, if it is one, and choose the next: its place, DONE or JOINS."""
    clauses, state = _clauses(places), _state(places)
    if call >= 0:
        advance(call, clauses, state)
        if state.counts[1] > 0:
            return JOINS
    following: int = choose(clauses, state)
    return following


# It is over in microseconds: who lets others run for that may have to wait for them afterwards.
step = lean(_step, over=("matchwood.operators.order", "matchwood.views"), nogil=False)
