"""Where the parts of an object or a list stand in JSON text.

Events that lie in a larger text, such as the body of a request, are found and checked with this,
and then matched as the texts that they are.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from matchwood.kernels.compiled import lean
from matchwood.kernels.text_bytes import byte_at
from matchwood.match.json.json_token_kernels import (
    COMMA,
    OPEN_LIST,
    OPEN_OBJECT,
    PLACE,
    QUOTE,
    UNUSUAL,
    after_colon,
    after_value,
    next_token,
    string_end,
)


@lean
def part_bounds(text, i, end, starts, ends):
    """Write where the parts of the object or list that is all of i..end begin and end; how many.

    The parts of a list are its elements, those of an object its names and values in turn. UNUSUAL
    for anything that Python's parser is to read, as in all of the scanner, and for lack of room.
    """
    i = next_token(text, i, end)
    if i >= end or (byte_at(text, i) != OPEN_OBJECT and byte_at(text, i) != OPEN_LIST):
        return UNUSUAL
    is_object = byte_at(text, i) == OPEN_OBJECT
    closing = byte_at(text, i) + 2  # `}` is `{` + 2, `]` is `[` + 2
    found = 0
    i = next_token(text, i + 1, end)
    closed = i < end and byte_at(text, i) == closing
    while not closed:
        if i >= end or found + is_object >= len(starts):
            return UNUSUAL
        if is_object:
            if byte_at(text, i) != QUOTE:
                return UNUSUAL
            close = string_end(text, i + 1, end)
            if close < 0:
                return UNUSUAL
            starts[found], ends[found] = i, close + 1
            found += 1
            i = after_colon(text, close + 1, end)
            if i < 0:
                return UNUSUAL
        starts[found] = i
        i = after_value(text, i, end)
        if i < 0:
            return UNUSUAL
        i &= PLACE
        ends[found] = i
        found += 1
        i = next_token(text, i, end)
        closed = i < end and byte_at(text, i) == closing
        if not closed:
            if i >= end or byte_at(text, i) != COMMA:
                return UNUSUAL
            i = next_token(text, i + 1, end)
    return found if next_token(text, i + 1, end) == end else UNUSUAL
