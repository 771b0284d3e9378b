"""A segment on a card, and the sweep of a batch there: what the host does around the kernels."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from matchwood.kernels.array_types import Int32Array, Int64Array, UInt64Array
from matchwood.kernels.masks import WORDS
from matchwood.match.batch.batch_strategy import Pairs
from matchwood.match.batch.codes.batch_codes import BatchCodes
from matchwood.match.batch.codes.hit_kernels import set_bits
from matchwood.match.batch.gpu.card_best_kernels import (
    BEST_CHUNK,
    count_best,
    place_best,
    write_best,
)
from matchwood.match.batch.gpu.card_buffers import CardArray, PinnedArray, pieces_of
from matchwood.match.batch.gpu.card_layout import (
    BATCH_HEADER,
    CARD_EVENTS,
    CARD_WORDS,
    LISTS_AT,
    LITERAL_WORDS,
    NO_NODE,
    ROW_ALIGNMENT,
    ROW_SIZE,
    TRUE_AT,
    WORD_EVENTS,
)
from matchwood.match.batch.gpu.card_literal_kernels import test_literals
from matchwood.match.batch.gpu.card_program import LevelledProgram
from matchwood.match.batch.gpu.card_sweep_kernels import (
    CHUNK_RULES,
    GROUP_CHUNKS,
    add_counts_of_events,
    add_counts_of_rules,
    compute_nodes,
    count_pairs,
    place_codes,
    place_groups,
    write_pairs,
)
from matchwood.match.batch.gpu.warp_kernels import (
    BLOCK_THREADS,
    FEWEST_BLOCKS,
    IS_SIMULATED,
    LANES,
    MOST_BLOCKS,
)
from matchwood.match.batch.sweep.lazy_masks import LazyMasks

# Room for pairs that a worker has before it knows how many a batch gives.
_FIRST_PAIRS = 1 << 20

# Selections of rules that are kept on the card.
_SELECTIONS = 8


# The ranks from which on more are looked at, if some event has too few matches among these.
_FIRST_RANKS = 1 << 15

# Of each slice: the node of each rank, and the rule of each rank.
Ranks = list[tuple[Any, Any]]


class CardProgramCopy:
    """A program on the card."""

    def __init__(self, program: LevelledProgram) -> None:
        self.program = on_card(program.program)
        self.literals = on_card(program.literals)
        self.keys_at = program.keys_at
        self.literal_count = program.literal_count
        self.node_of_rule = on_card(program.node_of_rule)
        self.level_bounds = program.level_bounds
        self.node_count = program.node_count
        self.groups = max(1, -(-len(program.node_of_rule) // (CHUNK_RULES * GROUP_CHUNKS)))


def on_card(array: NDArray[Any]) -> Any:
    """A copy on the card, of one element at least: there is no array without any."""
    return cuda.to_device(array if array.size else np.zeros(1, array.dtype))


class CardSegment:
    """What the kernels read of a segment, on the card; threads share it."""

    def __init__(
        self,
        index: Int32Array,
        slots: int,
        programs: tuple[LevelledProgram, ...],
        slice_of_rule: Int32Array,
    ) -> None:
        self.slice_of_rule = slice_of_rule  # on the host: the number of the program of each rule
        self.index = on_card(index)
        self.slots = slots
        self.programs = tuple(CardProgramCopy(program) for program in programs)
        self._lock = threading.Lock()
        self._selections: list[tuple[NDArray[np.uint8], tuple[bool, Any]]] = []
        self._node_of_rule = tuple(program.node_of_rule for program in programs)
        self._ranks: list[tuple[object, object, Ranks]] = []

    def selection(self, keep: NDArray[np.uint8]) -> tuple[bool, Any]:
        """Whether only some rules are to be reported, and which, on the card."""
        with self._lock:
            for known, copy in self._selections:
                if known is keep:
                    return copy
            copy = len(keep) > 0, on_card(keep)
            self._selections.append((keep, copy))
            del self._selections[:-_SELECTIONS]
            return copy

    def ranks(self, keep: NDArray[np.uint8], priority: NDArray[np.float64] | None) -> Ranks:
        """For each slice, on the card: the nodes and the numbers of the rules that are wanted, the
        highest priority first."""
        with self._lock:
            for known_keep, known_priority, known in self._ranks:
                if known_keep is keep and known_priority is priority:
                    return known
            found: Ranks = []
            for node_of_rule in self._node_of_rule:
                rules = np.flatnonzero(node_of_rule != NO_NODE)
                if len(keep):
                    rules = rules[keep[rules] != 0]
                if priority is not None:
                    rules = rules[np.argsort(-priority[rules], kind="stable")]
                nodes = node_of_rule[rules] if len(rules) else np.array([NO_NODE], np.int32)
                found.append((on_card(nodes), on_card(rules.astype(np.int32))))
            self._ranks.append((keep, priority, found))
            del self._ranks[:-_SELECTIONS]
            return found


class CardWorker:
    """A stream, and what one batch at a time writes on the card; one thread uses it."""

    def __init__(self, segment: CardSegment) -> None:
        self.segment = segment
        self.stream = cuda.stream()
        self._batch = CardArray(np.int32)
        self._given = PinnedArray(np.int32)
        nodes = max(program.node_count for program in segment.programs)
        literals = max(program.literal_count for program in segment.programs)
        words = CARD_WORDS * max(1, nodes)
        self.masks = cuda.device_array(words + LITERAL_WORDS * literals, np.uint32)
        self.bits_at = words
        self.counts = cuda.device_array(max(1, nodes), np.int32)
        groups = max(program.groups for program in segment.programs)
        self.chunk_pairs = cuda.device_array(GROUP_CHUNKS * groups, np.int32)
        self._group_pairs = cuda.device_array(groups, np.int32)
        self.place_of_group = cuda.device_array(1 + groups, np.int64)
        self._all_pairs = self.place_of_group[:1]
        self.events = CardArray(np.uint16)
        self.rules = CardArray(np.int32)
        self._count = cuda.pinned_array(1, np.int64)
        self._event_totals = cuda.device_array(CARD_EVENTS, np.int64)
        self._best = CardArray(np.int32)
        self._best_counts = CardArray(np.int32)

    def pairs(self, codes: BatchCodes, keep: NDArray[np.uint8], lazy: LazyMasks) -> Iterator[Pairs]:
        """All matches of a batch, in pieces."""
        for count in self._written(codes, keep, lazy, 0):
            yield from pieces_of(self.events.array, self.rules.array, count, self.stream)

    def left_on_card(
        self, codes: BatchCodes, keep: NDArray[np.uint8], lazy: LazyMasks, first_rule: int
    ) -> list[tuple[Any, Any]]:
        """All matches of a batch as arrays on the card; rules are numbered from `first_rule` on."""
        found = []
        for count in self._written(codes, keep, lazy, first_rule):
            if count:
                copies = []
                for array in (self.events.array, self.rules.array):
                    copy = cuda.device_array(count, array.dtype, stream=self.stream)
                    copy.copy_to_device(array[:count], stream=self.stream)
                    copies.append(copy)
                found.append((copies[0], copies[1]))
        self.stream.synchronize()
        return found

    def _written(
        self, codes: BatchCodes, keep: NDArray[np.uint8], lazy: LazyMasks, first_rule: int
    ) -> Iterator[int]:
        """Write the matches of one slice of rules after the other; how many there are."""
        self.events.with_room(_FIRST_PAIRS)
        self.rules.with_room(_FIRST_PAIRS)
        batch = self.place(codes, lazy)
        wanted = self.segment.selection(keep)
        for program in self.segment.programs:
            self.compute(program, batch, codes.events)
            yield self.write(program, wanted, codes.events, first_rule)

    def best(
        self,
        codes: BatchCodes,
        keep: NDArray[np.uint8],
        lazy: LazyMasks,
        priority: NDArray[np.float64] | None,
        limit: int,
    ) -> Iterator[Pairs]:
        """Of each event the `limit` matches of highest priority, or more, slice by slice."""
        batch = self.place(codes, lazy)
        out = self._best.with_room(limit * CARD_EVENTS)
        for program, ranks in zip(
            self.segment.programs, self.segment.ranks(keep, priority), strict=True
        ):
            self.compute(program, batch, codes.events)
            count = np.minimum(self._write_best(ranks, codes.events, limit, out), limit)
            rules = np.empty(limit * CARD_EVENTS, np.int32)
            out[: len(rules)].copy_to_host(rules, stream=self.stream)
            self.stream.synchronize()
            of_events = rules.reshape(CARD_EVENTS, limit)[: codes.events]
            is_there = np.arange(limit) < count[:, np.newaxis]
            yield np.repeat(np.arange(codes.events, dtype=np.uint16), count), of_events[is_there]

    def _write_best(
        self, ranks: tuple[Any, Any], events: int, limit: int, out: Any
    ) -> NDArray[np.int32]:
        """Go through rules by their rank until each event has enough; how many it has found."""
        node_of_rank, rule_of_rank = ranks
        found = np.zeros(CARD_EVENTS, np.int32)
        totals = cuda.to_device(found, stream=self.stream)
        first, size = 0, _FIRST_RANKS
        while first < len(rule_of_rank) and (found[:events] < limit).any():
            end = min(first + size, len(rule_of_rank))
            chunks = -(-(end - first) // BEST_CHUNK)
            chunk_counts = self._best_counts.with_room(CARD_EVENTS * chunks)
            launch = self._launch(CARD_EVENTS * chunks)
            count_best[launch](node_of_rank, first, end, self.masks, self.counts, chunk_counts)
            place_best[self._launch(CARD_EVENTS)](chunks, chunk_counts, totals)
            write_best[launch](
                node_of_rank, rule_of_rank, first, end, self.masks, self.counts, chunk_counts,
                limit, out,
            )  # fmt: skip
            totals.copy_to_host(found, stream=self.stream)
            self.stream.synchronize()
            first, size = end, 8 * size
        return found[:events]

    def add_counts_of_rules(
        self, codes: BatchCodes, keep: NDArray[np.uint8], lazy: LazyMasks, totals: Any
    ) -> None:
        """Add to the total of each rule, on the card, how many events it is true of."""
        batch = self.place(codes, lazy)
        wanted = self.segment.selection(keep)
        for program in self.segment.programs:
            self.compute(program, batch, codes.events)
            add_counts_of_rules[self._launch(len(program.node_of_rule))](
                program.node_of_rule, *wanted, self.counts, totals
            )
        self.stream.synchronize()

    def counts_of_events(
        self, codes: BatchCodes, keep: NDArray[np.uint8], lazy: LazyMasks
    ) -> Int64Array:
        """How many rules are true of each event of a batch."""
        batch = self.place(codes, lazy)
        wanted = self.segment.selection(keep)
        found: Int64Array = np.zeros(CARD_EVENTS, np.int64)
        self._event_totals.copy_to_device(found, stream=self.stream)
        for program in self.segment.programs:
            self.compute(program, batch, codes.events)
            add_counts_of_events[self._launch(LANES * len(program.node_of_rule))](
                program.node_of_rule, *wanted, _words(codes.events), self.masks, self.counts,
                self._event_totals,
            )  # fmt: skip
        self._event_totals.copy_to_host(found, stream=self.stream)
        self.stream.synchronize()
        return found[: codes.events]

    def place(self, codes: BatchCodes, lazy: LazyMasks) -> Any:
        """The events of a batch on the card; nothing else may be under way on the stream."""
        return self.place_given(self.given(codes, lazy), codes)

    def given(self, codes: BatchCodes, lazy: LazyMasks) -> tuple[NDArray[Any], int, int]:
        """What is copied to the card: in pinned memory, with the places of codes and of rows."""
        parts, given_at, rows_at = _batch_parts(
            codes, self.segment.slots, _opaque_masks(codes, lazy)
        )
        return self._given.joined(parts), given_at, rows_at

    def place_given(self, given: tuple[NDArray[Any], int, int], codes: BatchCodes) -> Any:
        """Copy what is given to the card, and write the rows of the batch there."""
        array, given_at, rows_at = given
        rows = len(codes.slots)
        batch = self._batch.with_room(rows_at + ROW_SIZE * (rows + 1))
        batch[: len(array)].copy_to_device(array, stream=self.stream)
        launch = self._launch(LANES * (rows + 1))
        place_codes[launch](batch, given_at, rows_at, rows, codes.events)
        return batch

    def compute(self, program: CardProgramCopy, batch: Any, events: int) -> None:
        """Compute the masks of all nodes."""
        self.test(program, batch)
        self.compute_levels(program, batch, events)

    def test(self, program: CardProgramCopy, batch: Any) -> None:
        """Test the literals of slots that few events have."""
        test_literals[self._launch(program.literal_count)](
            program.literals, program.keys_at, self.segment.index, batch, self.masks,
            self.bits_at,
        )  # fmt: skip

    def compute_levels(self, program: CardProgramCopy, batch: Any, events: int) -> None:
        """Compute the masks of all nodes, level by level, once literals are tested."""
        for first, end in zip(program.level_bounds, program.level_bounds[1:], strict=False):
            if end > first:
                compute_nodes[self._launch(LANES * (end - first))](
                    program.program, program.literals, program.keys_at, self.segment.index, batch,
                    events, _words(events), first, end, self.masks, self.bits_at, self.counts,
                )  # fmt: skip

    def write(
        self, program: CardProgramCopy, wanted: tuple[bool, Any], events: int, first_rule: int = 0
    ) -> int:
        """Write the pairs of all rules to the card, in the order of rules; how many there are."""
        count_pairs[self._launch(LANES * program.groups)](
            program.node_of_rule, *wanted, self.counts, program.groups, self.chunk_pairs,
            self._group_pairs,
        )  # fmt: skip
        place_groups[self._launch(LANES)](self._group_pairs, program.groups, self.place_of_group)
        while True:
            write_pairs[self._launch(LANES * GROUP_CHUNKS * program.groups)](
                program.node_of_rule, *wanted, _words(events), self.masks, self.counts,
                self.chunk_pairs, self.place_of_group, first_rule, self.events.array,
                self.rules.array,
            )  # fmt: skip
            self._all_pairs.copy_to_host(self._count, stream=self.stream)
            self.stream.synchronize()
            count = int(self._count[0])
            if count <= len(self.events.array):
                return count
            room = count + count // 8  # later batches are of like size
            self.events.with_room(room)
            self.rules.with_room(room)

    def _launch(self, threads: int) -> tuple[int, int, Any]:
        blocks = min(MOST_BLOCKS, max(FEWEST_BLOCKS, -(-threads // BLOCK_THREADS)))
        return blocks, BLOCK_THREADS, self.stream


def _batch_parts(
    codes: BatchCodes, slots: int, true: UInt64Array
) -> tuple[list[NDArray[Any]], int, int]:
    """What a batch has on the card, one after the other; where its codes and its rows begin."""
    lists_at = BATCH_HEADER + slots + 1
    list_codes_at = lists_at + len(codes.list_start)
    true_at = list_codes_at + len(codes.list_codes)
    masks = true.view(np.int32)
    given_at = true_at + len(masks)
    rows_at = -(-(given_at + codes.codes.size) // ROW_ALIGNMENT) * ROW_ALIGNMENT
    row_of_slot = np.full(slots + 1, rows_at, np.int32)
    row_of_slot[codes.slots] = rows_at + ROW_SIZE * np.arange(1, len(codes.slots) + 1)
    header = np.empty(BATCH_HEADER, np.int32)
    header[LISTS_AT], header[TRUE_AT] = lists_at, true_at
    lists = list_codes_at + codes.list_start
    parts = [header, row_of_slot, lists, codes.list_codes, masks, codes.codes.reshape(-1)]
    return parts, given_at, rows_at


def _words(events: int) -> int:
    """Words of a mask that lanes go through: on a card all, so that each lane has one."""
    return -(-events // WORD_EVENTS) if IS_SIMULATED else CARD_WORDS


def _opaque_masks(codes: BatchCodes, lazy: LazyMasks) -> UInt64Array:
    """Where opaque atoms are true, which the host decides."""
    masks = np.zeros(WORDS * lazy.count, np.uint64)
    for events, bounds, atoms in codes.hits:
        set_bits(masks, events, bounds, atoms)
    if codes.lazy is not None:
        lazy.write(codes.lazy, masks)
    return masks
