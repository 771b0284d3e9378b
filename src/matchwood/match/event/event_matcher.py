"""One event against one segment: encode it, and match it with the strategy that is chosen."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.atom_codes import AtomArrays
from matchwood.index.build.index_form import predicate_of
from matchwood.index.build.segment import Segment, read_only
from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.kernels.programs import atom_of, is_negated
from matchwood.kernels.pushes import NO_LIST
from matchwood.kernels.records import MISSING, VALUE_TEST
from matchwood.language.aliases import Aliases
from matchwood.language.evaluation import ElementHierarchies, Hierarchies, Operator
from matchwood.language.events import Event
from matchwood.language.named_lists import NamedLists
from matchwood.language.tree import EVERYTHING, Node
from matchwood.match.event.cell_index import FEWEST
from matchwood.match.event.encode import EncodedEvent, Encoding, coders, encode
from matchwood.match.event.event_strategies import NAMED_STRATEGIES
from matchwood.match.event.everywhere import EverythingCodes
from matchwood.match.event.lazy_atoms import LazyAtoms, LazyTruth
from matchwood.match.event.literal_kernels import CHECKED, EventIndex
from matchwood.match.event.push_kernels import count_ors
from matchwood.match.event.spelled_names import SpelledNames
from matchwood.match.event.strategy import IndexedSegment
from matchwood.match.event.strategy_choice import StrategyChoice
from matchwood.match.event.string_hits import StringHits
from matchwood.match.event.thread_scratch import EventCodes, ThreadScratch
from matchwood.match.event.value_tables import EventTables, entries_of
from matchwood.match.patterns.pattern_index import PatternIndex

_NO_RULES: Int32Array = np.empty(0, np.int32)
_NO_ENTRIES: Int64Array = np.frombuffer(bytes(8), np.int64)[:0]  # read-only, as all entries are

# What keeps every rule.
ALL: NDArray[np.uint8] = np.empty(0, np.uint8)


def queue_size(segment: Segment) -> int:
    """The most entries, beside nodes, that an event puts into the queue: literals and `or`s."""
    tree = segment.tree
    literals = int((tree.literal_push != NO_LIST).sum())
    return literals + int(count_ors(tree.pushes)) + 1


class SingleEvents:
    """What matches single events of a segment: its arrays, and the choice between strategies."""

    def __init__(self, segment: Segment, lazy: LazyAtoms | None) -> None:
        self.target = IndexedSegment(segment, index_of(segment), lazy)
        self.queue = queue_size(segment)
        self.choice = StrategyChoice(self.target, segment.nodes >= FEWEST)


class SegmentMatcher:
    """A segment that is ready to be matched: its coders, patterns, arrays and strategies."""

    def __init__(
        self,
        segment: Segment,
        operators: Mapping[str, Operator] | None = None,
        schema: Hierarchies | None = None,
        lists: NamedLists | None = None,
        aliases: Aliases | None = None,
    ) -> None:
        self.segment = segment
        self.coders = coders(segment.slots)
        self.aliases = aliases
        self.patterns = pattern_indexes(segment, schema)
        self.patterned = set(self.patterns)
        self.hits = StringHits(self.patterns).hits
        self.spelled = None if aliases is None else SpelledNames(aliases, self.coders)
        self.everything: EverythingCodes | None = None
        if EVERYTHING in self.coders:
            patterns = self.patterns.get(EVERYTHING)
            self.everything = EverythingCodes(self.coders[EVERYTHING], patterns)
        self.encoding = Encoding(
            self.coders, self.patterned, aliases, self.spelled, self.everything
        )
        self._own_tables = EventTables(self.coders, self.patterned, self.hits)
        self._tables = self._own_tables
        if self.spelled is not None:
            self._tables = EventTables(self.coders, self.patterned, self.hits, self.spelled)
        self.lazy: LazyAtoms | None = None
        if segment.lazy:
            inside = partial(_inside, schema=schema, lists=lists)
            self.lazy = LazyAtoms(segment, operators or {}, schema, lists, aliases, inside)
        self._single: dict[str, SingleEvents] = {}
        self._free: list[ThreadScratch] = []  # append and pop are atomic: threads share it

    @property
    def _events(self) -> SingleEvents:
        """What single events need, made for the first one; batches may never need it."""
        if not self._single:  # of several threads that make one, all take the one that is set first
            self._single.setdefault("", SingleEvents(self.segment, self.lazy))
        return self._single[""]

    @property
    def index(self) -> EventIndex:
        """The arrays of the segment as kernels for one event read them."""
        return self._events.target.arrays

    @property
    def choice(self) -> StrategyChoice:
        """What single events are matched with."""
        return self._events.choice

    @property
    def bytes(self) -> int:
        """Bytes that strategies for single events hold beside the segment."""
        return sum(single.choice.bytes for single in list(self._single.values()))

    def match(
        self, event: Mapping[str, object] | Event, keep: NDArray[np.uint8] = ALL
    ) -> tuple[Int32Array, Event | None]:
        """The ordinals of the rules that are true, and the event if it had to be read."""
        seen: Event | None = None
        found: bytes | None = None
        if type(event) is dict:
            tables, named = self._tables, event
            several: dict[str, object] = {}
            spelled = self.spelled
            try:
                if spelled is not None and spelled.has_others(event):
                    spelt = spelled.spelt(event)
                    if not spelt.is_simple:
                        named, several = spelled.parted(event, spelt)
                found = b"".join([tables[name][type(v)][v] for name, v in named.items()])
                if several:
                    own = self._own_tables
                    found += b"".join([own[name][type(v)][v] for name, v in several.items()])
                if self.everything is not None:
                    alone = EncodedEvent()
                    self.everything.put(alone, event)
                    found += entries_of(alone, ())
            except (KeyError, TypeError):
                found = None  # a value is not plain, or not valid
        if found is None:
            encoded, seen = encode(event, self.encoding)
            found = entries_of(encoded, [self.hits(*strings) for strings in encoded.strings])
        entries = np.frombuffer(found, np.int64) if found else _NO_ENTRIES
        truth = None if self.lazy is None else self.lazy.truth(seen or event)
        return self._match_entries(entries, truth, keep), seen

    def _match_entries(
        self, entries: Int64Array, truth: LazyTruth | None, keep: NDArray[np.uint8]
    ) -> Int32Array:
        scratch = self._free.pop() if self._free else self.new_scratch()
        try:
            choice = self.choice
            choice.left -= 1  # a thread may lose a count
            if choice.left <= 0:
                count = self._match_and_measure(scratch, *scratch.unpack(entries), truth, keep)
            else:
                count = choice.taken.match_entries(scratch, entries, truth, keep)
            return scratch.rules[:count].copy() if count else _NO_RULES
        except BaseException:
            scratch = self.new_scratch()  # the states of the old one are in doubt
            raise
        finally:
            self._free.append(scratch)

    def match_codes(
        self,
        slots: Int32Array,
        codes: Int32Array,
        list_start: Int32Array,
        list_codes: Int32Array,
        hits: Int32Array,
        truth: LazyTruth | None,
        keep: NDArray[np.uint8],
    ) -> Int32Array:
        """The ordinals of the rules that are true of an event given as codes."""
        scratch = self._free.pop() if self._free else self.new_scratch()
        try:
            choice = self.choice
            choice.left -= 1  # a thread may lose a count
            event = (slots, codes, list_start, list_codes)
            if choice.left <= 0:
                count = self._match_and_measure(scratch, event, hits, truth, keep)
            else:
                count = choice.taken.match(scratch, event, hits, truth, keep)
            return scratch.rules[:count].copy()
        except BaseException:
            scratch = self.new_scratch()  # the states of the old one are in doubt
            raise
        finally:
            self._free.append(scratch)

    def asks_for(self, name: str) -> bool:
        """Whether rules ask for an attribute that events may have under this name."""
        if self.everything is not None:
            return True
        if self.spelled is None:
            return name in self.coders
        return bool(self.spelled.attributes_of(name))

    def new_scratch(self) -> ThreadScratch:
        """Scratch for one more thread."""
        return ThreadScratch(self.segment, self.index, self._events.queue)

    def _match_and_measure(
        self,
        scratch: ThreadScratch,
        event: EventCodes,
        hits: Int32Array,
        truth: LazyTruth | None,
        keep: NDArray[np.uint8],
    ) -> int:
        """Match an event, and learn from it: by pushing, and with what else is prepared."""
        choice = self.choice
        choice.left = choice.every
        prepared = choice.prepared
        if prepared is None:
            begun = time.thread_time()
            count = choice.pushing.match(scratch, event, hits, truth, keep)
            choice.learn_push(int(scratch.arrays.counts[CHECKED]), time.thread_time() - begun)
            return count
        prepared.attach(scratch)
        seconds = [0.0, 0.0]
        first = 0 if choice.pushing_goes_first() else 1
        for is_prepared in (first, 1 - first):  # the second finds caches as the first left them
            begun = time.thread_time()
            strategy = prepared if is_prepared else choice.pushing
            count = strategy.match(scratch, event, hits, truth, keep)
            seconds[is_prepared] = time.thread_time() - begun
        choice.learn(*seconds)
        return count

    def force(self, name: str) -> bool:
        """Match all events with the strategy of this name from now on, whatever it costs.

        Whether the segment allows it; if it does not, events are matched by pushing.
        `NAMED_STRATEGIES` has the names.
        """
        return self.choice.force(NAMED_STRATEGIES[name])

    def learn_again(self) -> None:
        """Forget what was learnt, and choose between strategies even if the segment is small."""
        self._events.choice = StrategyChoice(self._events.target, True)


def _inside(
    segment: Segment, path: str, schema: Hierarchies | None, lists: NamedLists | None
) -> SegmentMatcher:
    """A segment of rules about the elements of a path."""
    below = None if schema is None else ElementHierarchies(schema, path)
    return SegmentMatcher(segment, None, below, lists)


def family_ends(segment: Segment) -> Int32Array:
    """The last code of each family, four per slot; the last one is repeated."""
    ends = np.empty((len(segment.slots), 4), np.int32)
    for number, slot in enumerate(segment.slots):
        last = sorted(slot.family_codes(family)[1] for family in slot.first)
        ends[number] = ([*last, slot.codes - 1, slot.codes - 1, slot.codes - 1, slot.codes - 1])[:4]
    return read_only(ends.ravel())


def index_of(segment: Segment) -> EventIndex:
    """The arrays of a segment as kernels for one event read them."""
    tree, atoms = segment.tree, segment.atoms
    opaque_push = np.full(max(1, len(segment.opaque)), -1, np.int32)
    positive = is_negated(tree.asked) == 0
    number = atoms.opaque[atom_of(tree.asked)]
    tests = positive & (atoms.kind[atom_of(tree.asked)] == VALUE_TEST)
    opaque_push[number[tests]] = tree.asked_push[tests]
    asked, asked_push = tree.asked[~tests], tree.asked_push[~tests]
    first_atom = np.searchsorted(atoms.slot, np.arange(len(segment.slots) + 1)).astype(np.int32)
    null = _slots_of_missing(atoms, tree.literal_push)
    arrays = (
        tree.records, tree.pushes, tree.tree_at, tree.tree_size, tree.tree_points,
        tree.tree_start, tree.stab_bound, tree.stab_push, tree.literal_push, first_atom,
        asked, asked_push,
        opaque_push, null, *segment.packed, family_ends(segment),
        np.array([segment.first], np.int64),
    )  # fmt: skip
    return EventIndex(*(read_only(array) for array in arrays))


def _slots_of_missing(atoms: AtomArrays, literal_push: Int32Array) -> Int32Array:
    """The slots where a literal with a push list is true of an event without the attribute."""
    pushed = np.flatnonzero(literal_push != NO_LIST)
    atom = atom_of(pushed)
    start, end = atoms.start[atom], atoms.start[atom + 1]
    true = np.zeros(len(atom), np.bool_)
    true[start < end] = atoms.low[start[start < end]] == MISSING
    negated = is_negated(pushed) != 0
    true[negated] = (atoms.family_low[atom] == MISSING)[negated] & ~true[negated]
    return np.unique(atoms.slot[atom[true & (atoms.opaque[atom] < 0)]]).astype(np.int32)


def pattern_indexes(segment: Segment, schema: Hierarchies | None) -> dict[str, PatternIndex]:
    """The patterns of each attribute that has any."""
    tests: dict[str, list[tuple[int, Node]]] = {}
    lazy = set(segment.lazy)
    for number, node in enumerate(segment.opaque):
        if number not in lazy:
            node = predicate_of(node)
            attribute = node.subjects[0]
            tests.setdefault(attribute, []).append((number, node))
    return {attribute: PatternIndex(mine, schema) for attribute, mine in tests.items()}
