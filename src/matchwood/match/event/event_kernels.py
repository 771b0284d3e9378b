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
from matchwood.kernels.event_entries import entry_code, entry_slot
from matchwood.kernels.records import ROW_COLUMNS, code_of_list
from matchwood.match.event.bound_kernels import BoundBlocks, BoundMasks, inside
from matchwood.match.event.cell_kernels import LeafCells, candidates
from matchwood.match.event.literal_kernels import (
    CALLS_BEFORE,
    GROUPS_FOUND,
    EventIndex,
    EventScratch,
)
from matchwood.match.event.push_kernels import expand_groups, match_one

# Nodes of a segment that is matched without releasing the GIL, at most: an event checks a few
# hundred of them, which takes about 50 µs.
SMALL = 20_000


class Groups(NamedTuple):
    """The rules of each group."""

    group_start: NDArray[np.int32]  # from the first group on that has several rules
    always: NDArray[np.int32]


class RuleOutput(NamedTuple):
    """Where the matching rules are written, and scratch for the records that are to be checked."""

    rules: NDArray[np.int32]
    candidates: NDArray[np.int32]


class UnpackedEvent(NamedTuple):
    """Where the entries of an event are unpacked to."""

    slots: NDArray[np.int32]
    codes: NDArray[np.int32]
    list_start: NDArray[np.int32]
    list_codes: NDArray[np.int32]
    hits: NDArray[np.int32]
    sizes: NDArray[np.int64]  # see `SLOTS_UNPACKED` and those after it


# What the numbers in `UnpackedEvent.sizes` are: slots with a code, lists, values in lists, hits.
UNPACKED_SIZES = 4
SLOTS_UNPACKED, LISTS_UNPACKED, VALUES_UNPACKED, HITS_UNPACKED = range(UNPACKED_SIZES)

# What kernels that match one event read and write, in this order.
MATCHING_LAYOUTS = (
    Layout(
        EventIndex, np.int32, {"records": np.int64, "first": np.int64}, {"atom_row": ROW_COLUMNS}
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
# What the view for one event holds: the same, room for an event that comes as entries, and bounds.
LAYOUTS = (
    *MATCHING_LAYOUTS,
    Layout(UnpackedEvent, np.int32, {"sizes": np.int64}),
    Layout(BoundBlocks, np.int32, {"end_box": np.uint16, "rows": np.uint64}),
    Layout(BoundMasks, np.uint64),
)
_index = reader(LAYOUTS, 0, writable=False)
_groups = reader(LAYOUTS, 1, writable=False)
_cells = reader(LAYOUTS, 2, writable=False)
_scratch = reader(LAYOUTS, 3, writable=True)
_rules = reader(LAYOUTS, 4, writable=True)
_unpacked = reader(LAYOUTS, 5, writable=True)
_bounds = reader(LAYOUTS, 6, writable=False)
_masks = reader(LAYOUTS, 7, writable=True)

# What `match_within_bounds` returns in place of a number of rules: the event has a list.
HAS_LISTS = -1


@inlined
def _push(places, slots, codes, list_start, list_codes, hits, waiting, keep, epoch):
    """Push one event, and write the rules that are true."""
    scratch = _scratch(places)
    groups = _groups(places)
    match_one(_index(places), scratch, slots, codes, list_start, list_codes, hits, waiting, epoch)
    found = scratch.out[: scratch.counts[GROUPS_FOUND]]
    rules = _rules(places).rules
    return expand_groups(found, groups.group_start, groups.always, keep, rules)


@inlined
def match_encoded(places, slots, codes, list_start, list_codes, hits, keep, epoch):
    scratch = _scratch(places)
    cells = _cells(places)
    records = _rules(places).candidates
    scratch.counts[CALLS_BEFORE] = 0
    waiting = records[:0]
    if len(cells.branches) > 0:
        waiting = records[: candidates(cells, slots, codes, scratch.codes, records)]
    return _push(places, slots, codes, list_start, list_codes, hits, waiting, keep, epoch)


@lean
def match_codes(places, slots, codes, list_start, list_codes, hits, keep, epoch):
    """Match one event against a segment: how many rules are written."""
    return match_encoded(places, slots, codes, list_start, list_codes, hits, keep, epoch)


@lean
def match_again(places, slots, codes, list_start, list_codes, waiting, keep, epoch):
    """Match the same event once more, after the states of the lazy atoms it asked for were set.

    `waiting` are the records that wait for them.
    """
    _scratch(places).counts[CALLS_BEFORE] = 1
    none = waiting[:0]
    return _push(places, slots, codes, list_start, list_codes, none, waiting, keep, epoch)


@inlined
def _unpack(into, entries):
    slots = lists = values = hits = at = 0
    into.list_start[0] = 0
    while at < len(entries):
        slot, code = entry_slot(entries[at]), entry_code(entries[at])
        at += 1
        if slot < 0:
            into.hits[hits] = code
            hits += 1
            continue
        into.slots[slots] = slot
        into.codes[slots] = code
        slots += 1
        if code < 0:
            into.codes[slots - 1] = code_of_list(lists)
            for i in range(at, at - 1 - code):
                into.list_codes[values] = entry_code(entries[i])
                values += 1
            at += -1 - code
            lists += 1
            into.list_start[lists] = values
    into.sizes[SLOTS_UNPACKED], into.sizes[LISTS_UNPACKED] = slots, lists
    into.sizes[VALUES_UNPACKED], into.sizes[HITS_UNPACKED] = values, hits


@lean
def unpack_entries(places, entries):
    """Unpack the entries of an event, for which the view has room."""
    _unpack(_unpacked(places), entries)


def match_event(places, entries, keep, epoch):
    """`match_codes` of an event given as entries, for which the view has room."""
    into = _unpacked(places)
    _unpack(into, entries)
    count, sizes = into.sizes[SLOTS_UNPACKED], into.sizes
    return match_encoded(
        places, into.slots[:count], into.codes[:count],
        into.list_start[: sizes[LISTS_UNPACKED] + 1], into.list_codes[: sizes[VALUES_UNPACKED]],
        into.hits[: sizes[HITS_UNPACKED]], keep, epoch,
    )  # fmt: skip


match_entries = lean(match_event, nogil=False)


def match_bounded_event(places, entries, keep, epoch):
    """`match_event` by bounds: how many rules are written, or HAS_LISTS."""
    into = _unpacked(places)
    _unpack(into, entries)
    if into.sizes[LISTS_UNPACKED] > 0:
        return HAS_LISTS
    count = into.sizes[SLOTS_UNPACKED]
    slots, codes = into.slots[:count], into.codes[:count]
    output, scratch, groups = _rules(places), _scratch(places), _groups(places)
    for i in range(count):
        scratch.codes[slots[i]] = codes[i]
    masks = _masks(places).masks
    found, left = inside(
        _bounds(places), masks, scratch.codes, keep, output.rules, output.candidates
    )
    scratch.counts[CALLS_BEFORE] = 0
    match_one(
        _index(places), scratch, slots, codes, into.list_start[:1], into.list_codes[:0],
        into.hits[: into.sizes[HITS_UNPACKED]], output.candidates[:left], epoch,
    )  # fmt: skip
    more = scratch.out[: scratch.counts[GROUPS_FOUND]]
    rules = output.rules[found:]
    return found + expand_groups(more, groups.group_start, groups.always, keep, rules)


match_within_bounds = lean(match_bounded_event, nogil=False)
