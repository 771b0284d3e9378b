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
from matchwood.kernels.records import MISSING, OTHER
from matchwood.kernels.text_bytes import byte_at
from matchwood.match.json.json_arrays import (
    ALIASED,
    CODE_OF_FALSE,
    CODE_OF_TRUE,
    LISTS,
    LOWERED,
    MISSES,
    NO_VALUE,
    NOT_SINGLE,
    NOTED,
    OBJECTS,
    SECOND_SLOT,
    SEVERAL_ATTRIBUTES,
    index_at,
    scratch_at,
)
from matchwood.match.json.json_everything_kernels import scan_values
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
)
from matchwood.match.json.json_value_kernels import (
    NO_NODE,
    ROOT,
    key_node,
    number_code,
)
from matchwood.match.json.json_writing_kernels import (
    close_lists,
    list_of,
    put_value,
    text_value,
)

# Levels of objects and lists that rules ask for; see also `json_token_kernels.SKIPPED_LEVELS`.
MOST_LEVELS = 32

# Bytes of the longest text that is scanned. An event of more may have more values than an event is
# allowed to have, which only Python counts.
LONGEST_TEXT = 4_000_000

# What the scanner expects next: the first key of an object or its end, another key, a value, the
# first element of a list or its end, or what follows a value.
_FIRST_KEY, _KEY, _VALUE, _FIRST_ELEMENT, _AFTER = range(5)


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
    begun = i
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
                list_of(view, attribute, event)
                if lower >= 0:
                    if ix.attributes[lower, SECOND_SLOT] >= 0:
                        return UNUSUAL
                    list_of(view, lower, event)
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
            i, code = text_value(view, text, start + 1, end, attribute, lists > 0, event)
            if lower >= 0 and i >= 0:
                i, lower_code = text_value(view, text, start + 1, end, lower, lists > 0, event)
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
            if not put_value(view, attribute, code, lists > 0, c == QUOTE, event):
                return UNUSUAL
            if lower >= 0 and not put_value(view, lower, lower_code, lists > 0, c == QUOTE, event):
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
    everything = np.int64(ix.everything[0])
    if everything >= 0 and scan_values(view, text, begun, end, everything, event) == UNUSUAL:
        return UNUSUAL
    if sc.counts[LISTS] > 0:
        close_lists(view)
    return 0
