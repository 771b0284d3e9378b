"""The way into the kernels for one event: one call, with few arguments.

For the thirty arrays of an index and its scratch, to hand them over one by one costs more than a
simple event: they come by address, in a `View`.

A call that lets other threads run may have to wait for one of them afterwards, milliseconds where
that is busy with Python. A small segment is done long before, so it is asked by a call that does
not let go.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import inlined, lean
from matchwood.index.layout import ATOM_COLUMNS
from matchwood.match.cells import Cells, candidates
from matchwood.match.kernels import expand, match_one
from matchwood.match.literals import Index, Scratch
from matchwood.views import Layout, reader

Ints = NDArray[np.int32]
Bytes = NDArray[np.uint8]

SMALL = 20_000  # nodes: an event asks a few hundred of them, which takes some 50 µs


class Groups(NamedTuple):
    """Which rules follow from a group."""

    group_start: NDArray[np.int32]
    always: NDArray[np.int32]


class Rules(NamedTuple):
    """Where the rules that were found are written to, and the records that cells leave."""

    rules: NDArray[np.int32]
    candidates: NDArray[np.int32]


# What a view holds for one event, in this order.
LAYOUTS = (
    Layout(Index, np.int32, {"records": np.int64, "first": np.int64}, {"atom_row": ATOM_COLUMNS}),
    Layout(Groups, np.int32),
    Layout(Cells, np.int32, {"rows": np.uint64}),
    Layout(
        Scratch,
        np.int32,
        dict.fromkeys(("state", "seen", "opaque"), np.uint8)
        | dict.fromkeys(("frames", "counts"), np.int64),
    ),
    Layout(Rules, np.int32),
)
_index = reader(LAYOUTS, 0, writable=False)
_groups = reader(LAYOUTS, 1, writable=False)
_cells = reader(LAYOUTS, 2, writable=False)
_scratch = reader(LAYOUTS, 3, writable=True)
_rules = reader(LAYOUTS, 4, writable=True)


@inlined
def _match(places, slots, codes, list_start, list_codes, hits, keep, epoch):  # type: ignore[no-untyped-def]
    scratch = _scratch(places)
    groups = _groups(places)
    cells = _cells(places)
    rules = _rules(places)
    scratch.counts[4] = 0
    waiting = rules.candidates[:0]
    if len(cells.branches) > 0:
        left = candidates(cells, slots, codes, scratch.codes, rules.candidates)
        waiting = rules.candidates[:left]
    match_one(_index(places), scratch, slots, codes, list_start, list_codes, hits, waiting, epoch)
    found = scratch.out[: scratch.counts[0]]
    return expand(found, groups.group_start, groups.always, keep, rules.rules)


def match_event(places, slots, codes, list_start, list_codes, hits, keep, epoch):  # type: ignore[no-untyped-def]
    """Match one event against a segment without lazy atoms: how many rules are written."""
    return _match(places, slots, codes, list_start, list_codes, hits, keep, epoch)


match_small = lean(match_event, nogil=False)
match_large = lean(match_event)
