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
    CARD_HAS_RULES,
    CARD_IS_AND,
    CARD_LITERAL,
    CARD_LITERALS,
    CARD_NODE,
    CARD_NODES,
    CARD_WORDS,
    FEW_EVENTS,
    ITEM_COLUMNS,
    ITEM_END,
    ITEM_FIRST,
    ITEM_RUN,
    NO_NODE,
    ROW_BEFORE,
    ROW_COUNT,
    ROW_LISTS,
    ROW_SIZE,
    ROW_THERE,
    WORD_EVENTS,
)
from matchwood.match.batch.gpu.card_literal_kernels import events_possible, operand_events
from matchwood.match.batch.gpu.warp_kernels import (
    LANES,
    SHARED_EVENTS,
    any_lane,
    count_ones,
    device_function,
    from_lane,
    lane_before,
    lane_number,
    lane_total,
    launched,
    lowest_one,
    wait_for_warp,
    words_of_codes,
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
    lane = lane_number()
    events = np.uint32(events)
    row = _warp_number()
    while row <= rows:
        at = np.uint32(np.uint32(rows_at) + np.uint32(ROW_SIZE) * row)
        given, seen = np.uint32(given_at), np.uint32(0)
        if row > 0:
            given = np.uint32(given + events * np.uint32(row - _ONE))
            seen = events
        mine, lists = np.int32(0), np.int32(0)
        for step in range(words_of_lane(CARD_WORDS)):
            w = np.uint32(lane + np.uint32(step))
            word, of_lists = words_of_codes(batch, given, seen, w)
            batch[np.uint32(at + np.uint32(ROW_THERE) + w)] = np.int32(word)
            mine += count_ones(word)
            lists += count_ones(of_lists)
        count = lane_total(mine)
        lists = lane_total(lists)
        before = lane_before(mine)
        for step in range(words_of_lane(CARD_WORDS)):
            w = np.uint32(lane + np.uint32(step))
            left = np.uint32(batch[np.uint32(at + np.uint32(ROW_THERE) + w)])
            batch[np.uint32(at + np.uint32(ROW_BEFORE) + w)] = before
            if count <= FEW_EVENTS:
                while left != _NONE:
                    event = np.uint32(np.uint32(WORD_EVENTS) * w + lowest_one(left))
                    place = np.uint32(at + np.uint32(before))
                    batch[place] = batch[np.uint32(given + event)]
                    left = np.uint32(left & np.uint32(left - _ONE))
                    before += np.int32(1)
            else:
                for bit in range(WORD_EVENTS):
                    event = np.uint32(np.uint32(WORD_EVENTS) * w + np.uint32(bit))
                    code = np.int32(0)
                    if event < seen:
                        code = batch[np.uint32(given + event)]
                    batch[np.uint32(at + np.uint32(CARD_WORDS * bit) + w)] = code
                before += count_ones(left)
        if lane == 0:
            batch[np.uint32(at + np.uint32(ROW_COUNT))] = count
            batch[np.uint32(at + np.uint32(ROW_LISTS))] = lists
        row = np.uint32(row + _warps())


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
def _and_events(every, at, end, l_at, l_end, w, program, literals, keys_at, index, batch, masks,
                counts, bits_at):  # fmt: skip
    """The events of a word of which all operands are true."""
    found = every
    while at < end:
        operand = np.uint32(program[at])
        if counts[operand] == 0:
            return _NONE
        found = np.uint32(found & masks[np.uint32(np.uint32(CARD_WORDS) * operand + w)])
        at = np.uint32(at + _ONE)
    first = l_at
    while first < l_end and found != _NONE:  # few events have the slots of all literals
        found = events_possible(literals[first], found, w, batch)
        first = np.uint32(first + _ONE)
    while l_at < l_end and found != _NONE:
        found = operand_events(
            literals[l_at], found, w, literals, keys_at, index, batch, masks, bits_at
        )
        l_at = np.uint32(l_at + _ONE)
    return found


@device_function
def _or_events(every, at, end, l_at, l_end, w, program, literals, keys_at, index, batch, masks,
               counts, bits_at):  # fmt: skip
    """The events of a word of which some operand is true."""
    found = _NONE
    while at < end:
        operand = np.uint32(program[at])
        if counts[operand] != 0:
            found = np.uint32(found | masks[np.uint32(np.uint32(CARD_WORDS) * operand + w)])
        at = np.uint32(at + _ONE)
    while l_at < l_end and found != every:
        among = np.uint32(every & ~found)
        found = np.uint32(
            found
            | operand_events(
                literals[l_at], among, w, literals, keys_at, index, batch, masks, bits_at
            )
        )
        l_at = np.uint32(l_at + _ONE)
    return found


@device_function
def _of_run(program, run, column):
    return np.uint32(program[np.uint32(run + np.uint32(column))])


@launched
def compute_nodes(
    program, literals, keys_at, index, batch, events, words, first_item, end_item, masks, bits_at,
    counts,
):  # fmt: skip
    """Write the masks of the nodes of some items, and of each how many events it has, or, if it is
    not the root of a rule, whether it has any."""
    lane = lane_number()
    item = np.uint32(np.uint32(first_item) + _warp_number())
    end_of_items = np.uint32(end_item)
    while item < end_of_items:
        at = np.uint32(np.uint32(ITEM_COLUMNS) * item)
        run = np.uint32(program[np.uint32(at + np.uint32(ITEM_RUN))])
        node = np.uint32(program[np.uint32(at + np.uint32(ITEM_FIRST))])
        end = np.uint32(program[np.uint32(at + np.uint32(ITEM_END))])
        is_and = _of_run(program, run, CARD_IS_AND) != 0
        has_rules = _of_run(program, run, CARD_HAS_RULES) != 0
        number = np.uint32(_of_run(program, run, CARD_FIRST) + node)
        of_nodes = _of_run(program, run, CARD_NODES)
        node_at = np.uint32(_of_run(program, run, CARD_NODE) + np.uint32(node * of_nodes))
        of_literals = _of_run(program, run, CARD_LITERALS)
        l_at = np.uint32(_of_run(program, run, CARD_LITERAL) + np.uint32(node * of_literals))
        while node < end:
            node_end = np.uint32(node_at + of_nodes)
            l_end = np.uint32(l_at + of_literals)
            count = np.int32(0)
            for step in range(words_of_lane(words)):
                w = np.uint32(lane + np.uint32(step))
                every = _every_event(events, w)
                if is_and:
                    found = _and_events(
                        every, node_at, node_end, l_at, l_end, w, program, literals, keys_at,
                        index, batch, masks, counts, bits_at,
                    )  # fmt: skip
                else:
                    found = _or_events(
                        every, node_at, node_end, l_at, l_end, w, program, literals, keys_at,
                        index, batch, masks, counts, bits_at,
                    )  # fmt: skip
                if any_lane(found):
                    masks[np.uint32(np.uint32(CARD_WORDS) * number + w)] = found
                    count += count_ones(found)
            if has_rules or LANES == 1:
                count = lane_total(count)
            else:
                count = np.int32(any_lane(np.uint32(count)))
            if lane == 0:
                counts[number] = count
            node = np.uint32(node + _ONE)
            number = np.uint32(number + _ONE)
            node_at, l_at = node_end, l_end
        item = np.uint32(item + _warps())


@device_function
def pairs_of_rule(rule, node_of_rule, selects, wanted, counts):
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
                    mine += pairs_of_rule(rule, node_of_rule, selects, wanted, counts)
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
    node_of_rule, selects, wanted, words, masks, counts, chunk_pairs, place_of_group, first_rule,
    out_event, out_rule,
):  # fmt: skip
    """Write the (event, rule) pairs of all rules, in their order, numbered from `first_rule` on.

    Where there is less room than that, pairs are left out, and the caller asks again with more.
    """
    lane = lane_number()
    staged = cuda.shared.array(SHARED_EVENTS, np.uint16)[cuda.threadIdx.x // LANES]
    rules = np.uint32(len(node_of_rule))
    chunks = np.uint32((rules + np.uint32(CHUNK_RULES - 1)) // np.uint32(CHUNK_RULES))
    chunk = _warp_number()
    while chunk < chunks:
        if chunk_pairs[chunk] > 0:
            at = place_of_chunk(chunk, lane, chunk_pairs, place_of_group)
            if at + chunk_pairs[chunk] <= len(out_event):
                for step in range(CHUNK_RULES // LANES):
                    first = np.uint32(
                        np.uint32(CHUNK_RULES) * chunk + np.uint32(LANES) * np.uint32(step)
                    )
                    mine = np.uint32(first + lane)
                    pairs, node = np.int32(0), np.int32(0)
                    if mine < rules:
                        pairs = pairs_of_rule(mine, node_of_rule, selects, wanted, counts)
                        node = node_of_rule[mine]
                    for other in range(LANES):
                        count = from_lane(pairs, other)
                        if count > 0:
                            rule = np.uint32(
                                np.uint32(first_rule) + np.uint32(first + np.uint32(other))
                            )
                            _write_rule(
                                rule, np.uint32(from_lane(node, other)), at, count, lane, words,
                                masks, staged, out_event, out_rule,
                            )  # fmt: skip
                            at += count
        chunk = np.uint32(chunk + _warps())


@device_function
def place_of_chunk(chunk, lane, chunk_pairs, place_of_group):
    """Where the pairs of a chunk begin."""
    group = np.uint32(chunk // np.uint32(GROUP_CHUNKS))
    before = np.int32(0)
    other = np.uint32(np.uint32(GROUP_CHUNKS * group) + lane)
    while other < chunk:
        before += chunk_pairs[other]
        other = np.uint32(other + np.uint32(LANES))
    return place_of_group[np.uint32(group + _ONE)] + lane_total(before)


@device_function
def _write_rule(rule, node, at, count, lane, words, masks, staged, out_event, out_rule):
    """Write the pairs of one rule from a place on: lanes side by side write side by side."""
    own = np.int32(0)
    for step in range(words_of_lane(words)):
        w = np.uint32(lane + np.uint32(step))
        left = masks[np.uint32(np.uint32(CARD_WORDS) * node + w)]
        if LANES > 1:
            own = lane_before(count_ones(left))
        while left != _NONE:
            staged[own] = np.uint16(WORD_EVENTS * w + lowest_one(left))
            left = np.uint32(left & np.uint32(left - _ONE))
            own += np.int32(1)
    wait_for_warp()
    other = np.int32(lane)
    while other < count:
        place = np.uint64(np.uint64(at) + np.uint64(other))
        out_event[place] = staged[other]
        out_rule[place] = np.int32(rule)
        other += np.int32(LANES)
    wait_for_warp()


@launched
def add_counts_of_rules(node_of_rule, selects, wanted, counts, totals):
    """Add to the total of each rule how many events it is true of."""
    rules = np.uint32(len(node_of_rule))
    rule = np.uint32(cuda.grid(1))
    while rule < rules:
        pairs = pairs_of_rule(rule, node_of_rule, selects, wanted, counts)
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
        if pairs_of_rule(rule, node_of_rule, selects, wanted, counts) > 0:
            node = np.uint32(node_of_rule[rule])
            for step in range(words_of_lane(words)):
                w = np.uint32(lane + np.uint32(step))
                left = masks[np.uint32(np.uint32(CARD_WORDS * node) + w)]
                while left != _NONE:
                    cuda.atomic.add(totals, np.uint32(WORD_EVENTS * w + lowest_one(left)), 1)
                    left = np.uint32(left & np.uint32(left - _ONE))
        rule = np.uint32(rule + _warps())
