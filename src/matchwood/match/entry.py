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
from matchwood.match.cells import Cells, candidates
from matchwood.match.kernels import expand, match_one
from matchwood.match.literals import Index, Scratch
from matchwood.views import reader

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


_KINDS = (Index, Groups, Cells, Scratch, Rules)
_index = reader(_KINDS, 0, False, {"atom_row": 7})
_groups = reader(_KINDS, 1, False)
_cells = reader(_KINDS, 2, False)
_scratch = reader(_KINDS, 3, True)
_rules = reader(_KINDS, 4, True)


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


_OVER = (
    "matchwood.match.kernels",
    "matchwood.match.cells",
    "matchwood.match.cells_split",
    "matchwood.views",
)
match_small = lean(match_event, over=_OVER, nogil=False)
match_large = lean(match_event, over=_OVER)
