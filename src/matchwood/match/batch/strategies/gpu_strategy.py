"""A sweep on a GPU, of the same program as on the processor.

If the card fails, the processor goes on where it stopped, and a warning says so once.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from matchwood.forking import is_left_held, renew_in_children
from matchwood.index.file.array_file import checksum
from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.match.batch.batch_strategy import BatchStrategy, LearntCost
from matchwood.match.batch.codes.batch_codes import BatchCodes
from matchwood.match.batch.gpu.card import (
    CardError,
    CardMemoryError,
    CardWarning,
    error_of_card,
)
from matchwood.match.batch.gpu.card_access import OwnCard, card_of_process
from matchwood.match.batch.gpu.card_batches import GivenBatch, given_batch
from matchwood.match.batch.gpu.card_client import SharedCard
from matchwood.match.batch.gpu.card_code_tables import SegmentTables, segment_tables
from matchwood.match.batch.gpu.card_layout import MOST_NODES
from matchwood.match.batch.gpu.card_program import (
    LevelledProgram,
    SegmentArrays,
    card_index,
    levelled,
)
from matchwood.match.batch.match_runs import MatchRuns
from matchwood.match.batch.pairs import Pairs
from matchwood.match.batch.sweep.lazy_masks import LazyMasks
from matchwood.match.batch.sweep.sweep_program import SweepProgram, program_of, slices_of
from matchwood.match.batch.sweep.whole_program import WholeProgram
from matchwood.match.event.event_matcher import SegmentMatcher, family_ends

if TYPE_CHECKING:
    from matchwood.match.batch.gpu.card_client import SharedSegmentOfClient, SharedWorker
    from matchwood.match.batch.gpu.card_sweep import CardSegment, CardWorker

    SegmentOnCard = CardSegment | SharedSegmentOfClient
    Worker = CardWorker | SharedWorker

# The share of the card's free memory that the masks of one batch may take.
MEMORY_SHARE = 0.4

# Columns of numbers and times from which on a card encodes those of a batch. With 1,000 of them it
# saves the processor a third of its time, about 3 ns per value; with 6, beside 15 other columns,
# what it takes to launch it is more than it saves, and this number is an estimate in between. What
# distinct values stand for is looked up in about the time that it takes to hand them on, so that
# these do not count. `lab.bench.gpu` measures `match_batches` both ways.
FEWEST_SEARCHED = 128

# Slices that rules are swept in, at most.
MOST_SLICES = 64

# Bytes of the mask and the count of one node, and of what is known of one literal.
_NODE_BYTES = 132
_LITERAL_BYTES = 8


_Answer = TypeVar("_Answer")

# Problems that this process has warned of.
_said: set[str] = set()


class GpuStrategy(BatchStrategy):
    """Sweep over all nodes on a card, for up to `EVENTS` events at once."""

    name = "gpu"

    def __init__(self, matcher: SegmentMatcher, program: WholeProgram) -> None:
        self._segment = matcher.segment
        self._whole = program
        self._coders = matcher.coders
        self.lazy = LazyMasks(self._segment)
        self._lock = threading.Lock()
        self._on_card: SegmentOnCard | None = None
        self._free: list[Worker] = []  # append and pop are atomic: threads share it
        self._card: OwnCard | SharedCard | None = None
        self.encodes: bool | None = None  # whether the card encodes columns; None: where it pays
        self.slices = 0
        self._fewest_slices = 1  # more, once the memory of the card ran out
        self.cost = LearntCost(self.name, 2e-3)
        renew_in_children(self)

    def after_fork(self) -> None:
        if is_left_held(self._lock):
            self._lock = threading.Lock()
        if isinstance(self._card, SharedCard):  # whose memory nobody may touch from another process
            self._free, self._on_card = [], None

    @property
    def card(self) -> OwnCard | SharedCard:
        """The card that is used: always the same one."""
        if self._card is None:
            self._card = card_of_process()
        return self._card

    def is_possible(self) -> bool:
        return self.card.problem is None

    def expected_seconds(self, events: int) -> float:
        return self.cost.seconds

    def pairs(
        self, codes: BatchCodes, keep: NDArray[np.uint8], low: int, high: int
    ) -> Iterator[Pairs]:
        """All matches of a batch, in pieces; a CardError if the card fails."""
        assert (low, high) == (0, codes.events), "a sweep matches all events of a batch"
        # Waiting for a card takes processor time; waiting for another process does not.
        clock = time.perf_counter if isinstance(self.card, SharedCard) else time.thread_time
        started = clock()
        given, slice_of_rule = 0, None
        try:
            with self.guarded() as worker:
                slice_of_rule = worker.segment.slice_of_rule
                for pairs in worker.pairs(self.given(codes), keep):
                    took = clock() - started
                    given += len(pairs[0])
                    yield pairs
                    del pairs
                    started = clock() - took
        except CardError as error:
            error.given, error.slice_of_rule = given, slice_of_rule
            raise
        self.cost.learn(clock() - started)

    def zero_totals(self, rules: int) -> Any:
        """A total for each rule, on the card."""
        with self.guarded():
            return self.card.zero_totals(rules)

    def add_counts_of_rules(self, codes: BatchCodes, keep: NDArray[np.uint8], totals: Any) -> None:
        """Add to the total of each rule how many events of a batch it is true of.

        After a CardError nobody knows which totals have been added to.
        """
        with self.guarded() as worker:
            worker.add_counts_of_rules(self.given(codes), keep, totals)

    def counts_of_events(self, codes: BatchCodes, keep: NDArray[np.uint8]) -> Int64Array:
        """How many rules are true of each event of a batch; a CardError if the card fails."""
        return self._sliced_until_it_fits(
            lambda worker: worker.counts_of_events(self.given(codes), keep)
        )

    def best(
        self,
        codes: BatchCodes,
        keep: NDArray[np.uint8],
        priority: NDArray[np.float64] | None,
        limit: int,
    ) -> list[Pairs]:
        """Of each event the `limit` matches of highest priority, or some more."""
        return self._sliced_until_it_fits(
            lambda worker: list(worker.best(self.given(codes), keep, priority, limit))
        )

    def runs(self, codes: BatchCodes, keep: NDArray[np.uint8]) -> list[MatchRuns]:
        """All matches of a batch as runs, slice by slice of the rules."""
        return self._sliced_until_it_fits(lambda worker: list(worker.runs(self.given(codes), keep)))

    def left_on_card(
        self, codes: BatchCodes, keep: NDArray[np.uint8], first_rule: int
    ) -> list[tuple[Any, Any]]:
        """All matches of a batch, as arrays on the card of events and of rules."""
        return self._sliced_until_it_fits(
            lambda worker: worker.left_on_card(self.given(codes), keep, first_rule)
        )

    def given(self, codes: BatchCodes) -> GivenBatch:
        """What a card is given of a batch: codes, or columns that it encodes by itself."""
        encodes = isinstance(self.card, OwnCard) and self._encodes(codes)
        return given_batch(codes, len(self._segment.slots), self.lazy, with_columns=encodes)

    def _encodes(self, codes: BatchCodes) -> bool:
        if self.encodes is not None:
            return self.encodes
        return codes.columns is not None and codes.columns.searched >= FEWEST_SEARCHED

    def _sliced_until_it_fits(self, ask: Callable[[Worker], _Answer]) -> _Answer:
        """What a worker answers, in as many slices as the memory of the card needs."""
        while True:
            try:
                with self.guarded() as worker:
                    return ask(worker)
            except CardMemoryError:
                if not self.slice_more():
                    raise

    def slice_more(self) -> bool:
        """Sweep rules in twice as many slices from now on; False if there are too many already."""
        with self._lock:
            if self.slices >= MOST_SLICES:
                return False
            self._fewest_slices = 2 * max(1, self.slices)
            return True

    @property
    def description(self) -> str:
        """The card, and how it sweeps the rules: what summaries say."""
        name = self.card.name
        return name if self.slices <= 1 else f"{name}, in {self.slices} slices"

    @contextmanager
    def guarded(self) -> Iterator[Worker]:
        """A worker for one batch; whatever goes wrong with it is a CardError."""
        try:
            segment = self.on_card()
            worker = self._worker_of(segment)
            yield worker
        except Exception as error:  # whatever a driver says: the processor can still answer
            self._free.clear()
            self._on_card = None
            raise error_of_card(error) from error
        if segment is self._on_card:  # else another thread has sliced the rules anew
            self._free.append(worker)

    def say_why_not(self) -> None:
        """Warn, once per process, that there is no GPU to use, and why."""
        problem = self.card.problem
        if problem is not None and problem not in _said:
            _said.add(problem)
            warnings.warn(f"{problem}; the processor matches instead", CardWarning, stacklevel=2)

    def _worker_of(self, segment: SegmentOnCard) -> Worker:
        while True:
            try:
                worker = self._free.pop()
            except IndexError:
                return segment.worker()
            if worker.segment is segment:
                return worker

    def on_card(self) -> SegmentOnCard:
        """The segment on the card; the first thread copies it, others wait."""
        with self._lock:
            if self._on_card is None:
                self.slices = self._fewest_slices
                segment = self._on_card = self.card.segment(self._key, self.arrays, self.tables)
                self.slices = segment.slices
            return self._on_card

    def _key(self) -> str:
        """What tells the arrays of this segment on a card from those of others."""
        segment = self._segment
        arrays = (*segment.tree, *segment.packed, self.lazy.atom_row, family_ends(segment))
        sums = [(array.shape, checksum(array.reshape(-1).view(np.uint8))) for array in arrays]
        key = (sums, segment.rules, len(segment.slots), self.lazy.count, self._fewest_slices)
        return repr(key)

    def tables(self) -> SegmentTables:
        """What turns numbers and times into codes."""
        return segment_tables(self._coders, len(self._segment.slots))

    def arrays(self, free: int) -> SegmentArrays:
        """What a card with so many free bytes has of the segment."""
        with ThreadPoolExecutor(1) as beside:
            index = beside.submit(self._index)
            programs = self._programs(free)
        slice_of_rule = np.zeros(self._segment.rules, np.int32)
        for number, program in enumerate(programs):
            slice_of_rule[program.node_of_rule >= 0] = number
        return SegmentArrays(index.result(), len(self._segment.slots), slice_of_rule, programs)

    def _programs(self, free: int) -> tuple[LevelledProgram, ...]:
        """Programs in so many slices that the masks of each fit."""
        slices = self._fewest_slices
        swept = self._swept(slices)
        while True:
            programs = tuple(levelled(program, self._segment.rules) for program in swept)
            nodes = max(program.node_count for program in programs)
            literals = max(program.literal_count for program in programs)
            needed = _NODE_BYTES * nodes + _LITERAL_BYTES * literals
            fits = needed <= MEMORY_SHARE * free and nodes <= MOST_NODES
            if fits or slices >= MOST_SLICES:
                return programs
            slices *= 2
            swept = self._swept(slices)

    def _index(self) -> Int32Array:
        packed = self._segment.packed._replace(rows=self.lazy.atom_row)
        slots = len(self._segment.slots)
        return card_index(packed, family_ends(self._segment), slots)

    def _swept(self, slices: int) -> tuple[SweepProgram, ...]:
        """The program of each slice."""
        if slices == 1:
            return (self._whole.get(),)
        return tuple(
            program_of(self._segment, chosen) for chosen in slices_of(self._segment, slices)
        )


def missing_pairs(error: CardError, pairs: Sequence[Pairs]) -> Pairs:
    """Of all matches of a batch, those behind as many as a card has given before it failed."""
    assert error.slice_of_rule is not None, "a card that gave something has slices"
    events = np.concatenate([np.empty(0, np.int32), *(numbers for numbers, _ in pairs)])
    rules = np.concatenate([np.empty(0, np.int32), *(ordinals for _, ordinals in pairs)])
    order = np.lexsort((events, rules, error.slice_of_rule[rules]))[error.given :]
    return events[order], rules[order]


def processor_instead(error: CardError) -> None:
    """Use the processor from now on, and say so once."""
    card_of_process().give_up(str(error))
    if str(error) not in _said:
        _said.add(str(error))
        warnings.warn(f"{error}; the processor matches instead", CardWarning, stacklevel=2)
