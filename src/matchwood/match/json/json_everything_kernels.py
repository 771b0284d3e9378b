"""All values of an event of JSON text, for rules that ask for `*`.

The scanner has read the text before and found nothing unusual, so that here only values and keys
are told apart. A value counts wherever it stands, so every key matters: of a repeated one only the
last has a value, and such a text is left to Python's parser.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import lean
from matchwood.kernels.records import OTHER
from matchwood.kernels.text_bytes import address_of, byte_at
from matchwood.match.json.json_arrays import (
    CODE_OF_FALSE,
    CODE_OF_TRUE,
    ELEMENTS,
    OBJECTS,
    index_at,
    scratch_at,
)
from matchwood.match.json.json_token_kernels import (
    CLOSE_LIST,
    CLOSE_OBJECT,
    COLON,
    COMMA,
    OPEN_LIST,
    OPEN_OBJECT,
    QUOTE,
    UNUSUAL,
    after_word,
    next_token,
    string_end,
    unescape,
)
from matchwood.match.json.json_value_kernels import number_code, place_of, text_hash
from matchwood.match.json.json_writing_kernels import put_value, text_value

# Distinct codes among which a code is looked for before it is added once more.
_COMPARED = 32

# Places where a key is looked for.
_PLACES = 64


@lean
def _is_new_key(view, text, i, close, owner, event):
    """Note the key of an object that is i..close, or i..-1 - close if it has escapes.

    Whether it is the first of its name, and there is room for it. Two keys of the same hash are
    taken for the same: the text is then only read once more.
    """
    sc = scratch_at(view)
    size = close - i
    if close < 0:
        close = -1 - close
        if close - i > len(sc.buffer):
            return False
        size = unescape(text, i, close, sc.buffer)
        text, i = address_of(sc.buffer), 0
    h = text_hash(text, i, size, owner)
    mask = len(sc.key_hash) - 1
    place = place_of(h, mask)
    for _ in range(min(_PLACES, mask)):
        if sc.key_stamp[place] != event:
            sc.key_stamp[place] = event
            sc.key_hash[place] = h
            return True
        if sc.key_hash[place] == h:
            return False
        place = (place + 1) & mask
    return False


@lean
def _put_once(view, attribute, code, is_text, event, first):
    """Add a code, unless it is one of the first that were added; whether there is room."""
    sc = scratch_at(view)
    for k in range(first, min(sc.counts[ELEMENTS], first + _COMPARED)):
        if sc.element_code[k] == code:
            return True
    return put_value(view, attribute, code, True, is_text, event)


@lean
def scan_values(view, text, i, end, attribute, event):
    """Add every value of the object at i, which `scan_event` has read, as those of an attribute.

    UNUSUAL if Python's parser is to read the text, else 0.
    """
    ix, sc = index_at(view), scratch_at(view)
    first = sc.counts[ELEMENTS]
    owners = sc.owner_stack
    depth = 0
    while True:
        i = next_token(text, i, end)
        if i >= end:
            return 0
        c = byte_at(text, i)
        if c == COMMA or c == COLON:
            i += 1
            continue
        if c == OPEN_OBJECT or c == OPEN_LIST:
            if depth >= len(owners):
                return UNUSUAL
            owners[depth] = sc.counts[OBJECTS]
            sc.counts[OBJECTS] += 1
            depth += 1
            i += 1
            continue
        if c == CLOSE_OBJECT or c == CLOSE_LIST:
            depth -= 1
            i += 1
            continue
        code = np.int64(OTHER)
        if c == QUOTE:
            close = string_end(text, i + 1, end)
            after = next_token(text, (close if close >= 0 else -1 - close) + 1, end)
            if after < end and byte_at(text, after) == COLON:
                if not _is_new_key(view, text, i + 1, close, owners[depth - 1], event):
                    return UNUSUAL
                i = after + 1
                continue
            i, code = text_value(view, text, i + 1, end, attribute, True, event)
        elif c == 116 or c == 102:
            code = np.int64(ix.attributes[attribute, CODE_OF_TRUE if c == 116 else CODE_OF_FALSE])
            i = after_word(text, i, end, c)
        elif c == 110:
            i = after_word(text, i, end, c)
            continue
        else:
            i, code = number_code(view, text, i, end, attribute)
        if i < 0 or code == UNUSUAL:
            return UNUSUAL
        if not _put_once(view, attribute, code, c == QUOTE, event, first):
            return UNUSUAL
