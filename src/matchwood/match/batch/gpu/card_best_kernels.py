"""Of each event the rules of highest priority that are true of it, found on a card.

Rules are gone through in the order of their priority, chunk by chunk: how many of a chunk are true
of each event is counted first, so that all chunks know where theirs go. A thread takes one event
and one chunk; threads side by side take events side by side, whose bits are in one word.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np
from numba import cuda

from matchwood.match.batch.gpu.card_layout import CARD_EVENTS, CARD_WORDS, NO_NODE, WORD_EVENTS
from matchwood.match.batch.gpu.warp_kernels import device_function, launched

# Rules of a chunk.
BEST_CHUNK = 1024

_ONE = np.uint32(1)


@device_function
def _is_true(rank, node_of_rank, event, masks, counts):
    """Whether the rule of a rank is true of an event."""
    node = node_of_rank[rank]
    if node == NO_NODE or counts[np.uint32(node)] == 0:
        return False
    w = np.uint32(event // np.uint32(WORD_EVENTS))
    word = masks[np.uint32(np.uint32(CARD_WORDS) * np.uint32(node) + w)]
    return np.uint32(np.uint32(word >> np.uint32(event % np.uint32(WORD_EVENTS))) & _ONE) != 0


@device_function
def _end_of_chunk(first, node_of_rank, end_rank):
    return min(
        np.uint32(first + np.uint32(BEST_CHUNK)), min(end_rank, np.uint32(len(node_of_rank)))
    )


@launched
def count_best(node_of_rank, first_rank, end_rank, masks, counts, chunk_counts):
    """Write how many rules of each chunk of ranks are true of each event."""
    place = np.uint32(cuda.grid(1))
    chunks = np.uint32((end_rank - first_rank + BEST_CHUNK - 1) // BEST_CHUNK)
    while place < np.uint32(chunks * np.uint32(CARD_EVENTS)):
        event = np.uint32(place % np.uint32(CARD_EVENTS))
        chunk = np.uint32(place // np.uint32(CARD_EVENTS))
        rank = np.uint32(np.uint32(first_rank) + np.uint32(np.uint32(BEST_CHUNK) * chunk))
        end = _end_of_chunk(rank, node_of_rank, np.uint32(end_rank))
        found = np.int32(0)
        while rank < end:
            if _is_true(rank, node_of_rank, event, masks, counts):
                found += np.int32(1)
            rank = np.uint32(rank + _ONE)
        chunk_counts[place] = found
        place = np.uint32(place + np.uint32(cuda.gridsize(1)))


@launched
def place_best(chunks, chunk_counts, totals):
    """Replace the counts of each event by where those of a chunk go, and add them to its total."""
    event = np.uint32(cuda.grid(1))
    while event < np.uint32(CARD_EVENTS):
        at = totals[event]
        for chunk in range(chunks):
            place = np.uint32(np.uint32(CARD_EVENTS) * np.uint32(chunk) + event)
            count = chunk_counts[place]
            chunk_counts[place] = at
            at += count
        totals[event] = at
        event = np.uint32(event + np.uint32(cuda.gridsize(1)))


@launched
def write_best(
    node_of_rank, rule_of_rank, first_rank, end_rank, masks, counts, chunk_counts, limit, out
):
    """Write, for each event, its first `limit` rules of all ranks up to `end_rank`."""
    place = np.uint32(cuda.grid(1))
    chunks = np.uint32((end_rank - first_rank + BEST_CHUNK - 1) // BEST_CHUNK)
    while place < np.uint32(chunks * np.uint32(CARD_EVENTS)):
        event = np.uint32(place % np.uint32(CARD_EVENTS))
        chunk = np.uint32(place // np.uint32(CARD_EVENTS))
        rank = np.uint32(np.uint32(first_rank) + np.uint32(np.uint32(BEST_CHUNK) * chunk))
        end = _end_of_chunk(rank, node_of_rank, np.uint32(end_rank))
        at = chunk_counts[place]
        while rank < end and at < limit:
            if _is_true(rank, node_of_rank, event, masks, counts):
                out[np.uint64(np.uint64(limit) * np.uint64(event) + np.uint64(at))] = rule_of_rank[
                    rank
                ]
                at += np.int32(1)
            rank = np.uint32(rank + _ONE)
        place = np.uint32(place + np.uint32(cuda.gridsize(1)))
