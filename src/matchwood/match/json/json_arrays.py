"""The arrays that the kernels for JSON texts read and write, and how they find them.

A view has the addresses of all of them (`kernels.array_view`). Functions inside kernels get the
address of the view: passing the arrays themselves would take longer than most of them do.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from matchwood.kernels.array_types import FloatArray, Int32Array, Int64Array, UInt8Array
from matchwood.kernels.array_view import Layout, reader
from matchwood.kernels.compiled import codec
from matchwood.match.event.event_kernels import MATCHING_LAYOUTS

# Columns of `JsonIndex.attributes`, one row per attribute: its slot, or -1; where its strings start
# and end, and the first code of strings, or -1; the same of its doubles; where its gaps start; the
# codes of true and false; whether it has patterns; the slot of its strings as they are read as
# times and addresses, or -1; whether a test looks for an element of a list that is no string;
# whether it has aliases; the number of the same attribute in lower case, or -1; for the times and
# for the addresses of its second slot what there is for strings; and its number among those whose
# values are noted, or -1. The codes of strings in lower case are kept with their hits.
ATTRIBUTE_COLUMNS = 22
(
    MAIN_SLOT, STRING_AT, STRING_END, STRING_FIRST, NUMBER_AT, NUMBER_END, NUMBER_FIRST, GAP_AT,
    CODE_OF_TRUE, CODE_OF_FALSE, PATTERNED, SECOND_SLOT, SEEKS_ELEMENTS, ALIASED,
    LOWERED, MOMENT_AT, MOMENT_END, MOMENT_FIRST, ADDRESS_AT, ADDRESS_END, ADDRESS_FIRST, NOTED,
) = range(ATTRIBUTE_COLUMNS)  # fmt: skip

# What the numbers in `JsonScratch.counts` are: slots with a code; lists; elements of lists; hits of
# patterns; strings that are not in the cache, and their bytes, which the caller sets to 0; and
# objects that were ever read, which is what tells one object, and one event, from another.
SLOTS, LISTS, ELEMENTS, HITS, MISSES, MISSED_BYTES, OBJECTS = range(7)

# In place of the end of a value that is noted: there is none, or Python is to look for it, because
# it is an object, a list, or in a list.
NO_VALUE, NOT_SINGLE = 0, -1

# In place of an attribute: the name is a spelling of several.
SEVERAL_ATTRIBUTES = -2


class JsonIndex(NamedTuple):
    """The names and constants of a segment, as the scanner of JSON looks them up."""

    table: Int32Array  # open addressing by hash: an entry, or -1
    entry_hash: Int64Array
    entry_at: Int32Array  # where the key of each entry starts in `key_bytes`; one more at the end
    entry_parent: Int32Array
    entry_node: Int32Array
    key_bytes: UInt8Array
    node_attribute: Int32Array  # of each node: its attribute, -1, or SEVERAL_ATTRIBUTES
    node_rank: Int32Array  # of each node: its place among the spellings of its attribute
    node_inner: UInt8Array  # 1: longer names start with this one
    attributes: Int32Array  # see ATTRIBUTE_COLUMNS
    everything: Int32Array  # the attribute that all values belong to, or -1
    string_at: Int32Array  # where each constant starts in `string_bytes`; one more at the end
    string_head: Int64Array  # its first eight bytes, as a number of the same order
    string_bytes: UInt8Array
    doubles: FloatArray
    double_code: Int32Array
    gap_code: Int32Array  # of the numbers before each double, and after the last
    moments: Int64Array  # constants that are times, in nanoseconds since 1970
    addresses: Int64Array  # constants that are IPv4 addresses
    lazy: Int32Array  # opaque atoms that are evaluated on demand
    tens: FloatArray  # powers of ten


class HitCache(NamedTuple):
    """Which patterns are true of recent strings; one thread owns it.

    Below zero, a hit is a code of the string: see `hit_of_code`.

    Entries are found by hash in `table`. `used` counts entries, bytes and hits.
    """

    table: Int32Array
    entries: Int32Array  # see ENTRY_COLUMNS
    bytes: UInt8Array
    hits: Int32Array
    used: Int64Array


@codec
def hit_of_code(code: Any, is_second: Any) -> Any:
    """A code as it stands among the hits of a string: of its second slot, or of its only one.

    >>> hit_of_code(5, 1), code_of_hit(-12), is_second(-12)
    (-12, 5, 1)
    """
    return -1 - (2 * code + is_second)


@codec
def code_of_hit(hit: Any) -> Any:
    """The code that a hit below zero stands for."""
    return (-1 - hit) >> 1


@codec
def is_second(hit: Any) -> Any:
    """1 if the code of a hit below zero is one of the second slot."""
    return (-1 - hit) & 1


# Columns of `HitCache.entries`, half a cache line per entry: bits of its hash; its attribute (see
# `element_key` for elements of lists); where its string starts in `bytes`, and its size; where its
# hits start in `hits`, and how many they are.
ENTRY_COLUMNS = 8
ENTRY_HASH, ENTRY_KEY, ENTRY_AT, ENTRY_SIZE, ENTRY_HIT_AT, ENTRY_HITS = range(6)

# What `HitCache.used` counts.
ENTRIES_USED, BYTES_USED, HITS_USED = range(3)


class JsonScratch(NamedTuple):
    """What one thread writes while it scans; see `SLOTS` and those after it for the counts."""

    counts: Int64Array
    slots: Int32Array
    codes: Int32Array
    list_start: Int32Array
    list_codes: Int32Array
    hits: Int32Array
    element_list: Int32Array  # of each element: its list
    element_code: Int32Array
    list_slot: Int32Array  # of each list
    list_size: Int32Array
    list_number: Int32Array  # of each attribute: its list, if `list_stamp` is of this event
    list_stamp: Int64Array
    spelled_as: Int32Array  # of each attribute: a node, if `spelled_stamp` is of this event
    spelled_stamp: Int64Array
    noted_start: Int32Array  # where the value of an attribute begins that on-demand atoms read
    noted_end: Int32Array  # and where it ends; NO_VALUE or NOT_SINGLE
    node_stamp: Int64Array  # of each node: the last object that had it as a key
    hit_stamp: Int64Array  # of each pattern: the last event that it was true of
    stack_node: Int32Array
    stack_object: Int64Array  # the number of an object; 0 for a list
    owner_stack: Int64Array  # the number of an object or list, where every key matters
    key_hash: Int64Array  # of the keys of all objects of an event, if `key_stamp` is of this event
    key_stamp: Int64Array
    buffer: UInt8Array  # a string without its escapes
    missed_key: Int32Array  # of strings that are not in the cache
    missed_at: Int32Array  # where each starts in `missed_bytes`; one more at the end
    missed_bytes: UInt8Array


class Reported(NamedTuple):
    """Which rules are reported, and the epoch of the last event."""

    keep: UInt8Array  # by ordinal; if it is empty, all of them are
    epoch: UInt8Array


# What the view for JSON texts holds beside that for other events.
JSON_LAYOUTS = (
    *MATCHING_LAYOUTS,
    Layout(
        JsonIndex,
        np.int32,
        dict.fromkeys(("entry_hash", "string_head", "moments", "addresses"), np.int64)
        | dict.fromkeys(("key_bytes", "node_inner", "string_bytes"), np.uint8)
        | dict.fromkeys(("doubles", "tens"), np.float64),
        {"attributes": ATTRIBUTE_COLUMNS},
    ),
    Layout(HitCache, np.int32, {"used": np.int64, "bytes": np.uint8}, {"entries": ENTRY_COLUMNS}),
    Layout(
        JsonScratch,
        np.int32,
        dict.fromkeys(("counts", "stack_object", "owner_stack", "key_hash"), np.int64)
        | dict.fromkeys(("list_stamp", "spelled_stamp", "node_stamp", "hit_stamp"), np.int64)
        | {"key_stamp": np.int64}
        | dict.fromkeys(("buffer", "missed_bytes"), np.uint8),
    ),
    Layout(Reported, np.uint8),
)
_FIRST = len(MATCHING_LAYOUTS)
event_scratch_at = reader(JSON_LAYOUTS, 3, writable=True)
index_at = reader(JSON_LAYOUTS, _FIRST, writable=False)
cache_at = reader(JSON_LAYOUTS, _FIRST + 1, writable=True)
scratch_at = reader(JSON_LAYOUTS, _FIRST + 2, writable=True)
reported_at = reader(JSON_LAYOUTS, _FIRST + 3, writable=True)

# The place of `Reported.keep` among the addresses and lengths of a view.
KEEP_PLACE = 2 * sum(len(layout.dtypes) for layout in JSON_LAYOUTS[:-1])
