"""A sweep: every node is visited once, with a bit mask that says of which events it is true.

Pays where events touch many nodes. Not for segments whose masks would take too much memory.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.segment import read_only
from matchwood.kernels.array_types import Int32Array
from matchwood.kernels.masks import EVENTS, WORDS
from matchwood.kernels.records import LITERAL
from matchwood.match.batch.batch_codes import BatchCodes
from matchwood.match.batch.batch_strategy import BUFFERED_PAIRS, BatchStrategy, LearntCost, Pairs
from matchwood.match.batch.hit_kernels import clear_bits, set_bits
from matchwood.match.batch.lazy_masks import LazyMasks
from matchwood.match.batch.rank_kernels import list_events, rank_events
from matchwood.match.batch.sweep_kernels import (
    ALL_WRITTEN,
    NODE,
    PROGRESS_NUMBERS,
    Batch,
    SweepIndex,
    literal_masks,
    sweep,
)
from matchwood.match.event.event_matcher import SegmentMatcher, family_ends

# Bytes of scratch that one sweep may take.
SCRATCH_BUDGET = 256 << 20

# Seconds that a lazy atom is expected to take for all events of a sweep, before any is measured.
LAZY_SECONDS = 1e-4


class SweepScratch:
    """What one thread writes while it sweeps."""

    def __init__(self, matcher: SegmentMatcher, used: int, opaque: int) -> None:
        segment = matcher.segment
        self.masks = np.empty(WORDS * (used + 1), np.uint64)
        self.nonzero = np.zeros(used // 64 + 1, np.uint64)
        rows = len(segment.tree.row_literal)
        self.literals = np.empty(WORDS * max(1, rows), np.uint64)
        self.literal_at = np.empty(max(1, rows), np.int32)
        self.positions = np.empty(max(1, rows), np.uint64)
        self.few = np.empty(EVENTS, np.uint16)
        self.temporary = np.empty(2 * WORDS, np.uint64)
        self.true = np.zeros(WORDS * max(1, opaque), np.uint64)
        self._buffers: list[Int32Array] = []

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
        tree = segment.tree
        self._lazy = LazyMasks(segment)
        # Masks are computed in the order of atoms, so that what they are made of is streamed.
        row_literal = self._lazy.literals(tree.row_literal)
        literal_group = tree.literal_group.copy()
        literal_group[:, LITERAL] = self._lazy.literals(literal_group[:, LITERAL])
        order = np.argsort(row_literal).astype(np.int32)
        arrays = (
            tree.records, row_literal[order], order, tree.group_of, tree.group_start,
            literal_group, tree.always, self._lazy.atom_row, segment.atoms.low,
            segment.atoms.high,
            family_ends(segment) if segment.slots else np.zeros(4, np.int32),
            np.array([segment.first], np.int64),
        )  # fmt: skip
        self.tree = SweepIndex(*(read_only(array) for array in arrays))
        codes = segment.codes if len(segment.codes) else np.full(1, 2, np.int32)
        self.codes_of = read_only(codes)
        self.row_of_code = read_only(np.r_[0, np.cumsum(codes.astype(np.int64) + 1)])
        self.used = int(tree.used[0])
        self._free: list[SweepScratch] = []  # append and pop are atomic: threads share it
        expected = 1e-4 + 1.5e-7 * segment.nodes + LAZY_SECONDS * len(segment.lazy)
        self.cost = LearntCost(self.name, expected)

    def is_possible(self) -> bool:
        return self.scratch_bytes <= SCRATCH_BUDGET

    def expected_seconds(self, events: int) -> float:
        return self.cost.seconds  # however many events there are

    @property
    def scratch_bytes(self) -> int:
        """Bytes that one sweep takes beside its output."""
        segment = self._matcher.segment
        rows = self.used + len(segment.tree.row_literal) + self._lazy.count
        return 8 * WORDS * rows

    def _new_scratch(self) -> SweepScratch:
        return SweepScratch(self._matcher, self.used, self._lazy.count)

    def pairs(
        self,
        codes: BatchCodes,
        keep: NDArray[np.uint8],
        low: int,
        high: int,
    ) -> Iterator[Pairs]:
        assert (low, high) == (0, codes.events), "a sweep matches all events of a batch"
        started = time.thread_time()
        scratch = self._free.pop() if self._free else self._new_scratch()
        for hit_events, bounds, atoms in codes.hits:
            set_bits(scratch.true, hit_events, bounds, atoms)
        if codes.lazy is not None:
            self._lazy.write(codes.lazy, scratch.true)
        row_of, rows, ranks, list_mask = rank_events(
            codes.slots, codes.codes, codes.list_start, codes.list_codes, self.codes_of,
            self.row_of_code, codes.events,
        )  # fmt: skip
        row_of_slot, sparse, present, order, below = list_events(
            codes.slots, codes.codes, list_mask, self.codes_of, self.row_of_code, codes.events
        )
        lists = np.array([(list_mask >= 0).any()], np.uint8)
        batch = Batch(
            row_of, self.row_of_code, rows, ranks, list_mask, scratch.literals, scratch.literal_at,
            scratch.true, lists, codes.codes, row_of_slot, sparse, present, order, below,
            scratch.positions, scratch.few, scratch.temporary,
        )  # fmt: skip
        literal_masks(self.tree, batch)
        progress = np.zeros(PROGRESS_NUMBERS, np.int64)
        while progress[NODE] != ALL_WRITTEN:
            buffers = scratch.buffers()
            count = sweep(
                self.tree, batch, keep, scratch.masks, scratch.nonzero, *buffers, progress
            )
            pairs = scratch.taken(count)
            took = time.thread_time() - started
            yield pairs
            started = time.thread_time() - took
        for hit_events, bounds, atoms in codes.hits:
            clear_bits(scratch.true, hit_events, bounds, atoms)
        self._free.append(scratch)
        self.cost.learn(time.thread_time() - started)
