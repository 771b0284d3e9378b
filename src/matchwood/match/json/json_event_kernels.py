"""The entry points to the kernels for events of JSON text.

One text is scanned and matched in one call, with three arguments; many are scanned first, into rows
of codes, and then matched one after the other, or handed to another strategy. The arrays are passed
by address, as for other events (`event.event_kernels`).
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.kernels.compiled import inlined, lean
from matchwood.kernels.filling import fill_array
from matchwood.kernels.records import code_of_list, list_of_code
from matchwood.kernels.text_bytes import address_of, from_place
from matchwood.match.event.event_kernels import match_encoded
from matchwood.match.event.literal_kernels import EPOCHS, REQUESTED, pack_state
from matchwood.match.json.json_arrays import (
    BYTES_USED,
    ENTRIES_USED,
    ENTRY_AT,
    ENTRY_HASH,
    ENTRY_HIT_AT,
    ENTRY_HITS,
    ENTRY_KEY,
    ENTRY_SIZE,
    HITS,
    HITS_USED,
    LISTS,
    MISSED_BYTES,
    MISSES,
    SLOTS,
    cache_at,
    event_scratch_at,
    index_at,
    reported_at,
    scratch_at,
)
from matchwood.match.json.json_scan_kernels import scan_event
from matchwood.match.json.json_token_kernels import UNUSUAL
from matchwood.match.json.json_value_kernels import kept_bits, known_string, place_of, text_hash

# What `match_text` returns in place of a number of rules: the text is unusual, strings in it are
# not in the cache of hits, or rules depend on atoms that are evaluated on demand.
IS_UNUSUAL, HAS_MISSES, ASKS = -1, -2, -3

# Bytes that a string takes at least, with its quotes and what follows it.
_SHORTEST_STRING = 3


class CodeRows(NamedTuple):
    """Events as codes, one row after the other; the bounds have one more at the end.

    `sizes` counts rows, codes, lists, elements of lists, and hits.
    """

    sizes: Int64Array
    start: Int32Array  # of the slots and codes of each event
    slots: Int32Array
    codes: Int32Array  # lists are numbered over all events
    list_start: Int32Array
    list_codes: Int32Array
    hit_start: Int32Array
    hits: Int32Array
    event: Int32Array  # the number of the text of each row
    noted: Int32Array  # by row: where values that are noted begin and end in the text, see NOTED


# What `CodeRows.sizes` counts.
ROWS, CODES, ROW_LISTS, ROW_ELEMENTS, ROW_HITS = range(5)


@inlined
def _next_epoch(places):
    """Count the epoch up, and clear the states of nodes when it overflows."""
    epochs = reported_at(places).epoch
    epoch = epochs[0] + 1
    if epoch > EPOCHS:
        epoch = 1
        states = event_scratch_at(places)
        fill_array(states.state, 0)
        fill_array(states.seen, 0)
        fill_array(states.opaque, 0)
    epochs[0] = epoch
    return epoch


@lean
def _match_codes(places, slots, codes, list_start, list_codes, hits, keep):
    """How many rules are written; ASKS if others depend on atoms that are evaluated on demand."""
    epoch = _next_epoch(places)
    count = match_encoded(places, slots, codes, list_start, list_codes, hits, keep, epoch)
    states = event_scratch_at(places).opaque
    for number in index_at(places).lazy:
        if states[number] == pack_state(epoch, REQUESTED):
            return ASKS
    return count


def scan_and_match(places, text, size):
    """Scan and match one text: how many rules are written, or IS_UNUSUAL, HAS_MISSES or ASKS."""
    sc = scratch_at(places)
    sc.counts[MISSES] = 0
    sc.counts[MISSED_BYTES] = 0
    if scan_event(address_of(places), text, size) == UNUSUAL:
        return IS_UNUSUAL
    if sc.counts[MISSES] > 0:
        return HAS_MISSES
    count = sc.counts[SLOTS]
    lists = sc.counts[LISTS]
    return _match_codes(
        places, sc.slots[:count], sc.codes[:count], sc.list_start[: lists + 1],
        sc.list_codes[: sc.list_start[lists]], sc.hits[: sc.counts[HITS]],
        reported_at(places).keep,
    )  # fmt: skip


match_text = lean(scan_and_match, nogil=False)


@inlined
def _has_room(rows, sc):
    """Whether another event fits into the rows, whatever it holds."""
    sizes = rows.sizes
    return (
        sizes[ROWS] + 1 < len(rows.start)
        and sizes[CODES] + len(sc.slots) <= len(rows.slots)
        and sizes[ROW_HITS] + len(sc.hits) <= len(rows.hits)
        and sizes[ROW_LISTS] + len(sc.list_slot) < len(rows.list_start)
        and sizes[ROW_ELEMENTS] + len(sc.list_codes) <= len(rows.list_codes)
    )


@inlined
def _add_row(rows, sc, number):
    """Append the event that was scanned last."""
    sizes = rows.sizes
    row, at, lists = sizes[ROWS], sizes[CODES], sizes[ROW_LISTS]
    elements, hits = sizes[ROW_ELEMENTS], sizes[ROW_HITS]
    for k in range(sc.counts[SLOTS]):
        code = sc.codes[k]
        rows.slots[at + k] = sc.slots[k]
        rows.codes[at + k] = code if code >= 0 else code_of_list(lists + list_of_code(code))
    found = sc.counts[LISTS]
    for k in range(found):
        rows.list_start[lists + k + 1] = elements + sc.list_start[k + 1]
    for k in range(sc.list_start[found]):
        rows.list_codes[elements + k] = sc.list_codes[k]
    for k in range(sc.counts[HITS]):
        rows.hits[hits + k] = sc.hits[k]
    rows.event[row] = number
    for k in range(len(sc.noted_end)):
        rows.noted[row, 2 * k], rows.noted[row, 2 * k + 1] = sc.noted_start[k], sc.noted_end[k]
    rows.start[row + 1] = at + sc.counts[SLOTS]
    rows.hit_start[row + 1] = hits + sc.counts[HITS]
    sizes[ROWS] = row + 1
    sizes[CODES] = at + sc.counts[SLOTS]
    sizes[ROW_LISTS] = lists + found
    sizes[ROW_ELEMENTS] = elements + sc.list_start[found]
    sizes[ROW_HITS] = hits + sc.counts[HITS]


@lean
def scan_texts(places, text, starts, ends, order, first, missed, left_out, rows):
    """Append texts to rows: those with the numbers order[first:]; where it stopped in `order`.

    It stops early where there is no more room for rows, or for strings that the cache lacks. These
    are gathered in the scratch; their texts have no row yet, but are noted in `missed`, whose
    first number counts them. Texts that are unusual are marked in `left_out`.
    """
    view, sc = address_of(places), scratch_at(places)
    everything = index_at(places).everything[0]
    sc.counts[MISSES] = 0
    sc.counts[MISSED_BYTES] = 0
    missed[0] = 0
    for place in range(first, len(order)):
        number = order[place]
        start, size = starts[number], ends[number] - starts[number]
        misses, bytes_before = sc.counts[MISSES], sc.counts[MISSED_BYTES]
        strings = len(sc.slots) if everything < 0 else size // _SHORTEST_STRING + 1
        full = misses + strings >= len(sc.missed_key)
        full |= bytes_before + size > len(sc.missed_bytes)
        if not _has_room(rows, sc) or (full and misses > 0):
            return place
        if left_out[number]:
            continue
        if scan_event(view, from_place(text, start), size) == UNUSUAL:
            left_out[number] = 1
            sc.counts[MISSES], sc.counts[MISSED_BYTES] = misses, bytes_before
        elif sc.counts[MISSES] > misses:
            missed[0] += 1
            missed[missed[0]] = number
        else:
            _add_row(rows, sc, number)
    return len(order)


@lean
def match_rows(places, rows, first, end, left_out, asking, rules, into_events, into_rules):
    """Match rows from number `first` on; returns (pairs that are written, the next row).

    Texts from the number `end` on, and those that are left out, are passed over. Rows that ask for
    atoms on demand are marked in `asking`, and have no pairs yet.
    """
    pairs = 0
    row = first
    keep = reported_at(places).keep
    while row < rows.sizes[ROWS] and pairs + len(rules) <= len(into_events):
        low, high = rows.start[row], rows.start[row + 1]
        number = rows.event[row]
        row += 1
        if number >= end or left_out[number]:
            continue
        count = _match_codes(
            places, rows.slots[low:high], rows.codes[low:high], rows.list_start, rows.list_codes,
            rows.hits[rows.hit_start[row - 1] : rows.hit_start[row]], keep,
        )  # fmt: skip
        if count == ASKS:
            asking[row - 1] = 1
            continue
        for k in range(count):
            into_events[pairs + k] = number
            into_rules[pairs + k] = rules[k]
        pairs += count
    return pairs, row


@lean
def add_strings(places, bounds, hits):
    """Put the strings that the scanner missed into the cache, with the hits of each."""
    cache, sc = cache_at(places), scratch_at(places)
    mask = len(cache.table) - 1
    missed = address_of(sc.missed_bytes)
    for n in range(sc.counts[MISSES]):
        key, at = np.int64(sc.missed_key[n]), np.int64(sc.missed_at[n])
        size = np.int64(sc.missed_at[n + 1]) - at
        count = bounds[n + 1] - bounds[n]
        h = text_hash(missed, at, size, key)
        if known_string(address_of(places), missed, at, size, key, h) >= 0:
            continue  # several texts missed it
        entry = cache.used[ENTRIES_USED]
        first, first_hit = cache.used[BYTES_USED], cache.used[HITS_USED]
        full = 2 * entry >= len(cache.table) or first + size > len(cache.bytes)
        if full or first_hit + count > len(cache.hits):
            fill_array(cache.used, 0)
            fill_array(cache.table, -1)
            entry, first, first_hit = np.int64(0), np.int64(0), np.int64(0)
        for k in range(size):
            cache.bytes[first + k] = sc.missed_bytes[at + k]
        for k in range(count):
            cache.hits[first_hit + k] = hits[bounds[n] + k]
        row = cache.entries[entry]
        row[ENTRY_HASH], row[ENTRY_KEY] = kept_bits(h), key
        row[ENTRY_AT], row[ENTRY_SIZE] = first, size
        row[ENTRY_HIT_AT], row[ENTRY_HITS] = first_hit, count
        place = place_of(h, mask)
        while cache.table[place] >= 0:
            place = (place + 1) & mask
        cache.table[place] = entry
        cache.used[ENTRIES_USED] = entry + 1
        cache.used[BYTES_USED] = first + size
        cache.used[HITS_USED] = first_hit + count
