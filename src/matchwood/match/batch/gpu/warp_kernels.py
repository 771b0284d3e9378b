"""What the lanes of a warp do together, and the decorators of kernels for a GPU.

A kernel is written for warps: the LANES threads of a warp share a node or a rule, and each takes
every LANES-th word of its mask. On a card there are 32 lanes, one per word. Numba's simulator runs
a kernel as plain Python and knows no operations of warps; there a warp has one lane, which takes
all words, and each function of this file has a plain form for one lane.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda
from numba.cuda.core import config

from matchwood.match.batch.gpu.card_layout import CARD_EVENTS, CARD_WORDS, WORD_EVENTS

IS_SIMULATED = bool(config.ENABLE_CUDASIM)

# Threads of a warp, and of a block.
LANES = 1 if IS_SIMULATED else 32
BLOCK_THREADS = 1 if IS_SIMULATED else 256

# Blocks of a launch: at least about as many as a large card has processors, so that Numba does not
# warn of too few; at most as many as such a card runs at once, several times over.
FEWEST_BLOCKS = 1 if IS_SIMULATED else 128
MOST_BLOCKS = 1 if IS_SIMULATED else 1 << 14

# The shape of an array in which each warp of a block has room for the numbers of all events.
SHARED_EVENTS = (BLOCK_THREADS // LANES, CARD_EVENTS)

# All lanes of a warp take part.
_FULL = 0xFFFFFFFF

# Compiles a function that the host launches.
launched = cuda.jit


def device_function(function: Any) -> Any:
    """Compile a function into the kernels that call it; the simulator leaves it as it is."""
    return function if IS_SIMULATED else cuda.jit(device=True)(function)


if IS_SIMULATED:

    @device_function
    def lane_number():
        return np.uint32(0)

    @device_function
    def words_of_lane(words):
        """How many words of a mask a lane takes."""
        return words

    @device_function
    def words_of_codes(batch, first, events, w):
        """Of the events of a word: which have a code that is not 0, and which have a list. Their
        codes begin at `first`, behind those of the words before."""
        there = lists = 0
        for bit in range(WORD_EVENTS):
            event = WORD_EVENTS * int(w) + bit
            if event < events:
                there |= int(batch[int(first) + event] != 0) << bit
                lists |= int(batch[int(first) + event] < 0) << bit
        return np.uint32(there), np.uint32(lists)

    @device_function
    def lane_total(number):
        """The sum of the numbers of all lanes."""
        return number

    @device_function
    def lane_before(number):
        """The sum of the numbers of all lanes below this one."""
        return 0

    @device_function
    def from_lane(number, lane):
        """What a lane has in place of this number."""
        return number

    @device_function
    def wait_for_warp():
        """Let each lane see what the others have written."""

    @device_function
    def any_lane(word):
        """Whether some lane needs its word written; with one lane every word is."""
        return True

    @device_function
    def count_ones(word):
        return int(word).bit_count()

    @device_function
    def lowest_one(word):
        """The number of the lowest bit that is set; the word is not 0."""
        return np.uint32((int(word) & -int(word)).bit_length() - 1)

else:

    @device_function
    def lane_number():
        return np.uint32(cuda.laneid)

    @device_function
    def words_of_lane(words):
        """How many words of a mask a lane takes; a constant, so that there is no loop."""
        return 1

    @device_function
    def words_of_codes(batch, first, events, w):
        """Of the events of a word: which have a code that is not 0, and which have a list. Their
        codes begin at `first`, behind those of the words before.

        Each lane asks for its own word; all do each word together, so as to read side by side.
        """
        there, lists = np.uint32(0), np.uint32(0)
        for word in range(CARD_WORDS):
            event = np.uint32(np.uint32(WORD_EVENTS) * np.uint32(word) + w)
            code = np.int32(0)
            if event < events:
                code = batch[np.uint32(first + event)]
            seen = np.uint32(cuda.ballot_sync(_FULL, code != 0))
            of_lists = np.uint32(cuda.ballot_sync(_FULL, code < 0))
            if w == np.uint32(word):
                there, lists = seen, of_lists
        return there, lists

    @device_function
    def lane_total(number):
        """The sum of the numbers of all lanes."""
        total = np.int32(number)
        for step in (16, 8, 4, 2, 1):
            total += cuda.shfl_xor_sync(_FULL, total, step)
        return total

    @device_function
    def lane_before(number):
        """The sum of the numbers of all lanes below this one."""
        lane = cuda.laneid
        total = np.int32(number)
        for step in (1, 2, 4, 8, 16):
            other = cuda.shfl_up_sync(_FULL, total, step)
            if lane >= step:
                total += other
        return total - np.int32(number)

    @device_function
    def from_lane(number, lane):
        """What a lane has in place of this number."""
        return cuda.shfl_sync(_FULL, number, lane)

    @device_function
    def wait_for_warp():
        """Let each lane see what the others have written."""
        cuda.syncwarp(_FULL)

    @device_function
    def any_lane(word):
        """Whether some lane has a word that is not 0."""
        return cuda.any_sync(_FULL, word != 0)

    @device_function
    def count_ones(word):
        return np.int32(cuda.popc(word))

    @device_function
    def lowest_one(word):
        """The number of the lowest bit that is set; the word is not 0."""
        return np.uint32(np.uint32(cuda.ffs(word)) - np.uint32(1))
