"""A sweep on a card: place the events, compute the nodes level by level, write the pairs.

A warp takes a few nodes of one run, one after the other, and each of its lanes a word of the mask.
A node with no event has its count, 0, and no mask is written or read. The counts of all nodes say
how many pairs each rule has, and so where they go: pairs are in the order of rules and events,
whichever warp is first, and what was handed on before a card failed can be told from the rest.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np
from numba import cuda

from matchwood.match.batch.gpu.card_layout import (
    CARD_FIRST,
    CARD_IS_AND,
    CARD_KEY,
    CARD_LITERALS,
    CARD_NODE,
    CARD_NODES,
    CARD_WORDS,
    ITEM_COLUMNS,
    ITEM_END,
    ITEM_FIRST,
    ITEM_RUN,
    NO_NODE,
    ROW_SIZE,
    ROW_THERE,
    WORD_EVENTS,
)
from matchwood.match.batch.gpu.card_literal_kernels import literal_events
from matchwood.match.batch.gpu.warp_kernels import (
    LANES,
    any_lane,
    count_ones,
    device_function,
    lane_before,
    lane_number,
    lane_total,
    launched,
    lowest_one,
    words_of_lane,
)

# Rules of a chunk, whose pairs one warp writes, and chunks of a group.
CHUNK_RULES = 32
GROUP_CHUNKS = 32

_ONE = np.uint32(1)
_NONE = np.uint32(0)


@device_function
def _warp_number():
    return np.uint32(np.uint32(cuda.grid(1)) // np.uint32(LANES))


@device_function
def _warps():
    return np.uint32(np.uint32(cuda.gridsize(1)) // np.uint32(LANES))


@launched
def place_codes(batch, given_at, rows_at, rows, events):
    """Write the rows of a batch from its codes as they come: those of the events of row 1 first."""
    place = np.uint32(cuda.grid(1))
    end = np.uint32(CARD_WORDS * (rows + 1))
    while place < end:
        row = np.uint32(place // np.uint32(CARD_WORDS))
        w = np.uint32(place % np.uint32(CARD_WORDS))
        row_at = np.uint32(rows_at + ROW_SIZE * row)
        word = _NONE
        for bit in range(WORD_EVENTS):
            event = WORD_EVENTS * w + bit
            code = np.int32(0)
            if row > 0 and event < events:
                code = batch[np.uint32(given_at + events * (row - _ONE) + event)]
            batch[np.uint32(row_at + CARD_WORDS * bit + w)] = code
            if code != 0:
                word = np.uint32(word | np.uint32(_ONE << np.uint32(bit)))
        batch[np.uint32(row_at + ROW_THERE + w)] = np.int32(word)
        place = np.uint32(place + np.uint32(cuda.gridsize(1)))


@device_function
def _every_event(events, w):
    """All events of a word."""
    left = np.int32(np.int32(events) - np.int32(WORD_EVENTS * w))
    if left <= 0:
        return _NONE
    if left >= WORD_EVENTS:
        return np.uint32(0xFFFFFFFF)
    return np.uint32(np.uint32(_ONE << np.uint32(left)) - _ONE)


@device_function
def _of_nodes(is_and, every, at, end, w, program, masks, counts):
    """The events of a word that those operands of a node leave that are nodes."""
    found = every if is_and else _NONE
    while at < end:
        operand = np.uint32(program[at])
        at = np.uint32(at + _ONE)
        if counts[operand] == 0:
            if is_and:
                return _NONE
        else:
            mask = masks[np.uint32(np.uint32(CARD_WORDS * operand) + w)]
            found = np.uint32(found & mask) if is_and else np.uint32(found | mask)
    return found


@device_function
def _of_literals(is_and, every, found, at, end, w, keys, index, batch):
    """The events of a word of which a node is true, from those that its nodes leave."""
    while at < end:
        among = found if is_and else np.uint32(every & ~found)
        if among == _NONE:
            break
        true = literal_events(keys[at], among, w, index, batch)
        found = true if is_and else np.uint32(found | true)
        at = np.uint32(at + _ONE)
    return found


@device_function
def _of_run(program, run, column):
    return np.uint32(program[np.uint32(run + np.uint32(column))])


@launched
def compute_nodes(program, keys, index, batch, events, words, first_item, end_item, masks, counts):
    """Write the masks of the nodes of some items, and how many events each has."""
    lane = lane_number()
    item = np.uint32(np.uint32(first_item) + _warp_number())
    end_of_items = np.uint32(end_item)
    while item < end_of_items:
        at = np.uint32(np.uint32(ITEM_COLUMNS) * item)
        run = np.uint32(program[np.uint32(at + np.uint32(ITEM_RUN))])
        node = np.uint32(program[np.uint32(at + np.uint32(ITEM_FIRST))])
        end = np.uint32(program[np.uint32(at + np.uint32(ITEM_END))])
        is_and = _of_run(program, run, CARD_IS_AND) != 0
        number = np.uint32(_of_run(program, run, CARD_FIRST) + node)
        nodes = _of_run(program, run, CARD_NODES)
        node_at = np.uint32(_of_run(program, run, CARD_NODE) + np.uint32(node * nodes))
        literals = _of_run(program, run, CARD_LITERALS)
        key_at = np.uint32(_of_run(program, run, CARD_KEY) + np.uint32(node * literals))
        while node < end:
            node_end = np.uint32(node_at + nodes)
            key_end = np.uint32(key_at + literals)
            count = np.int32(0)
            for step in range(words_of_lane(words)):
                w = np.uint32(lane + np.uint32(step))
                every = _every_event(events, w)
                found = _of_nodes(is_and, every, node_at, node_end, w, program, masks, counts)
                found = _of_literals(is_and, every, found, key_at, key_end, w, keys, index, batch)
                if any_lane(found):
                    masks[np.uint32(np.uint32(CARD_WORDS * number) + w)] = found
                count += count_ones(found)
            total = lane_total(count)
            if lane == 0:
                counts[number] = total
            node = np.uint32(node + _ONE)
            number = np.uint32(number + _ONE)
            node_at, key_at = node_end, key_end
        item = np.uint32(item + _warps())


@device_function
def _pairs_of_rule(rule, node_of_rule, selects, wanted, counts):
    """How many pairs a rule has."""
    node = node_of_rule[rule]
    if node == NO_NODE or (selects and wanted[rule] == 0):
        return np.int32(0)
    return np.int32(counts[np.uint32(node)])


@launched
def count_pairs(node_of_rule, selects, wanted, counts, groups, chunk_pairs, group_pairs):
    """Write how many pairs the rules of each chunk have, and those of each group."""
    lane = lane_number()
    rules = np.uint32(len(node_of_rule))
    group = _warp_number()
    while group < groups:
        of_group = np.int32(0)  # of 1,024 rules and 1,024 events at most
        for step in range(GROUP_CHUNKS):
            chunk = np.uint32(np.uint32(GROUP_CHUNKS * group) + np.uint32(step))
            rule = np.uint32(np.uint32(CHUNK_RULES * chunk) + lane)
            mine = np.int32(0)
            for _ in range(CHUNK_RULES // LANES):
                if rule < rules:
                    mine += _pairs_of_rule(rule, node_of_rule, selects, wanted, counts)
                rule = np.uint32(rule + np.uint32(1))
            total = lane_total(mine)
            of_group += total
            if lane == 0:
                chunk_pairs[chunk] = total
        if lane == 0:
            group_pairs[group] = of_group
        group = np.uint32(group + _warps())


@launched
def place_groups(group_pairs, groups, place_of_group):
    """Write where the pairs of each group begin, and before them how many there are in all."""
    lane = lane_number()
    if _warp_number() == 0:
        at = np.int64(0)
        for first in range(0, groups, LANES):
            group = np.uint32(np.uint32(first) + lane)
            mine = np.int32(0)
            if group < groups:
                mine = group_pairs[group]
            before = lane_before(mine)
            if group < groups:
                place_of_group[np.uint32(group + _ONE)] = at + before
            at += lane_total(mine)
        if lane == 0:
            place_of_group[_NONE] = at


@launched
def write_pairs(
    node_of_rule, selects, wanted, words, masks, counts, chunk_pairs, place_of_group, out_event,
    out_rule,
):  # fmt: skip
    """Write the (event, rule) pairs of all rules, in their order.

    Where there is less room than that, pairs are left out, and the caller asks again with more.
    """
    lane = lane_number()
    rules = np.uint32(len(node_of_rule))
    chunks = np.uint32((rules + np.uint32(CHUNK_RULES - 1)) // np.uint32(CHUNK_RULES))
    chunk = _warp_number()
    while chunk < chunks:
        group = np.uint32(chunk // np.uint32(GROUP_CHUNKS))
        before = np.int32(0)
        other = np.uint32(np.uint32(GROUP_CHUNKS * group) + lane)
        while other < chunk:
            before += chunk_pairs[other]
            other = np.uint32(other + np.uint32(LANES))
        at = place_of_group[np.uint32(group + _ONE)] + lane_total(before)
        if chunk_pairs[chunk] > 0 and at + chunk_pairs[chunk] <= len(out_event):
            rule = np.uint32(CHUNK_RULES * chunk)
            end = min(np.uint32(rule + np.uint32(CHUNK_RULES)), rules)
            while rule < end:
                pairs = _pairs_of_rule(rule, node_of_rule, selects, wanted, counts)
                if pairs > 0:
                    node = np.uint32(node_of_rule[rule])
                    _write_rule(rule, node, at, lane, words, masks, out_event, out_rule)
                    at += pairs
                rule = np.uint32(rule + _ONE)
        chunk = np.uint32(chunk + _warps())


@device_function
def _write_rule(rule, node, at, lane, words, masks, out_event, out_rule):
    """Write the pairs of one rule from a place on."""
    for step in range(words_of_lane(words)):
        w = np.uint32(lane + np.uint32(step))
        left = masks[np.uint32(np.uint32(CARD_WORDS * node) + w)]
        ones = count_ones(left)
        place = np.uint64(at + lane_before(ones))
        while left != _NONE:
            out_event[place] = np.int32(WORD_EVENTS * w + lowest_one(left))
            out_rule[place] = np.int32(rule)
            left = np.uint32(left & np.uint32(left - _ONE))
            place += np.uint64(1)
        if LANES == 1:
            at += ones


@launched
def add_counts_of_rules(node_of_rule, selects, wanted, counts, totals):
    """Add to the total of each rule how many events it is true of."""
    rules = np.uint32(len(node_of_rule))
    rule = np.uint32(cuda.grid(1))
    while rule < rules:
        pairs = _pairs_of_rule(rule, node_of_rule, selects, wanted, counts)
        if pairs > 0:
            cuda.atomic.add(totals, rule, np.int64(pairs))  # other streams add to it as well
        rule = np.uint32(rule + np.uint32(cuda.gridsize(1)))


@launched
def add_counts_of_events(node_of_rule, selects, wanted, words, masks, counts, totals):
    """Add to the total of each event how many rules are true of it."""
    lane = lane_number()
    rules = np.uint32(len(node_of_rule))
    rule = _warp_number()
    while rule < rules:
        if _pairs_of_rule(rule, node_of_rule, selects, wanted, counts) > 0:
            node = np.uint32(node_of_rule[rule])
            for step in range(words_of_lane(words)):
                w = np.uint32(lane + np.uint32(step))
                left = masks[np.uint32(np.uint32(CARD_WORDS * node) + w)]
                while left != _NONE:
                    cuda.atomic.add(totals, np.uint32(WORD_EVENTS * w + lowest_one(left)), 1)
                    left = np.uint32(left & np.uint32(left - _ONE))
        rule = np.uint32(rule + _warps())
