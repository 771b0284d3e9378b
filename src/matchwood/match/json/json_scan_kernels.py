"""One event of JSON text to the codes of a segment, in one pass over its bytes.

The scanner goes through the objects and lists that rules ask for with a stack of its own, and skips
all other values, which it checks as strictly. What it writes is what `event.encode` makes of the
same event: slots with their codes, lists of codes, and the patterns that are true of strings.

It gives up with UNUSUAL where Python's own parser is to read the text: where the text is refused,
where a key that matters is repeated, where an attribute may be spelt two ways, where the later of
two aliases of an attribute is the one that counts, where the strings of a list are also read as
times or addresses, and where anything exceeds the room that a thread has.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import inlined, lean
from matchwood.kernels.records import MISSING, OTHER, code_of_list
from matchwood.kernels.text_bytes import address_of, byte_at
from matchwood.match.json.json_arrays import (
    ALIASED,
    CODE_OF_FALSE,
    CODE_OF_TRUE,
    ELEMENTS,
    ENTRY_HIT_AT,
    ENTRY_HITS,
    HITS,
    LISTS,
    LOWERED,
    MAIN_SLOT,
    MISSED_BYTES,
    MISSES,
    NO_VALUE,
    NOT_SINGLE,
    NOTED,
    OBJECTS,
    PATTERNED,
    SECOND_SLOT,
    SEEKS_ELEMENTS,
    SEVERAL_ATTRIBUTES,
    SLOTS,
    STRING_FIRST,
    cache_at,
    code_of_hit,
    index_at,
    is_second,
    scratch_at,
)
from matchwood.match.json.json_reading_kernels import NOT_READ, reading_code
from matchwood.match.json.json_token_kernels import (
    BOTH_NOTES,
    CLOSE_LIST,
    CLOSE_OBJECT,
    COMMA,
    NESTED,
    OPEN_LIST,
    OPEN_OBJECT,
    PLACE,
    QUOTE,
    UNUSUAL,
    after_value,
    after_word,
    next_token,
    string_end,
    unescape,
)
from matchwood.match.json.json_value_kernels import (
    NO_NODE,
    ROOT,
    element_key,
    key_node,
    known_string,
    number_code,
    string_code,
    text_hash,
)

# Levels of objects and lists that rules ask for; see also `json_token_kernels.SKIPPED_LEVELS`.
MOST_LEVELS = 32

# Bytes of the longest text that is scanned. An event of more may have more values than an event is
# allowed to have, which only Python counts.
LONGEST_TEXT = 4_000_000

# Elements that the lists of one event may have together.
MOST_ELEMENTS = 4096

# What the scanner expects next: the first key of an object or its end, another key, a value, the
# first element of a list or its end, or what follows a value.
_FIRST_KEY, _KEY, _VALUE, _FIRST_ELEMENT, _AFTER = range(5)


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
def _text_value(view, text, i, end, attribute, in_list, event):
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
def _list_of(view, attribute, event):
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
    number = _list_of(view, attribute, event)
    n = sc.counts[ELEMENTS]
    if n >= len(sc.element_list):
        return False
    sc.element_list[n] = number
    sc.element_code[n] = OTHER if code == MISSING else code  # null is an element like any other
    sc.list_size[number] += 1
    sc.counts[ELEMENTS] = n + 1
    return True


@inlined
def _put(view, attribute, code, in_list, is_text, event):
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
def _close_lists(view):
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


@lean
def _spelled(view, node, attribute, event):
    """The attribute of a value, by its name; -1 if an earlier name of the attribute counts.

    UNUSUAL if this name counts instead of an earlier one: what the earlier one said is written.
    """
    ix, sc = index_at(view), scratch_at(view)
    if sc.spelled_stamp[attribute] == event and sc.spelled_as[attribute] != node:
        earlier = ix.node_rank[sc.spelled_as[attribute]] < ix.node_rank[node]
        return np.int64(-1 if earlier else UNUSUAL)
    sc.spelled_stamp[attribute] = event
    sc.spelled_as[attribute] = node
    return attribute


@inlined
def _begin(text, end, sc):
    """Forget the last event; the place of the first token."""
    for k in range(MISSES):
        sc.counts[k] = 0
    for k in range(len(sc.noted_end)):
        sc.noted_end[k] = NO_VALUE
    sc.list_start[0] = 0
    i = 0
    if end > 3 and byte_at(text, 0) == 0xEF and byte_at(text, 1) == 0xBB:
        i = 3 if byte_at(text, 2) == 0xBF else 0
    return next_token(text, i, end)


@lean
def scan_event(view, text, end):
    """Scan one event: its codes are in the scratch, unless UNUSUAL is returned, else 0.

    If counts[MISSES] grows, hits are missing: add those strings to the cache and scan again.
    """
    ix, sc = index_at(view), scratch_at(view)
    i = _begin(text, end, sc)
    if i >= end or end > LONGEST_TEXT or byte_at(text, i) != OPEN_OBJECT:
        return UNUSUAL
    i += 1
    event = sc.counts[OBJECTS] + 1
    sc.counts[OBJECTS] = event
    stack_node, stack_object = sc.stack_node, sc.stack_object
    depth = 0
    lists = 0  # lists around the place
    notes = 0
    container = np.int64(ROOT)
    owner = event  # the number of the object around the place; 0 in a list
    stack_node[0] = container
    stack_object[0] = owner
    expected = _FIRST_KEY
    node = np.int64(NO_NODE)
    while True:
        i = next_token(text, i, end)
        if i >= end:
            return UNUSUAL
        c = byte_at(text, i)
        closes = False
        if expected == _AFTER:
            if c == COMMA:
                i += 1
                expected = _KEY if owner > 0 else _VALUE
                continue
            closes = c == (CLOSE_OBJECT if owner > 0 else CLOSE_LIST)
            if not closes:
                return UNUSUAL
        elif expected == _FIRST_KEY:
            closes = c == CLOSE_OBJECT
        elif expected == _FIRST_ELEMENT:
            closes = c == CLOSE_LIST
        if closes:
            i += 1
            if owner == 0:
                lists -= 1
            depth -= 1
            if depth < 0:
                break
            container = np.int64(stack_node[depth])
            owner = stack_object[depth]
            node = container
            expected = _AFTER
            continue
        if expected == _FIRST_KEY or expected == _KEY:
            if c != QUOTE:
                return UNUSUAL
            if depth > 0:
                notes |= NESTED
            i, node = key_node(view, text, i + 1, end, container)
            if i < 0:
                return UNUSUAL
            notes |= i & BOTH_NOTES
            i &= PLACE
            if i >= end:
                return UNUSUAL
            if node >= 0:
                if sc.node_stamp[node] == owner:
                    return UNUSUAL  # of a repeated key the last counts
                sc.node_stamp[node] = owner
            c = byte_at(text, i)
        expected = _AFTER
        if node < 0:
            i = after_value(text, i, end)
            if i < 0:
                return UNUSUAL
            notes |= i & BOTH_NOTES
            i &= PLACE
            continue
        attribute = np.int64(ix.node_attribute[node])
        if attribute == SEVERAL_ATTRIBUTES:
            return UNUSUAL
        if attribute >= 0 and ix.attributes[attribute, ALIASED] and (c != 110 or lists > 0):
            attribute = _spelled(view, node, attribute, event)
            if attribute == UNUSUAL:
                return UNUSUAL
        noted = np.int64(-1)
        if attribute >= 0 and (c != 110 or lists > 0):  # null in a list is an element of it
            noted = np.int64(ix.attributes[attribute, NOTED])
        start = i
        lower = np.int64(-1) if attribute < 0 else np.int64(ix.attributes[attribute, LOWERED])
        code = np.int64(OTHER)
        lower_code = np.int64(OTHER)
        enters = False
        if attribute < 0 or c == OPEN_OBJECT or c == OPEN_LIST:
            nested_list = (
                c == OPEN_LIST and owner == 0
            )  # of it nothing is seen but that it is there
            enters = (c == OPEN_OBJECT and ix.node_inner[node] != 0) or (
                c == OPEN_LIST and not nested_list
            )
            if c == OPEN_LIST and not nested_list and attribute >= 0:
                if ix.attributes[attribute, SECOND_SLOT] >= 0:
                    return UNUSUAL
                _list_of(view, attribute, event)
                if lower >= 0:
                    if ix.attributes[lower, SECOND_SLOT] >= 0:
                        return UNUSUAL
                    _list_of(view, lower, event)
                attribute = np.int64(-1)  # the list itself is no value
            if enters:
                i += 1
            else:
                i = after_value(text, i, end)
                if i < 0:
                    return UNUSUAL
                notes |= i & BOTH_NOTES
                i &= PLACE
        elif c == QUOTE:
            i, code = _text_value(view, text, start + 1, end, attribute, lists > 0, event)
            if lower >= 0 and i >= 0:
                i, lower_code = _text_value(view, text, start + 1, end, lower, lists > 0, event)
        elif c == 116 or c == 102:
            code = np.int64(ix.attributes[attribute, CODE_OF_TRUE if c == 116 else CODE_OF_FALSE])
            i = after_word(text, i, end, c)
        elif c == 110:
            code = lower_code = np.int64(MISSING)
            i = after_word(text, i, end, c)
        else:
            i, code = number_code(view, text, i, end, attribute)
        if i < 0 or code == UNUSUAL:
            return UNUSUAL
        if noted >= 0:
            single = lists == 0 and c != OPEN_LIST and c != OPEN_OBJECT
            sc.noted_start[noted] = start
            sc.noted_end[noted] = i if single else NOT_SINGLE
        if attribute >= 0:
            if not _put(view, attribute, code, lists > 0, c == QUOTE, event):
                return UNUSUAL
            if lower >= 0 and not _put(view, lower, lower_code, lists > 0, c == QUOTE, event):
                return UNUSUAL
        if enters:
            depth += 1
            if depth >= MOST_LEVELS:
                return UNUSUAL
            container = node
            if c == OPEN_OBJECT:
                owner = sc.counts[OBJECTS] + 1
                sc.counts[OBJECTS] = owner
                expected = _FIRST_KEY
            else:
                owner = np.int64(0)
                lists += 1
                expected = _FIRST_ELEMENT
            stack_node[depth] = container
            stack_object[depth] = owner
    if next_token(text, i, end) < end or notes == BOTH_NOTES:
        return UNUSUAL
    if sc.counts[LISTS] > 0:
        _close_lists(view)
    return 0
