"""The entry point to the kernels for one event: one call with few arguments.

Passing the thirty arrays of an index and its scratch one by one would take longer than matching a
simple event, so they are passed by address, in an `ArrayView`.

A call that releases the GIL may have to wait for it afterwards, for milliseconds if another thread
is busy with Python. A small segment is matched long before that, so its call keeps the GIL.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_view import Layout, reader
from matchwood.kernels.compiled import inlined, lean
from matchwood.kernels.records import ATOM_COLUMNS
from matchwood.match.event.cell_kernels import LeafCells, candidates
from matchwood.match.event.literal_kernels import (
    CALLS_BEFORE,
    GROUPS_FOUND,
    EventIndex,
    EventScratch,
)
from matchwood.match.event.push_kernels import expand, match_one

# Nodes of a segment that is matched without releasing the GIL, at most: an event checks a few
# hundred of them, which takes about 50 µs.
SMALL = 20_000


class Groups(NamedTuple):
    """The rules of each group."""

    group_start: NDArray[np.int32]
    always: NDArray[np.int32]


class RuleOutput(NamedTuple):
    """Where the matching rules are written, and scratch for the records that cells leave."""

    rules: NDArray[np.int32]
    candidates: NDArray[np.int32]


# What the view for one event holds, in this order.
LAYOUTS = (
    Layout(
        EventIndex, np.int32, {"records": np.int64, "first": np.int64}, {"atom_row": ATOM_COLUMNS}
    ),
    Layout(Groups, np.int32),
    Layout(LeafCells, np.int32, {"rows": np.uint64}),
    Layout(
        EventScratch,
        np.int32,
        dict.fromkeys(("state", "seen", "opaque"), np.uint8)
        | dict.fromkeys(("frames", "counts"), np.int64),
    ),
    Layout(RuleOutput, np.int32),
)
_index = reader(LAYOUTS, 0, writable=False)
_groups = reader(LAYOUTS, 1, writable=False)
_cells = reader(LAYOUTS, 2, writable=False)
_scratch = reader(LAYOUTS, 3, writable=True)
_rules = reader(LAYOUTS, 4, writable=True)


@inlined
def match_encoded(places, slots, codes, list_start, list_codes, hits, keep, epoch):
    scratch = _scratch(places)
    groups = _groups(places)
    cells = _cells(places)
    rules = _rules(places)
    scratch.counts[CALLS_BEFORE] = 0
    waiting = rules.candidates[:0]
    if len(cells.branches) > 0:
        left = candidates(cells, slots, codes, scratch.codes, rules.candidates)
        waiting = rules.candidates[:left]
    match_one(_index(places), scratch, slots, codes, list_start, list_codes, hits, waiting, epoch)
    found = scratch.out[: scratch.counts[GROUPS_FOUND]]
    return expand(found, groups.group_start, groups.always, keep, rules.rules)


def match_event(places, slots, codes, list_start, list_codes, hits, keep, epoch):
    """Match one event against a segment without lazy atoms: how many rules are written."""
    return match_encoded(places, slots, codes, list_start, list_codes, hits, keep, epoch)


match_small = lean(match_event, nogil=False)
match_large = lean(match_event)
