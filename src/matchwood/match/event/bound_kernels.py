"""Bounds: which of a block of boxes an event is outside of; `bound_index` explains the layout."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.compiled import codec, compiled, inlined, trailing_zeros
from matchwood.kernels.filling import copy_items, fill_array
from matchwood.kernels.masks import EVENTS, WORDS, copy, remove
from matchwood.kernels.programs import atom_of, is_negated
from matchwood.kernels.pushes import NO_LIST, group_of_list
from matchwood.kernels.records import (
    FAMILY_COLUMNS,
    FAMILY_FIRST,
    FAMILY_LAST,
    OTHER,
    ROW_FAMILY,
    ROW_START,
    header_inline,
    header_is_root,
    header_push,
    header_rest,
    is_several,
    may_hold,
    word_high,
    word_literal,
    word_low,
    word_slot,
)

# Boxes of a block: a row has one bit for each of them.
BLOCK = EVENTS

# Ends between two rows.
BETWEEN = 64

# Ends per place of a directory, about.
_ENDS_PER_PLACE = 8

# Intervals of one operand that are turned into ends, at most. An operand of more is left out, and
# the record is checked.
MOST_INTERVALS = 32

# Words of an entry, and what each holds: the slot, where its ends begin, how many they are, its
# first row, where its directory begins, the code of its first end, and log2 of the codes of a place
# of the directory.
ENTRY_WORDS = 7
_SLOT, _FIRST_END, _ENDS, _FIRST_ROW, _DIRECTORY, _LOWEST, _SHIFT = range(ENTRY_WORDS)

_ONE = np.uint64(1)


class BoundBlocks(NamedTuple):
    """The arrays that `inside` reads; all are empty if nothing is found by bounds."""

    block_entry: NDArray[np.int32]  # where the entries of each block begin, and where all end
    entries: NDArray[np.int32]
    end_code: NDArray[np.int32]  # by entry, in order
    end_box: NDArray[np.uint16]  # the box in its block, of each end
    directory: NDArray[np.int32]  # how many ends of the entry are below the first code of a place
    rows: NDArray[np.uint64]  # first, for each block, which of its bits stand for a box
    places: NDArray[np.int32]  # of each box: the rule that is true, or `pack_unsure` of a record

    @property
    def bytes(self) -> int:
        return sum(array.nbytes for array in self)


class BoundMasks(NamedTuple):
    """What one thread writes while it reads bounds."""

    masks: NDArray[np.uint64]


@codec
def pack_unsure(record):
    """In place of a rule: this record is still to be checked.

    >>> pack_unsure(0), record_of_unsure(-5)
    (-1, 4)
    """
    return -1 - record


@codec
def record_of_unsure(place):
    """The record that is still to be checked."""
    return -1 - place


@codec
def pack_end(block, slot, code, box):
    """An end as one word, which sorts by block, slot and code.

    | block: 12 bits | slot: 18 bits | code: 23 bits | box: 10 bits |
    """
    return block << 51 | slot << 33 | code << 10 | box


@codec
def end_entry(end: Any) -> Any:
    """What ends of the same block and slot have in common."""
    return end >> 33


@codec
def unpack_end(end):
    """(slot, code, box) of an end."""
    return (end >> 33) & 0x3FFFF, (end >> 10) & 0x7FFFFF, end & 0x3FF


@compiled
def _operand_intervals(word, atom_row, families, iv_low, iv_high, low, high):
    """Where an inline operand is true of a single value; how many intervals, -1 if too many."""
    if not is_several(word):
        low[0], high[0] = word_low(word), max(word_high(word), word_low(word) - 1)
        return 1
    ref = word_literal(word)
    atom = atom_of(ref)
    begin, end = np.int64(atom_row[atom, ROW_START]), np.int64(atom_row[atom + 1, ROW_START])
    if end - begin >= MOST_INTERVALS:
        return -1
    least = np.int64(0) if may_hold(word, OTHER) else np.int64(OTHER + 1)
    if not is_negated(ref):
        for i in range(begin, end):
            low[i - begin] = max(np.int64(iv_low[i]), least)
            high[i - begin] = max(np.int64(iv_high[i]), low[i - begin] - 1)
        return end - begin
    family = FAMILY_COLUMNS * np.int64(atom_row[atom, ROW_FAMILY])
    at = np.int64(max(families[family + FAMILY_FIRST], least))
    count = 0
    for i in range(begin, end):
        low[count], high[count] = at, max(iv_low[i] - 1, at - 1)
        at = max(at, np.int64(iv_high[i]) + 1)
        count += 1
    low[count], high[count] = at, max(np.int64(families[family + FAMILY_LAST]), at - 1)
    return count + 1


@compiled
def ends_of(records_at, records, single, atom_row, families, iv_low, iv_high):
    """The ends of the boxes of some records, in no order, and what each box stands for.

    An operand is left out if it has too many intervals, or if another one of several intervals has
    the same slot; intervals of the same slot are intersected.
    """
    most = np.int64(0)
    for record in records_at:
        most += header_inline(records[record])
    ends = np.empty(2 * most + 2 * MOST_INTERVALS, np.int64)
    places = np.empty(len(records_at), np.int32)
    low, high = np.empty(MOST_INTERVALS, np.int64), np.empty(MOST_INTERVALS, np.int64)
    top = 0
    for i in range(len(records_at)):
        record = np.int64(records_at[i])
        header = records[record]
        inline = header_inline(header)
        exact = header_rest(header) == 0
        for k in range(record + 1, record + 1 + inline):
            slot = word_slot(records[k])
            first = True  # whether no operand before this one has the slot
            for j in range(record + 1, k):
                first &= word_slot(records[j]) != slot
            if not first:
                continue
            count = _operand_intervals(records[k], atom_row, families, iv_low, iv_high, low, high)
            exact &= count >= 0
            for j in range(k + 1, record + 1 + inline):
                if word_slot(records[j]) != slot:
                    continue
                if count == 1 and not is_several(records[j]):
                    low[0] = max(low[0], word_low(records[j]))
                    high[0] = max(min(high[0], word_high(records[j])), low[0] - 1)
                else:
                    exact = False
            if top + 2 * count > len(ends):
                more = np.empty(2 * len(ends), np.int64)
                copy_items(ends, more, top)
                ends = more
            for j in range(count):
                ends[top] = pack_end(i // BLOCK, slot, low[j], i % BLOCK)
                ends[top + 1] = pack_end(i // BLOCK, slot, high[j] + 1, i % BLOCK)
                top += 2
        push = header_push(header)
        places[i] = pack_unsure(record)
        if exact and header_is_root(header) and push < NO_LIST and group_of_list(push) < single:
            places[i] = group_of_list(push)
    return ends[:top].copy(), places


@compiled
def lay_out_bounds(ends, first, boxes):
    """Entries, ends, directories and rows of sorted ends, where entry i has ends from first[i] on.

    Also what share of the rows of each entry rules a box out, on average.
    """
    blocks = (boxes + BLOCK - 1) // BLOCK
    count = len(first) - 1
    total_rows, total_places = np.int64(blocks), np.int64(0)
    entries = np.zeros(ENTRY_WORDS * count, np.int32)
    for i in range(count):
        size = first[i + 1] - first[i]
        slot, lowest, _ = unpack_end(ends[first[i]])
        _, highest, _ = unpack_end(ends[first[i + 1] - 1])
        shift = 0
        while _ENDS_PER_PLACE * ((highest - lowest) >> shift) > size:
            shift += 1
        entry = ENTRY_WORDS * i
        entries[entry + _SLOT], entries[entry + _FIRST_END] = slot, first[i]
        entries[entry + _ENDS], entries[entry + _FIRST_ROW] = size, total_rows
        entries[entry + _DIRECTORY], entries[entry + _LOWEST] = total_places, lowest
        entries[entry + _SHIFT] = shift
        total_rows += size // BETWEEN + 1
        total_places += ((highest - lowest) >> shift) + 2
    end_code, end_box = np.empty(len(ends), np.int32), np.empty(len(ends), np.uint16)
    directory = np.empty(total_places, np.int32)
    rows = np.zeros(WORDS * total_rows, np.uint64)
    for box in range(boxes):
        rows[WORDS * (box // BLOCK) + (box % BLOCK >> 6)] |= _ONE << np.uint64(box & 63)
    excluded = np.zeros(count, np.float64)
    now = np.empty(WORDS, np.uint64)
    for i in range(count):
        entry = ENTRY_WORDS * i
        low, size = first[i], first[i + 1] - first[i]
        fill_array(now, np.uint64(0))
        for j in range(low, low + size):
            _, end_code[j], end_box[j] = unpack_end(ends[j])
            box = np.int64(end_box[j])
            now[box >> 6] |= _ONE << np.uint64(box & 63)
        out = np.int64(0)  # boxes that the present code rules out
        for word in now:
            while word != np.uint64(0):
                out += 1
                word &= word - _ONE
        ruled_out = np.int64(0)
        for j in range(size + 1):
            if j % BETWEEN == 0:
                row = WORDS * (entries[entry + _FIRST_ROW] + j // BETWEEN)
                for w in range(WORDS):
                    rows[row + w] = now[w]
            ruled_out += out
            if j < size:
                box = np.int64(end_box[low + j])
                bit = _ONE << np.uint64(box & 63)
                now[box >> 6] ^= bit
                out += 1 if now[box >> 6] & bit else -1
        excluded[i] = ruled_out / (size + 1)
        shift, lowest = entries[entry + _SHIFT], np.int64(entries[entry + _LOWEST])
        place_end = total_places if i + 1 == count else entries[entry + ENTRY_WORDS + _DIRECTORY]
        j = np.int64(0)
        for place in range(place_end - entries[entry + _DIRECTORY]):
            while j < size and end_code[low + j] < lowest + (place << shift):
                j += 1
            directory[entries[entry + _DIRECTORY] + place] = j
    return entries, end_code, end_box, directory, rows, excluded


@inlined
def _ends_up_to(entry, bounds, code):
    """How many ends of an entry are at most at a code."""
    entries, end_code = bounds.entries, bounds.end_code
    size = np.int64(entries[entry + _ENDS])
    begin = np.int64(entries[entry + _FIRST_END])
    shift = entries[entry + _SHIFT]
    place = np.int64(code) - entries[entry + _LOWEST]
    if place < 0:
        return np.int64(0)
    if code >= end_code[begin + size - 1]:
        return size
    at = entries[entry + _DIRECTORY] + (place >> shift)
    low, high = np.int64(bounds.directory[at]), np.int64(bounds.directory[at + 1])
    if shift == 0:
        return high
    while high - low > 8:
        middle = (low + high) >> 1
        if end_code[begin + middle] <= code:
            low = middle
        else:
            high = middle
    while low < high and end_code[begin + low] <= code:
        low += 1
    return low


@inlined
def _rule_out(entry, bounds, masks, code):
    """Remove the boxes that a code is outside of from the mask at 0; whether any is left."""
    size = np.int64(bounds.entries[entry + _ENDS])
    begin = np.int64(bounds.entries[entry + _FIRST_END])
    position = _ends_up_to(entry, bounds, code)
    row = min((position + BETWEEN // 2) // BETWEEN, size // BETWEEN)
    copy(masks, WORDS, bounds.rows, WORDS * (bounds.entries[entry + _FIRST_ROW] + row))
    low, high = min(position, row * BETWEEN), max(position, row * BETWEEN)
    for i in range(begin + low, begin + high):
        box = np.int64(bounds.end_box[i])
        masks[WORDS + (box >> 6)] ^= _ONE << np.uint64(box & 63)
    return remove(masks, 0, masks, WORDS)


@inlined
def inside(bounds, masks, codes, keep, rules, unsure):
    """The rules whose boxes an event is in, and the records that are still to be checked.

    Returns how many there are of each. `codes` are those of all slots, none of them of a list.
    """
    found, left = 0, 0
    for block in range(len(bounds.block_entry) - 1):
        copy(masks, 0, bounds.rows, WORDS * block)
        some = True
        begin, end = bounds.block_entry[block], bounds.block_entry[block + 1]
        for entry in range(ENTRY_WORDS * begin, ENTRY_WORDS * end, ENTRY_WORDS):
            some = _rule_out(entry, bounds, masks, codes[bounds.entries[entry + _SLOT]])
            if not some:
                break
        if not some:
            continue
        first = np.int64(BLOCK) * block
        for w in range(WORDS):
            word = masks[w]
            while word != np.uint64(0):
                place = np.int64(bounds.places[first + trailing_zeros(word)])
                word &= word - _ONE
                if place < 0:
                    unsure[left] = record_of_unsure(place)
                    left += 1
                elif len(keep) == 0 or keep[place]:
                    rules[found] = place
                    found += 1
            first += 64
    return found, left
