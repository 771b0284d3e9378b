"""One way into the kernels of `order` for each call of an operator: answer in, next call out."""

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.compiled import lean
from matchwood.operators.order import Clauses, State, advance, choose
from matchwood.views import Layout, reader

DONE, JOINS = -1, -2  # in place of a call: nothing is open; joins of clauses are to be concluded

LAYOUTS = (
    Layout(Clauses, np.int32, {"clause_joins": np.uint8}),
    Layout(
        State,
        np.int32,
        dict.fromkeys(("chance", "cost", "worth", "key"), np.float64)
        | dict.fromkeys(("live", "decided", "known", "holds"), np.uint8)
        | {"counts": np.int64},
    ),
)
_clauses = reader(LAYOUTS, 0, writable=False)
_state = reader(LAYOUTS, 1, writable=True)


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
step = lean(_step, nogil=False)
