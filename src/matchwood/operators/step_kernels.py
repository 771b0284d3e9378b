"""One kernel call per call of an operator: the answer goes in, the next call comes out."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from typing import Any

import numpy as np

from matchwood.kernels.array_view import Layout, reader
from matchwood.kernels.compiled import lean
from matchwood.operators.order_kernels import Clauses, State, advance, choose

# Instead of a call: every rule is decided.
DONE = -1

# Instead of a call: the caller has to `conclude` the joins of complete clauses first.
JOINS = -2

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


def take_step(places: Any, call: int) -> int:
    """Take in the answer of a call, if it is one, and choose the next: its place, DONE or JOINS."""
    clauses, state = _clauses(places), _state(places)
    if call >= 0:
        advance(call, clauses, state)
        if state.counts[1] > 0:
            return JOINS
    following: int = choose(clauses, state)
    return following


# This takes microseconds. Releasing the GIL for that could mean waiting for another thread after.
step = lean(take_step, nogil=False)
