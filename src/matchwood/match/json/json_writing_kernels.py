"""Values of JSON text as the scanner writes them: slots with codes, lists, and hits."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import inlined, lean
from matchwood.kernels.records import MISSING, OTHER, code_of_list
from matchwood.kernels.text_bytes import address_of, byte_at
from matchwood.match.json.json_arrays import (
    ELEMENTS,
    ENTRY_HIT_AT,
    ENTRY_HITS,
    HITS,
    LISTS,
    MAIN_SLOT,
    MISSED_BYTES,
    MISSES,
    PATTERNED,
    SECOND_SLOT,
    SEEKS_ELEMENTS,
    SLOTS,
    STRING_FIRST,
    cache_at,
    code_of_hit,
    index_at,
    is_second,
    scratch_at,
)
from matchwood.match.json.json_reading_kernels import NOT_READ, reading_code
from matchwood.match.json.json_token_kernels import UNUSUAL, string_end, unescape
from matchwood.match.json.json_value_kernels import (
    element_key,
    known_string,
    string_code,
    text_hash,
)

# Elements that the lists of one event may have together.
MOST_ELEMENTS = 4096


@lean
def _miss(view, text, i, size, key):
    """Note a string that the cache does not have; whether there is room."""
    sc = scratch_at(view)
    n, at = sc.counts[MISSES], sc.counts[MISSED_BYTES]
    if n + 1 >= len(sc.missed_at) or at + size > len(sc.missed_bytes):
        return False
    for k in range(size):
        sc.missed_bytes[at + k] = byte_at(text, i + k)
    sc.missed_key[n] = key
    sc.missed_at[n] = at
    sc.missed_at[n + 1] = at + size
    sc.counts[MISSES] = n + 1
    sc.counts[MISSED_BYTES] = at + size
    return True


@inlined
def _put_code(sc, slot, code):
    """Add the code of a single value."""
    n = sc.counts[SLOTS]
    sc.slots[n] = slot
    sc.codes[n] = code
    sc.counts[SLOTS] = n + 1


@lean
def _find_hits(view, text, i, size, key, event, second_slot):
    """Add the patterns that are true of a string, or note that they are unknown.

    Also its code in the second slot, unless that is below zero. The code of the string if the cache
    has it, else OTHER; UNUSUAL if there is no room.
    """
    entry = known_string(view, text, i, size, key, text_hash(text, i, size, key))
    code = np.int64(OTHER)
    if entry < 0:
        return code if _miss(view, text, i, size, key) else np.int64(UNUSUAL)
    cache, sc = cache_at(view), scratch_at(view)
    n = sc.counts[HITS]
    at = cache.entries[entry, ENTRY_HIT_AT]
    for k in range(at, at + cache.entries[entry, ENTRY_HITS]):
        hit = cache.hits[k]
        if hit < 0 and not is_second(hit):
            code = np.int64(code_of_hit(hit))
        elif hit < 0:
            if second_slot >= 0 and code_of_hit(hit) != MISSING:
                _put_code(sc, second_slot, code_of_hit(hit))
        elif sc.hit_stamp[hit] != event:
            sc.hit_stamp[hit] = event
            sc.hits[n] = hit
            n += 1
    sc.counts[HITS] = n
    return code


@inlined
def text_value(view, text, i, end, attribute, in_list, event):
    """(the place after a string, its code); the string's first character is at i."""
    ix, sc = index_at(view), scratch_at(view)
    close = string_end(text, i, end)
    second_slot = np.int64(ix.attributes[attribute, SECOND_SLOT])
    if close == UNUSUAL or (second_slot >= 0 and in_list):
        return UNUSUAL, np.int64(MISSING)
    size = close - i
    value, at = text, i
    if close < 0:
        close = -1 - close
        if close - i > len(sc.buffer):
            return UNUSUAL, np.int64(MISSING)
        size = unescape(text, i, close, sc.buffer)
        value, at = address_of(sc.buffer), 0
    code = np.int64(OTHER)
    if second_slot >= 0:
        second = np.int64(reading_code(view, value, at, size, attribute))
        if second != NOT_READ:
            if second != MISSING:
                _put_code(sc, second_slot, second)
            second_slot = np.int64(-1)
    if ix.attributes[attribute, PATTERNED] or second_slot >= 0:
        key = element_key(attribute, len(ix.attributes)) if in_list else attribute
        code = np.int64(_find_hits(view, value, at, size, key, event, second_slot))
        if code == UNUSUAL:
            return UNUSUAL, np.int64(MISSING)
    if ix.attributes[attribute, STRING_FIRST] >= 0:
        code = np.int64(string_code(view, value, at, size, attribute))
    return close + 1, code


@lean
def list_of(view, attribute, event):
    """The number of the list of an attribute, which is begun if there is none in this event."""
    ix, sc = index_at(view), scratch_at(view)
    if sc.list_stamp[attribute] == event:
        return np.int64(sc.list_number[attribute])
    number = sc.counts[LISTS]
    sc.counts[LISTS] = number + 1
    sc.list_stamp[attribute] = event
    sc.list_number[attribute] = number
    sc.list_slot[number] = ix.attributes[attribute, MAIN_SLOT]
    sc.list_size[number] = 0
    return number


@lean
def _put_element(view, attribute, code, event):
    """Add an element to the list of an attribute; whether there is room."""
    sc = scratch_at(view)
    number = list_of(view, attribute, event)
    n = sc.counts[ELEMENTS]
    if n >= len(sc.element_list):
        return False
    sc.element_list[n] = number
    sc.element_code[n] = OTHER if code == MISSING else code  # null is an element like any other
    sc.list_size[number] += 1
    sc.counts[ELEMENTS] = n + 1
    return True


@inlined
def put_value(view, attribute, code, in_list, is_text, event):
    """Add the code of a value; whether there is room, and the code says all that rules ask."""
    ix, sc = index_at(view), scratch_at(view)
    if in_list:
        row = ix.attributes[attribute]
        if row[SECOND_SLOT] >= 0 or (row[SEEKS_ELEMENTS] and not is_text):
            return False
        return _put_element(view, attribute, code, event)
    if code != MISSING and ix.attributes[attribute, MAIN_SLOT] >= 0:
        _put_code(sc, ix.attributes[attribute, MAIN_SLOT], code)
    return True


@lean
def close_lists(view):
    """Write the lists one after the other, and their slots with those of single values."""
    sc = scratch_at(view)
    lists, n = sc.counts[LISTS], sc.counts[SLOTS]
    start = 0
    for number in range(lists):
        sc.list_start[number] = start
        start += sc.list_size[number]
        if sc.list_slot[number] >= 0:
            sc.slots[n] = sc.list_slot[number]
            sc.codes[n] = code_of_list(number)
            n += 1
    sc.counts[SLOTS] = n
    for k in range(sc.counts[ELEMENTS]):
        number = sc.element_list[k]
        sc.list_codes[sc.list_start[number]] = sc.element_code[k]
        sc.list_start[number] += 1
    for number in range(lists, 0, -1):
        sc.list_start[number] = sc.list_start[number - 1]
    sc.list_start[0] = 0
