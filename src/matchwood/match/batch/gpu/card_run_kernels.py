"""The matches of a batch as runs (`match_runs`): for each rule numbers of events, or a bitmap.

As with pairs, how many rules of each chunk have events, and how many words these take, is counted
first, so that rules are in their order, and a warp writes those of a chunk.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np
from numba import cuda

from matchwood.kernels.masks import RUN_WORDS
from matchwood.match.batch.gpu.card_layout import CARD_WORDS, WORD_EVENTS
from matchwood.match.batch.gpu.card_sweep_kernels import (
    CHUNK_RULES,
    GROUP_CHUNKS,
    pairs_of_rule,
    place_of_chunk,
)
from matchwood.match.batch.gpu.warp_kernels import (
    BLOCK_THREADS,
    LANES,
    count_ones,
    device_function,
    from_lane,
    lane_before,
    lane_number,
    lane_total,
    launched,
    lowest_one,
    wait_for_warp,
    words_of_lane,
)

# The shape of an array in which each warp of a block has room for the events of one run.
_SHARED_RUN = (BLOCK_THREADS // LANES, RUN_WORDS)

_ONE = np.uint32(1)
_NONE = np.uint32(0)
_LOW_HALF = np.uint32(0xFFFF)


@device_function
def _warp_number():  # here, as the simulator gives `cuda` to the functions of one module alone
    return np.uint32(np.uint32(cuda.grid(1)) // np.uint32(LANES))


@device_function
def _warps():
    return np.uint32(np.uint32(cuda.gridsize(1)) // np.uint32(LANES))


@launched
def count_runs(
    node_of_rule, selects, wanted, counts, groups, chunk_rules, group_rules, chunk_words,
    group_words,
):  # fmt: skip
    """Write how many rules of each chunk, and of each group, have events, and how many words their
    runs take."""
    lane = lane_number()
    rules = np.uint32(len(node_of_rule))
    group = _warp_number()
    while group < groups:
        rules_of_group = np.int32(0)
        words_of_group = np.int32(0)  # of 1,024 rules, with 64 words each at most
        for step in range(GROUP_CHUNKS):
            chunk = np.uint32(np.uint32(GROUP_CHUNKS * group) + np.uint32(step))
            rule = np.uint32(np.uint32(CHUNK_RULES * chunk) + lane)
            my_rules = np.int32(0)
            my_words = np.int32(0)
            for _ in range(CHUNK_RULES // LANES):
                if rule < rules:
                    pairs = pairs_of_rule(rule, node_of_rule, selects, wanted, counts)
                    if pairs > 0:
                        my_rules += np.int32(1)
                    my_words += np.int32(min(pairs, np.int32(RUN_WORDS)))
                rule = np.uint32(rule + _ONE)
            of_chunk = lane_total(my_rules)
            words_of_chunk = lane_total(my_words)
            rules_of_group += of_chunk
            words_of_group += words_of_chunk
            if lane == 0:
                chunk_rules[chunk] = of_chunk
                chunk_words[chunk] = words_of_chunk
        if lane == 0:
            group_rules[group] = rules_of_group
            group_words[group] = words_of_group
        group = np.uint32(group + _warps())


@launched
def write_runs(
    node_of_rule, selects, wanted, words, masks, counts, chunk_rules, place_of_rules, chunk_words,
    place_of_words, out_rule, out_count, out_words,
):  # fmt: skip
    """Write the rules that have events, how many each has, and their runs.

    Where there is less room than that, runs are left out, and the caller asks again with more.
    """
    lane = lane_number()
    staged = cuda.shared.array(_SHARED_RUN, np.uint16)[cuda.threadIdx.x // LANES]
    rules = np.uint32(len(node_of_rule))
    chunks = np.uint32((rules + np.uint32(CHUNK_RULES - 1)) // np.uint32(CHUNK_RULES))
    chunk = _warp_number()
    while chunk < chunks:
        if chunk_rules[chunk] > 0:
            at = place_of_chunk(chunk, lane, chunk_words, place_of_words)
            rule_at = place_of_chunk(chunk, lane, chunk_rules, place_of_rules)
            if at + chunk_words[chunk] <= len(out_words):
                for step in range(CHUNK_RULES // LANES):
                    first = np.uint32(
                        np.uint32(CHUNK_RULES) * chunk + np.uint32(LANES) * np.uint32(step)
                    )
                    mine = np.uint32(first + lane)
                    pairs, node, has = np.int32(0), np.int32(0), np.int32(0)
                    if mine < rules:
                        pairs = pairs_of_rule(mine, node_of_rule, selects, wanted, counts)
                        node = node_of_rule[mine]
                    if pairs > 0:
                        has = np.int32(1)
                    before = lane_before(has)
                    if pairs > 0:
                        place = np.uint64(np.uint64(rule_at) + np.uint64(before))
                        out_rule[place] = np.int32(mine)
                        out_count[place] = np.uint16(pairs)
                    rule_at += lane_total(has)
                    for other in range(LANES):
                        count = from_lane(pairs, other)
                        if count > 0:
                            _write_run(
                                np.uint32(from_lane(node, other)), at, count, lane, words, masks,
                                staged, out_words,
                            )  # fmt: skip
                            at += min(count, np.int32(RUN_WORDS))
        chunk = np.uint32(chunk + _warps())


@device_function
def _write_run(node, at, count, lane, words, masks, staged, out_words):
    """Write the run of one rule from a place on: lanes side by side write side by side."""
    if count < RUN_WORDS:
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
            out_words[np.uint64(np.uint64(at) + np.uint64(other))] = staged[other]
            other += np.int32(LANES)
        wait_for_warp()
    else:
        for step in range(words_of_lane(CARD_WORDS)):
            w = np.uint32(lane + np.uint32(step))
            word = _NONE
            if w < np.uint32(words):
                word = masks[np.uint32(np.uint32(CARD_WORDS) * node + w)]
            place = np.uint64(np.uint64(at) + np.uint64(np.uint32(w + w)))
            out_words[place] = np.uint16(word & _LOW_HALF)
            out_words[np.uint64(place + np.uint64(1))] = np.uint16(word >> np.uint32(16))
