"""One event against one segment."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.index.atoms import VALUE_TEST
from matchwood.index.segment import Segment, read_only
from matchwood.language.bindings import Truth
from matchwood.language.evaluation import Hierarchies, Operator, evaluate
from matchwood.language.events import Event
from matchwood.language.tree import Node
from matchwood.match.cells import FEWEST, NO_CELLS, Taken, candidates, taken_into_cells
from matchwood.match.encode import coders, encode
from matchwood.match.entry import LAYOUTS, SMALL, Groups, Rules, match_large, match_small
from matchwood.match.kernels import expand, match_one
from matchwood.match.literals import (
    EPOCHS,
    FALSE_SEEN,
    REQUESTED,
    TRUE_SEEN,
    UNDEFINED_SEEN,
    Index,
    Scratch,
)
from matchwood.match.patterns import PatternIndex
from matchwood.match.walk import WORD, Walk, walk_one
from matchwood.match.ways import Way, Ways
from matchwood.views import View

Ints = NDArray[np.int32]
_NONE: Ints = np.empty(0, np.int32)
_NO_LISTS: Ints = np.zeros(1, np.int32)
ALL: NDArray[np.uint8] = np.empty(0, np.uint8)  # keep every rule
_LISTS = 4096  # lists of strings whose hits are remembered
_STATE = {True: TRUE_SEEN, False: FALSE_SEEN, None: UNDEFINED_SEEN}


class _Working:
    """The scratch of one thread, and the epoch of its last event."""

    def __init__(self, segment: Segment, index: Index, queue: int) -> None:
        nodes, groups = segment.nodes, len(segment.tree.group_start) - 1
        depth = len(segment.tree.levels) + 2
        waking = 2 * nodes if segment.lazy else nodes  # a record that waits may be woken as well
        self.scratch = Scratch(
            np.zeros(max(1, len(segment.slots)), np.int32),
            np.zeros(nodes, np.uint8),
            np.zeros(groups + 1, np.uint8),
            np.zeros(len(segment.opaque), np.uint8),
            np.empty(waking + queue, np.int32),
            np.empty(3 * depth, np.int64),
            np.empty(groups + 1, np.int32),
            np.empty(waking + 1, np.int32),
            np.zeros(5, np.int64),
        )
        self.rules = np.empty(segment.rules, np.int32)
        self._groups = Groups(segment.tree.group_start, segment.tree.always)
        written = Rules(self.rules, np.empty(0, np.int32))
        self.view = View(LAYOUTS, index, self._groups, NO_CELLS, self.scratch, written)
        self.epoch = 0
        self.truth = np.empty(0, np.uint8)  # of each used node, where all are walked over
        self.taken: Taken | None = None
        self.cells_view = self.view

    def view_of(self, taken: Taken | None) -> View:
        """What kernels see if they go by cells, or by push lists alone."""
        if taken is None:
            return self.view
        if self.taken is not taken:
            self.taken = taken
            written = Rules(self.rules, np.empty(taken.cells.room, np.int32))
            self.cells_view = View(
                LAYOUTS, taken.index, self._groups, taken.cells, self.scratch, written
            )
        return self.cells_view

    def next_epoch(self) -> int:
        self.epoch += 1
        if self.epoch > EPOCHS:
            self.epoch = 1
            for states in (self.scratch.state, self.scratch.seen, self.scratch.opaque):
                states.fill(0)
        return self.epoch


def queue_size(segment: Segment) -> int:
    """What an event can put into the queue beside nodes: literals, and `or`s that lists name."""
    tree = segment.tree
    lists = np.concatenate([tree.literal_push, tree.push_at]).astype(np.int64)
    literals = int((tree.literal_push != -1).sum())
    lists = lists[lists >= 0]
    counts = tree.pushes[lists + 1]
    wide = lists[counts < 0]
    ors = int(((counts[counts >= 0] >> 11) & 1023).sum()) + int(tree.pushes[wide + 3].sum())
    return literals + ors + 1


class SegmentMatcher:
    """A segment ready to be asked: its kernels' view, coders and patterns."""

    def __init__(
        self,
        segment: Segment,
        operators: Mapping[str, Operator] | None = None,
        schema: Hierarchies | None = None,
    ) -> None:
        self.segment = segment
        self.operators = operators or {}
        self.schema = schema
        self.coders = coders(segment.slots)
        self.index = index_of(segment)
        self.patterns = pattern_indexes(segment, schema)
        self.patterned = set(self.patterns)
        self._queue = queue_size(segment)
        self.small = segment.nodes <= SMALL
        self._lists: dict[tuple[str, tuple[str, ...]], Ints] = {}
        walking = np.inf if segment.lazy else WORD * len(segment.tree.records)
        self.ways = Ways(self._cells, self._walk, walking, segment.nodes >= FEWEST)
        self._free: list[_Working] = []  # append and pop are atomic: threads share it

    def match(
        self, event: Mapping[str, object] | Event, keep: NDArray[np.uint8] = ALL
    ) -> tuple[Ints, Event | None]:
        """The ordinals of the rules that are true, and the event where it had to be read."""
        encoded, seen = encode(event, self.coders, self.patterned)
        list_start, list_codes = _NO_LISTS, _NONE
        if len(encoded.list_start) > 1:
            list_start = np.array(encoded.list_start, np.int32)
            list_codes = np.array(encoded.list_codes, np.int32)
        hits = _NONE
        if encoded.strings:
            hits = np.concatenate([self.hits(*found) for found in encoded.strings])
        slots, codes = np.array(encoded.slots, np.int32), np.array(encoded.codes, np.int32)
        if self.segment.lazy and seen is None:
            seen = Event(event)
        return self.match_codes(slots, codes, list_start, list_codes, hits, seen, keep), seen

    def match_codes(
        self,
        slots: Ints,
        codes: Ints,
        list_start: Ints,
        list_codes: Ints,
        hits: Ints,
        seen: Event | None,
        keep: NDArray[np.uint8],
    ) -> Ints:
        """The ordinals of the rules that are true of an event given as codes."""
        working = self._free.pop() if self._free else self._working()
        try:
            ways = self.ways
            ways.left -= 1  # a thread may lose a count
            event = (slots, codes, list_start, list_codes)
            if ways.left <= 0:
                found = self._sample(working, event, hits, seen, keep)
            else:
                found = self._run(working, ways.taken, event, hits, seen, keep)
            return working.rules[:found].copy()
        except BaseException:
            working = self._working()  # its states are in doubt
            raise
        finally:
            self._free.append(working)

    def _working(self) -> _Working:
        return _Working(self.segment, self.index, self._queue)

    def _run(
        self,
        working: _Working,
        taken: Way | None,
        event: tuple[Ints, Ints, Ints, Ints],
        hits: Ints,
        seen: Event | None,
        keep: NDArray[np.uint8],
    ) -> int:
        """Match an event one of the ways: how many rules are written."""
        epoch = working.next_epoch()
        if taken is not None and isinstance(taken, Walk):
            return self._run_walk(working, taken, event, hits, keep)
        view = working.view if taken is None else working.view_of(taken)
        if self.segment.lazy:
            return self._match_lazily(working, view, event, hits, seen, keep)
        run = match_small if self.small else match_large
        return int(run(view.places, *event, hits, keep, epoch))

    def _sample(
        self,
        working: _Working,
        event: tuple[Ints, Ints, Ints, Ints],
        hits: Ints,
        seen: Event | None,
        keep: NDArray[np.uint8],
    ) -> int:
        """Match an event, and learn from it: both ways where there are two."""
        ways = self.ways
        ways.left = ways.every
        built = ways.built
        if built is None:
            begun = time.thread_time()
            found = self._run(working, None, event, hits, seen, keep)
            ways.learn_checked(int(working.scratch.counts[2]), time.thread_time() - begun)
            return found
        if isinstance(built, Taken):
            working.view_of(built)
        seconds = [0.0, 0.0]
        first = working.epoch & 1
        for way in (first, 1 - first):  # the second finds caches as the first left them
            begun = time.thread_time()
            found = self._run(working, built if way else None, event, hits, seen, keep)
            seconds[way] = time.thread_time() - begun
        ways.learn(*seconds)
        return found

    def _run_walk(
        self,
        working: _Working,
        walk: Walk,
        event: tuple[Ints, Ints, Ints, Ints],
        hits: Ints,
        keep: NDArray[np.uint8],
    ) -> int:
        scratch, tree = working.scratch, self.segment.tree
        if not len(working.truth):
            working.truth = np.empty(int(tree.used[0]) + 1, np.uint8)
        found = walk_one(self.index, walk, scratch, *event, hits, working.truth, working.epoch)
        groups = scratch.out[:found]
        return int(expand(groups, tree.group_start, tree.always, keep, working.rules))

    def _cells(self) -> Taken | None:
        return taken_into_cells(self.segment, self.index)

    def _walk(self) -> Walk:
        return Walk(self.segment.tree.group_of, self.segment.tree.literal_group)

    def go_by_cells(self, likely: float = 0.0, fewest: int = 1) -> bool:
        """Build cells now and go by them from now on; whether there is anything to put into them.

        All `and`s are taken that literals of intervals wake, if these are that likely.
        """
        taken = taken_into_cells(self.segment, self.index, likely, fewest)
        self.ways.always(taken)
        return taken is not None

    def go_by_walks(self) -> bool:
        """Walk over all nodes from now on; whether this is possible."""
        if not self.segment.lazy:
            self.ways.always(self._walk())
        return not self.segment.lazy

    def go_by_push_lists(self) -> None:
        """Never go another way."""
        self.ways.always(None)

    def _match_lazily(
        self,
        working: _Working,
        view: View,
        arguments: tuple[Ints, Ints, Ints, Ints],
        hits: Ints,
        seen: Event | None,
        keep: NDArray[np.uint8],
    ) -> int:
        tree = self.segment.tree
        index, _, cells, scratch, written = view.tuples
        scratch.counts[4] = 0
        waiting = written.candidates[:0]
        if len(cells.branches):
            slots, codes, _, _ = arguments
            left = candidates(cells, slots, codes, scratch.codes, written.candidates)
            waiting = written.candidates[:left]
        match_one(index, scratch, *arguments, hits, waiting, working.epoch)
        if seen is not None:
            self._settle(index, scratch, arguments, seen, working.epoch)
        groups = scratch.out[: scratch.counts[0]]
        return int(expand(groups, tree.group_start, tree.always, keep, working.rules))

    def hits(self, attribute: str, value: Any) -> Ints:
        """The tests of an attribute that are true of a string, or of a list."""
        if isinstance(value, str):
            return self.patterns[attribute].hits(value)
        if value and type(value[0]) is not str:
            return self.patterns[attribute].list_hits(value)
        return self.strings_hits(attribute, value)

    def strings_hits(self, attribute: str, texts: tuple[str, ...]) -> Ints:
        """The tests that are true of a list of strings; lists seen lately are remembered."""
        known = self._lists.get((attribute, texts))
        if known is None:
            known = self.patterns[attribute].strings_hits(texts)
            if len(self._lists) >= _LISTS:
                self._lists.clear()
            if len(texts) <= 16:
                self._lists[attribute, texts] = known
        return known

    def _settle(
        self,
        index: Index,
        scratch: Scratch,
        arguments: tuple[Ints, ...],
        seen: Event,
        epoch: int,
    ) -> None:
        """Evaluate the comparisons and calls that rules still depend on, until none is asked."""
        lazy = np.array(self.segment.lazy)
        while True:
            asked = lazy[scratch.opaque[lazy] == epoch * 4 + REQUESTED]
            if not len(asked):
                return
            for number in asked.tolist():
                truth = self.truth(self.segment.opaque[number], seen)
                scratch.opaque[number] = epoch * 4 + _STATE[truth]
            waiting = np.unique(scratch.wait[: scratch.counts[1]])
            scratch.counts[4] = 1
            match_one(index, scratch, *arguments, _NONE, waiting, epoch)

    def truth(self, node: Node, seen: Event) -> Truth:
        return evaluate(node, seen, operators=self.operators, schema=self.schema)


def family_ends(segment: Segment) -> Ints:
    """The last code of each family of each slot, four a slot; the last one is repeated."""
    ends = np.empty((len(segment.slots), 4), np.int32)
    for number, slot in enumerate(segment.slots):
        last = sorted(slot.family_codes(family)[1] for family in slot.first)
        ends[number] = ([*last, slot.codes - 1, slot.codes - 1, slot.codes - 1, slot.codes - 1])[:4]
    return read_only(ends.ravel())


def index_of(segment: Segment) -> Index:
    tree, atoms = segment.tree, segment.atoms
    opaque_push = np.full(max(1, len(segment.opaque)), -1, np.int32)
    positive = tree.asked & 1 == 0
    number = atoms.opaque[tree.asked >> 1]
    tests = positive & (atoms.kind[tree.asked >> 1] == VALUE_TEST)
    opaque_push[number[tests]] = tree.asked_push[tests]
    asked, asked_push = tree.asked[~tests], tree.asked_push[~tests]
    first_atom = np.searchsorted(atoms.slot, np.arange(len(segment.slots) + 1)).astype(np.int32)
    null = np.array(
        [
            slot
            for slot, (at, size) in enumerate(zip(tree.tree_at, tree.tree_size, strict=True))
            if tree.tree_start[at + size] < tree.tree_start[at + size + 1]
        ],
        np.int32,
    )
    arrays = (
        tree.records, tree.push_at, tree.pushes, tree.tree_at, tree.tree_size,
        tree.tree_start, tree.stab_bound, tree.stab_push, tree.literal_push, first_atom,
        tree.row_literal, asked, asked_push,
        opaque_push, null, segment.rows, atoms.low, atoms.high, family_ends(segment),
        np.array([segment.first], np.int64),
    )  # fmt: skip
    return Index(*(read_only(array) for array in arrays))


def pattern_indexes(segment: Segment, schema: Hierarchies | None) -> dict[str, PatternIndex]:
    """The value tests of each attribute that has any."""
    tests: dict[str, list[tuple[int, Node]]] = {}
    lazy = set(segment.lazy)
    for number, node in enumerate(segment.opaque):
        if number not in lazy:
            attribute = node.attributes[0]  # type: ignore[attr-defined]
            tests.setdefault(attribute, []).append((number, node))
    return {attribute: PatternIndex(mine, schema) for attribute, mine in tests.items()}
