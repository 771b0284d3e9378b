"""A sweep: every node is visited once, with a bit mask that says of which events it is true.

Pays where events touch many nodes. Not for segments with atoms that are evaluated on demand, nor
for those whose masks would take too much memory.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.segment import read_only
from matchwood.kernels.array_types import Int32Array
from matchwood.kernels.masks import WORDS
from matchwood.language.events import Event
from matchwood.match.batch.batch_codes import BatchCodes
from matchwood.match.batch.batch_strategy import BUFFERED_PAIRS, BatchStrategy, LearntCost, Pairs
from matchwood.match.batch.hit_kernels import clear_bits, set_bits
from matchwood.match.batch.literal_row_kernels import Batch, LiteralIndex, fill_literals
from matchwood.match.batch.program_kernels import RUN_LITERALS, RUN_NODES
from matchwood.match.batch.rank_kernels import rank_events
from matchwood.match.batch.slot_kernels import BLOCK, DENSE, SLOT_ROW, place_events, rows_of_slots
from matchwood.match.batch.sweep_kernels import (
    MOST_OPERANDS,
    PROGRESS_NUMBERS,
    RUN,
    SweepState,
    sweep,
)
from matchwood.match.batch.sweep_program import SweepProgram, program_of
from matchwood.match.event.event_matcher import SegmentMatcher, family_ends

# Bytes of scratch that one sweep may take.
SCRATCH_BUDGET = 256 << 20

# Bytes that vectors are aligned to: those of a cache line.
_LINE = 64


def _aligned(words: int) -> NDArray[np.uint64]:
    """So many words from the start of a cache line on."""
    array = np.empty(words + _LINE // 8, np.uint64)
    skipped = -array.ctypes.data % _LINE // 8
    return array[skipped : skipped + words]


class SweepScratch:
    """What one thread writes while it sweeps."""

    def __init__(self, matcher: SegmentMatcher, program: SweepProgram, codes: int) -> None:
        segment = matcher.segment
        slots = len(segment.slots)
        used = int(program.used[0])
        self._used = used
        self.masks = _aligned(0)
        self.shifts = np.empty(WORDS * (slots + 1), np.uint8)
        self.prefix = np.empty(codes, np.uint64)
        self.words = np.empty(len(program.keys), np.uint64)
        self.temporary = _aligned(WORDS)
        self.true = np.zeros(WORDS * max(1, len(segment.opaque)), np.uint64)
        widest = int((program.runs[:, RUN_LITERALS] + program.runs[:, RUN_NODES]).max(initial=1))
        self.state = SweepState(
            np.zeros(used // 64 + 1, np.uint64),
            np.empty(2 * max(MOST_OPERANDS, widest), np.int32),
            np.empty(2 * (BLOCK + 1), np.int32),
            np.empty(BLOCK, np.uint8),
        )
        self._buffers: list[Int32Array] = []

    def make_room(self, rows: int) -> None:
        """Have masks for so many rows, and all nodes."""
        if len(self.masks) < WORDS * (rows + self._used):
            self.masks = _aligned(WORDS * (rows + self._used))

    def buffers(self) -> list[Int32Array]:
        """Where a sweep writes the events and ordinals that it finds."""
        if not self._buffers:
            self._buffers = [np.empty(BUFFERED_PAIRS, np.int32), np.empty(BUFFERED_PAIRS, np.int32)]
        return self._buffers

    def taken(self, count: int) -> tuple[Int32Array, Int32Array]:
        """What a sweep has written, so that the next one does not overwrite it.

        Copying a little costs less than another buffer, which the system has to find and clear.
        """
        events, ordinals = self._buffers
        if count > BUFFERED_PAIRS // 8:
            self._buffers = []
            return events[:count], ordinals[:count]
        return events[:count].copy(), ordinals[:count].copy()


class SweepStrategy(BatchStrategy):
    """Sweep over all nodes, for up to `EVENTS` events at once."""

    name = "sweep"

    def __init__(self, matcher: SegmentMatcher) -> None:
        self._matcher = matcher
        segment = matcher.segment
        codes = segment.codes.astype(np.int64)
        self._codes_of = read_only(segment.codes)
        row_of_code = np.r_[0, np.cumsum(codes + 1)]
        self._prefix_words = int(row_of_code[-1])
        arrays = (
            matcher.index.atom_row, segment.atoms.low, segment.atoms.high, family_ends(segment),
            row_of_code,
        )  # fmt: skip
        self._tree = LiteralIndex(*(read_only(array) for array in arrays))
        self._lock = threading.Lock()
        self._program: SweepProgram | None = None
        self._free: list[SweepScratch] = []  # append and pop are atomic: threads share it
        self.cost = LearntCost(self.name, 1e-4 + 1.5e-7 * segment.nodes)

    def is_possible(self) -> bool:
        return not self._matcher.segment.lazy and self.scratch_bytes <= SCRATCH_BUDGET

    def expected_seconds(self, events: int) -> float:
        return self.cost.seconds  # however many events there are

    @property
    def scratch_bytes(self) -> int:
        """Bytes that one sweep takes beside its output."""
        segment = self._matcher.segment
        rows = int(segment.tree.used[0]) + len(segment.slots) + len(segment.opaque)
        return 8 * WORDS * rows

    @property
    def program(self) -> SweepProgram:
        """What is swept, made when it is first needed."""
        made = self._program
        if made is None:
            with self._lock:
                made = self._program
                if made is None:
                    made = self._program = program_of(self._matcher.segment)
        return made

    def pairs(
        self,
        codes: BatchCodes,
        keep: NDArray[np.uint8],
        row: Callable[[int], Event],
        low: int,
        high: int,
    ) -> Iterator[Pairs]:
        assert (low, high) == (0, codes.events), "a sweep matches all events of a batch"
        started = time.thread_time()
        program = self.program
        scratch = self._free.pop() if self._free else self._new_scratch(program)
        for hit_events, bounds, atoms in codes.hits:
            set_bits(scratch.true, hit_events, bounds, atoms)
        batch, node_row = self._prepared(codes, program, scratch)
        progress = np.zeros(PROGRESS_NUMBERS, np.int64)
        while progress[RUN] < len(program.runs):
            buffers = scratch.buffers()
            count = sweep(program, batch, scratch.state, node_row, keep, *buffers, progress)
            pairs = scratch.taken(count)
            took = time.thread_time() - started
            yield pairs
            started = time.thread_time() - took
        for hit_events, bounds, atoms in codes.hits:
            clear_bits(scratch.true, hit_events, bounds, atoms)
        self._free.append(scratch)
        self.cost.learn(time.thread_time() - started)

    def _new_scratch(self, program: SweepProgram) -> SweepScratch:
        return SweepScratch(self._matcher, program, self._prefix_words)

    def _prepared(
        self, codes: BatchCodes, program: SweepProgram, scratch: SweepScratch
    ) -> tuple[Batch, int]:
        """The events by slot, the literals computed, and the first row of nodes."""
        row_of_slot = rows_of_slots(codes.slots, codes.codes, len(self._codes_of))
        dense = row_of_slot == DENSE
        scratch.make_room(SLOT_ROW + len(dense) + int(np.diff(program.first_literal)[dense].sum()))
        place_events(
            codes.slots, codes.codes, codes.events, self._codes_of, self._tree.row_of_code,
            row_of_slot, scratch.masks, scratch.shifts, scratch.prefix,
        )  # fmt: skip
        ranked = rank_events(
            codes.slots, codes.codes, codes.list_start, codes.list_codes, self._codes_of,
            self._tree.row_of_code, row_of_slot,
        )  # fmt: skip
        batch = Batch(
            row_of_slot, scratch.masks, scratch.shifts, scratch.prefix, scratch.words, *ranked,
            scratch.true, scratch.temporary,
        )  # fmt: skip
        return batch, fill_literals(program, self._tree, batch)
