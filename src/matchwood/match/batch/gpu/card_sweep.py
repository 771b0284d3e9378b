"""A segment on a card, and the sweep of a batch there: what the host does around the kernels."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from matchwood.kernels.array_types import Int64Array
from matchwood.match.batch.gpu.card_batches import GivenBatch
from matchwood.match.batch.gpu.card_best_kernels import (
    BEST_CHUNK,
    count_best,
    place_best,
    write_best,
)
from matchwood.match.batch.gpu.card_buffers import CardArray, PinnedArray, pieces_of
from matchwood.match.batch.gpu.card_code_tables import SegmentTables
from matchwood.match.batch.gpu.card_coding import CardCoding, CodeTablesCopy
from matchwood.match.batch.gpu.card_copies import CardProgramCopy, launch, on_card
from matchwood.match.batch.gpu.card_layout import (
    CARD_EVENTS,
    CARD_WORDS,
    LITERAL_WORDS,
    NO_NODE,
    ROW_SIZE,
    WORD_EVENTS,
)
from matchwood.match.batch.gpu.card_literal_kernels import test_literals
from matchwood.match.batch.gpu.card_program import SegmentArrays
from matchwood.match.batch.gpu.card_runs import CardRuns
from matchwood.match.batch.gpu.card_sweep_kernels import (
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
    IS_SIMULATED,
    LANES,
)
from matchwood.match.batch.match_runs import MatchRuns
from matchwood.match.batch.pairs import Pairs

# Room for pairs that a worker has before it knows how many a batch gives.
_FIRST_PAIRS = 1 << 20

# Selections of rules that are kept on the card.
_SELECTIONS = 8


# The ranks from which on more are looked at, if some event has too few matches among these.
_FIRST_RANKS = 1 << 15

# Of each slice: the node of each rank, and the rule of each rank.
Ranks = list[tuple[Any, Any]]


class CardSegment:
    """What the kernels read of a segment, on the card; threads share it."""

    def __init__(
        self, arrays: SegmentArrays, tables: Callable[[], SegmentTables] | None = None
    ) -> None:
        self._tables = tables
        self._code_tables: CodeTablesCopy | None = None
        self.slice_of_rule = arrays.slice_of_rule
        self.index = on_card(arrays.atoms)
        self.slices = len(arrays.programs)
        self.programs = tuple(CardProgramCopy(program) for program in arrays.programs)
        self._lock = threading.Lock()
        self._selections: list[tuple[NDArray[np.uint8], tuple[bool, Any]]] = []
        self._node_of_rule = tuple(program.node_of_rule for program in arrays.programs)
        self._ranks: list[tuple[object, object, Ranks]] = []

    def code_tables(self) -> CodeTablesCopy:
        """What turns numbers and times into codes; copied when first needed."""
        with self._lock:
            if self._code_tables is None:
                assert self._tables is not None, "columns are only given with their tables"
                self._code_tables = CodeTablesCopy(self._tables())
            return self._code_tables

    def worker(self) -> CardWorker:
        """What matches one batch at a time."""
        return CardWorker(self)

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
        self._runs: CardRuns | None = None
        self._coding = CardCoding(self.stream)

    def pairs(self, given: GivenBatch, keep: NDArray[np.uint8]) -> Iterator[Pairs]:
        """All matches of a batch, in pieces."""
        for count in self._written(given, keep, 0):
            yield from pieces_of(self.events.array, self.rules.array, count, self.stream)

    def left_on_card(
        self, given: GivenBatch, keep: NDArray[np.uint8], first_rule: int
    ) -> list[tuple[Any, Any]]:
        """All matches of a batch as arrays on the card; rules are numbered from `first_rule` on."""
        found = []
        for count in self._written(given, keep, first_rule):
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
        self, given: GivenBatch, keep: NDArray[np.uint8], first_rule: int
    ) -> Iterator[int]:
        """Write the matches of one slice of rules after the other; how many there are."""
        self.events.with_room(_FIRST_PAIRS)
        self.rules.with_room(_FIRST_PAIRS)
        batch = self.place(given)
        wanted = self.segment.selection(keep)
        for program in self.segment.programs:
            self.compute(program, batch, given.events)
            yield self.write(program, wanted, given.events, first_rule)

    def best(
        self,
        given: GivenBatch,
        keep: NDArray[np.uint8],
        priority: NDArray[np.float64] | None,
        limit: int,
    ) -> Iterator[Pairs]:
        """Of each event the `limit` matches of highest priority, or more, slice by slice."""
        batch = self.place(given)
        out = self._best.with_room(limit * CARD_EVENTS)
        for program, ranks in zip(
            self.segment.programs, self.segment.ranks(keep, priority), strict=True
        ):
            self.compute(program, batch, given.events)
            count = np.minimum(self._write_best(ranks, given.events, limit, out), limit)
            rules = np.empty(limit * CARD_EVENTS, np.int32)
            out[: len(rules)].copy_to_host(rules, stream=self.stream)
            self.stream.synchronize()
            of_events = rules.reshape(CARD_EVENTS, limit)[: given.events]
            is_there = np.arange(limit) < count[:, np.newaxis]
            yield np.repeat(np.arange(given.events, dtype=np.uint16), count), of_events[is_there]

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

    def runs(self, given: GivenBatch, keep: NDArray[np.uint8]) -> Iterator[MatchRuns]:
        """All matches of a batch as runs, one slice of rules after the other."""
        batch = self.place(given)
        wanted = self.segment.selection(keep)
        if self._runs is None:
            programs = self.segment.programs
            rules = max(len(program.node_of_rule) for program in programs)
            groups = max(program.groups for program in programs)
            self._runs = CardRuns(rules, groups, self.stream)
        for program in self.segment.programs:
            self.compute(program, batch, given.events)
            words = _words(given.events)
            yield self._runs.found(program, wanted, words, self.masks, self.counts)

    def add_counts_of_rules(self, given: GivenBatch, keep: NDArray[np.uint8], totals: Any) -> None:
        """Add to the total of each rule, on the card, how many events it is true of."""
        batch = self.place(given)
        wanted = self.segment.selection(keep)
        for program in self.segment.programs:
            self.compute(program, batch, given.events)
            add_counts_of_rules[self._launch(len(program.node_of_rule))](
                program.node_of_rule, *wanted, self.counts, totals
            )
        self.stream.synchronize()

    def counts_of_events(self, given: GivenBatch, keep: NDArray[np.uint8]) -> Int64Array:
        """How many rules are true of each event of a batch."""
        batch = self.place(given)
        wanted = self.segment.selection(keep)
        found: Int64Array = np.zeros(CARD_EVENTS, np.int64)
        self._event_totals.copy_to_device(found, stream=self.stream)
        for program in self.segment.programs:
            self.compute(program, batch, given.events)
            add_counts_of_events[self._launch(LANES * len(program.node_of_rule))](
                program.node_of_rule, *wanted, _words(given.events), self.masks, self.counts,
                self._event_totals,
            )  # fmt: skip
        self._event_totals.copy_to_host(found, stream=self.stream)
        self.stream.synchronize()
        return found[: given.events]

    def place(self, given: GivenBatch) -> Any:
        """The events of a batch on the card; nothing else may be under way on the stream."""
        return self.place_gathered(self.gathered(given), given)

    def gathered(self, given: GivenBatch) -> NDArray[Any]:
        """What is copied to the card, in pinned memory."""
        return self._given.joined(given.parts)

    def place_gathered(self, gathered: NDArray[Any], given: GivenBatch) -> Any:
        """Copy what is gathered to the card, and write the rows of the batch there."""
        batch = self.copied(gathered, given)
        self.place_rows(batch, given)
        return batch

    def copied(self, gathered: NDArray[Any], given: GivenBatch) -> Any:
        """A batch on the card, with what is gathered."""
        batch = self._batch.with_room(given.rows_at + ROW_SIZE * (given.rows + 1))
        batch[: len(gathered)].copy_to_device(gathered, stream=self.stream)
        return batch

    def place_rows(self, batch: Any, given: GivenBatch) -> None:
        """Write the rows of a batch that was copied to the card."""
        if given.columns is not None:
            self._coding.write(batch, given.columns, given.events, self.segment.code_tables())
        place_codes[self._launch(LANES * (given.rows + 1))](
            batch, given.given_at, given.rows_at, given.rows, given.events
        )

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
        return launch(threads, self.stream)


def _words(events: int) -> int:
    """Words of a mask that lanes go through: on a card all, so that each lane has one."""
    return -(-events // WORD_EVENTS) if IS_SIMULATED else CARD_WORDS
