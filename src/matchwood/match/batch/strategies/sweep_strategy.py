"""A sweep: every node is visited once, with a bit mask that says of which events it is true.

Pays where events touch many nodes. If the masks of all rules would take too much memory, the rules
are swept in slices, one after the other.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from matchwood.forking import is_left_held, renew_in_children
from matchwood.index.build.segment import read_only
from matchwood.kernels.array_types import Int32Array
from matchwood.kernels.masks import WORDS
from matchwood.match.batch.batch_strategy import BatchStrategy, LearntCost
from matchwood.match.batch.codes.batch_codes import BatchCodes
from matchwood.match.batch.codes.hit_kernels import clear_bits, set_bits
from matchwood.match.batch.pairs import Pairs
from matchwood.match.batch.sweep.lazy_masks import LazyMasks
from matchwood.match.batch.sweep.literal_row_kernels import Batch, LiteralIndex, fill_literals
from matchwood.match.batch.sweep.rank_kernels import rank_events
from matchwood.match.batch.sweep.slot_kernels import DENSE, SLOT_ROW, place_events, rows_of_slots
from matchwood.match.batch.sweep.sweep_kernels import FIRST, NOT_BEGUN, PROGRESS_NUMBERS, RUN, sweep
from matchwood.match.batch.sweep.sweep_program import SweepProgram, sliced
from matchwood.match.batch.sweep.sweep_scratch import SweepScratch
from matchwood.match.batch.sweep.whole_program import WholeProgram
from matchwood.match.event.event_matcher import SegmentMatcher, family_ends

# Bytes of masks that one sweep may take.
SCRATCH_BUDGET = 256 << 20

# Seconds that a lazy atom is expected to take for all events of a sweep, before any is measured.
LAZY_SECONDS = 1e-4

# Slices that rules are swept in, at most. Each halving of a slice computes more nodes twice.
MOST_SLICES = 64

_log = logging.getLogger("matchwood.match")


class SweepStrategy(BatchStrategy):
    """Sweep over all nodes, for up to `EVENTS` events at once."""

    name = "sweep"

    def __init__(self, matcher: SegmentMatcher, program: WholeProgram) -> None:
        segment = self._segment = matcher.segment
        self._whole = program
        self._codes_of = read_only(segment.codes)
        row_of_code = np.r_[0, np.cumsum(segment.codes.astype(np.int64) + 1)]
        self._lazy = LazyMasks(segment)
        arrays = (
            self._lazy.atom_row.reshape(-1), *segment.packed[1:], family_ends(segment), row_of_code,
        )  # fmt: skip
        self._tree = LiteralIndex(*(read_only(array) for array in arrays))
        self._lock = threading.Lock()
        self._programs: tuple[SweepProgram, ...] = ()
        self._is_said = False  # that masks take more than they should
        self._free: list[SweepScratch] = []  # append and pop are atomic: threads share it
        expected = 1e-4 + 6e-8 * segment.nodes + LAZY_SECONDS * len(segment.lazy)
        self.cost = LearntCost(self.name, expected)
        renew_in_children(self)

    def after_fork(self) -> None:
        if is_left_held(self._lock):
            self._lock = threading.Lock()

    def is_possible(self) -> bool:
        return True

    def expected_seconds(self, events: int) -> float:
        return self.cost.seconds  # however many events there are

    @property
    def bytes(self) -> int:
        return sum(program.bytes for program in self._programs)

    def pairs(
        self,
        codes: BatchCodes,
        keep: NDArray[np.uint8],
        low: int,
        high: int,
    ) -> Iterator[Pairs]:
        assert (low, high) == (0, codes.events), "a sweep matches all events of a batch"
        started = time.thread_time()
        row_of_slot = rows_of_slots(codes.slots, codes.codes, len(self._codes_of))
        scratch = self._scratch_for(row_of_slot)
        for hit_events, bounds, atoms in codes.hits:
            set_bits(scratch.true, hit_events, bounds, atoms)
        if codes.lazy is not None:
            self._lazy.write(codes.lazy, scratch.true)
        batch = self._placed(codes, row_of_slot, scratch)
        for program in scratch.programs:
            node_row = fill_literals(program, self._tree, batch)
            progress = np.zeros(PROGRESS_NUMBERS, np.int64)
            progress[FIRST] = NOT_BEGUN
            while progress[RUN] < len(program.runs):
                columns = scratch.buffer.columns()
                count = sweep(program, batch, scratch.state, node_row, keep, *columns, progress)
                del columns  # or else the buffer would never be free
                pairs = scratch.buffer.taken(count)
                took = time.thread_time() - started
                yield pairs
                del pairs
                started = time.thread_time() - took
        for hit_events, bounds, atoms in codes.hits:
            clear_bits(scratch.true, hit_events, bounds, atoms)
        self._free.append(scratch)
        self.cost.learn(time.thread_time() - started)

    def _placed(self, codes: BatchCodes, row_of_slot: Int32Array, scratch: SweepScratch) -> Batch:
        """The events of a batch by slot."""
        place_events(
            codes.slots, codes.codes, codes.events, self._codes_of, self._tree.row_of_code,
            row_of_slot, scratch.masks, scratch.shifts, scratch.prefix,
        )  # fmt: skip
        row, rows, ranks, list_mask = rank_events(
            codes.slots, codes.codes, codes.list_start, codes.list_codes, self._codes_of,
            self._tree.row_of_code, row_of_slot,
        )  # fmt: skip
        return Batch(
            row_of_slot, scratch.masks, scratch.shifts, scratch.prefix, scratch.words, row, rows,
            ranks, list_mask, scratch.true, scratch.temporary,
        )  # fmt: skip

    def _scratch_for(self, row_of_slot: Int32Array) -> SweepScratch:
        """Scratch with room for a batch, and the programs to sweep, in slices that are small enough
        for the budget; which literals are masks depends on the batch."""
        dense = row_of_slot == DENSE
        programs = self._programs or self._sliced_further(())
        while (rows := _rows(programs, dense)) * 8 * WORDS > SCRATCH_BUDGET:
            if len(programs) >= MOST_SLICES:
                self._say_that_masks_are_large(rows * 8 * WORDS)
                break
            programs = self._sliced_further(programs)
        scratch = self._free_scratch(programs)
        if scratch is None:
            slots, words = len(self._codes_of), int(self._tree.row_of_code[-1])
            scratch = SweepScratch(programs, slots, words, self._lazy.count)
        scratch.make_room(rows)
        return scratch

    def _say_that_masks_are_large(self, size: int) -> None:
        if not self._is_said:
            self._is_said = True
            _log.warning(
                "a sweep of %d rules takes %d MiB for masks in %d slices, which is more than the "
                "%d MiB that are meant for it; split the rules between several matchers",
                self._segment.rules, size >> 20, MOST_SLICES, SCRATCH_BUDGET >> 20,
            )  # fmt: skip

    def _free_scratch(self, programs: tuple[SweepProgram, ...]) -> SweepScratch | None:
        """Scratch for these programs that no thread uses; that for coarser slices is dropped."""
        while True:
            try:
                scratch = self._free.pop()
            except IndexError:
                return None
            if scratch.programs is programs:
                return scratch

    def _sliced_further(self, programs: tuple[SweepProgram, ...]) -> tuple[SweepProgram, ...]:
        """Programs of twice as many slices, or the first one; other threads wait for it."""
        with self._lock:
            if self._programs is programs:
                if programs:
                    self._programs = sliced(self._segment, 2 * len(programs))
                else:
                    self._programs = (self._whole.get(),)
            return self._programs


def _rows(programs: tuple[SweepProgram, ...], dense: NDArray[np.bool_]) -> int:
    """The masks that the largest of some programs needs, if literals of some slots are masks."""
    rows = [
        int(program.used[0]) + int(np.diff(program.first_literal)[dense].sum())
        for program in programs
    ]
    return SLOT_ROW + len(dense) + max(rows)
