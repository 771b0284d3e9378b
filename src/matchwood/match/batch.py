"""Many events against one segment: columns or rows in, pairs of event and rule out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import compiled
from matchwood.index.segment import read_only
from matchwood.language.events import Event
from matchwood.language.values import Value
from matchwood.match.encode import Coder, Strings, encode
from matchwood.match.masks import EVENTS, WORDS
from matchwood.match.ranks import list_events, rank_events
from matchwood.match.single import SegmentMatcher, family_ends
from matchwood.match.sweep import Batch, Tree, literal_masks, sweep

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
PAIRS = 1 << 21  # pairs that one buffer holds
TRIED = 32  # events that are matched one by one before the rest of a batch is
BUDGET = 256 << 20  # bytes of scratch that one sweep may take


class Codes(NamedTuple):
    """Some events as codes of a segment: codes[i, event] is the code of slots[i]."""

    slots: Ints
    codes: Ints
    list_start: Ints
    list_codes: Ints
    hits: list[tuple[Ints, Longs, Ints]]  # (which value each event has or -1, bounds, atoms)
    events: int


class Masks:
    """What one thread writes while it sweeps."""

    def __init__(self, matcher: SegmentMatcher, used: int) -> None:
        segment = matcher.segment
        self.masks = np.empty(WORDS * (used + 1), np.uint64)
        self.nonzero = np.zeros(used // 64 + 1, np.uint64)
        rows = len(segment.tree.row_literal)
        self.literals = np.empty(WORDS * max(1, rows), np.uint64)
        self.literal_at = np.empty(max(1, rows), np.int32)
        self.positions = np.empty(max(1, rows), np.uint64)
        self.few = np.empty(EVENTS, np.uint16)
        self.scratch = np.empty(2 * WORDS, np.uint64)
        self.true = np.zeros(WORDS * max(1, len(segment.opaque)), np.uint64)
        self._buffers: list[Ints] = []

    def buffers(self) -> list[Ints]:
        """Where a sweep writes the events and ordinals that it finds."""
        if not self._buffers:
            self._buffers = [np.empty(PAIRS, np.int32), np.empty(PAIRS, np.int32)]
        return self._buffers

    def taken(self, found: int) -> tuple[Ints, Ints]:
        """What a sweep has written, out of its way.

        To copy a little costs less than another buffer, which the system has to find and clear.
        """
        events, ordinals = self._buffers
        if found > PAIRS // 8:
            self._buffers = []
            return events[:found], ordinals[:found]
        return events[:found].copy(), ordinals[:found].copy()


_taken: set[str] = set()  # ways that this process has taken: their kernels are loaded


class Cost:
    """Seconds of one of two ways, learnt as it is taken; what is passed over is tried again."""

    def __init__(self, way: str, seconds: float) -> None:
        self.way = way
        self.seconds = seconds

    def learn(self, seconds: float) -> None:
        """The first time in a process kernels are loaded, or compiled, which says nothing."""
        if self.way in _taken:
            self.seconds = 0.5 * self.seconds + 0.5 * seconds
        _taken.add(self.way)

    def pass_over(self) -> None:
        self.seconds *= 0.998


class BatchMatcher:
    """A segment ready to be asked about many events."""

    def __init__(self, matcher: SegmentMatcher) -> None:
        self.matcher = matcher
        segment = matcher.segment
        tree = segment.tree
        # masks are computed in the order of atoms, which streams what they are made of
        row_literal = tree.row_literal
        order = np.argsort(row_literal).astype(np.int32)
        arrays = (
            tree.records, row_literal[order], order, tree.group_of, tree.group_start,
            tree.literal_group, tree.always, matcher.index.atom_row, segment.atoms.low,
            segment.atoms.high,
            family_ends(segment) if segment.slots else np.zeros(4, np.int32),
            np.array([segment.first], np.int64),
        )  # fmt: skip
        self.tree = Tree(*(read_only(array) for array in arrays))
        codes = segment.codes if len(segment.codes) else np.full(1, 2, np.int32)
        self.codes_of = read_only(codes)
        self.row_of_code = read_only(np.r_[0, np.cumsum(codes.astype(np.int64) + 1)])
        self.used = int(tree.used[0])
        self._free: list[Masks] = []
        self._each = Cost("each", 2e-4 if segment.nodes > 10_000 else 2e-5)
        self._sweep = Cost("sweep", 1e-4 + 1.5e-7 * segment.nodes)

    @property
    def scratch_bytes(self) -> int:
        """Bytes that one sweep takes beside its output."""
        segment = self.matcher.segment
        rows = self.used + len(segment.tree.row_literal) + len(segment.opaque)
        return 8 * WORDS * rows

    def pairs(
        self, codes: Codes, keep: NDArray[np.uint8], rows: Callable[[int], Event]
    ) -> Iterator[tuple[Ints, Ints]]:
        """(events, ordinals) of all matches, in pieces; `rows` gives an event as it was."""
        if codes.events == 0 or self.matcher.segment.rules == 0:
            return
        if self.matcher.segment.lazy or self.scratch_bytes > BUDGET:
            yield from self._one_by_one(codes, keep, rows, 0, codes.events)
        elif self._sweeps(codes.events) or not (tried := self._try(codes, keep, rows)):
            self._each.pass_over()
            yield from self._sweep_all(codes, keep)
        else:
            self._sweep.pass_over()
            yield from tried
            yield from self._one_by_one(codes, keep, rows, TRIED, codes.events)

    def _sweeps(self, events: int) -> bool:
        return events * self._each.seconds >= self._sweep.seconds

    def _try(
        self, codes: Codes, keep: NDArray[np.uint8], rows: Callable[[int], Event]
    ) -> list[tuple[Ints, Ints]]:
        """The first events one by one; nothing where that turned out to cost more than a sweep."""
        last = min(TRIED, codes.events)
        found = list(self._one_by_one(codes, keep, rows, 0, last))
        return [] if self._sweeps(codes.events - last) else found

    def _one_by_one(
        self,
        codes: Codes,
        keep: NDArray[np.uint8],
        rows: Callable[[int], Event],
        low: int,
        high: int,
    ) -> Iterator[tuple[Ints, Ints]]:
        started = time.thread_time()
        lazy = bool(self.matcher.segment.lazy)
        found: list[tuple[int, Ints]] = []
        held = 0
        for event in range(low, high):
            seen = rows(event) if lazy else None
            ordinals = self.matcher.match_codes(*_event(codes, event), seen, keep)
            found.append((event, ordinals))
            held += len(ordinals)
            if held > PAIRS:
                took = time.thread_time() - started
                yield _joined(found)
                found, held = [], 0
                started = time.thread_time() - took
        if high > low:
            self._each.learn((time.thread_time() - started) / (high - low))
        yield _joined(found)

    def _sweep_all(self, codes: Codes, keep: NDArray[np.uint8]) -> Iterator[tuple[Ints, Ints]]:
        started = time.thread_time()
        masks = self._free.pop() if self._free else Masks(self.matcher, self.used)
        for which, bounds, atoms in codes.hits:
            set_bits(masks.true, which, bounds, atoms)
        row, rows, ranks, list_mask = rank_events(
            codes.slots, codes.codes, codes.list_start, codes.list_codes, self.codes_of,
            self.row_of_code, codes.events,
        )  # fmt: skip
        place_of, sparse, there, order, below = list_events(
            codes.slots, codes.codes, list_mask, self.codes_of, self.row_of_code, codes.events
        )
        lists = np.array([(list_mask >= 0).any()], np.uint8)
        batch = Batch(
            row, self.row_of_code, rows, ranks, list_mask, masks.literals, masks.literal_at,
            masks.true, lists, codes.codes, place_of, sparse, there, order, below,
            masks.positions, masks.few, masks.scratch,
        )  # fmt: skip
        literal_masks(self.tree, batch)
        place = np.zeros(4, np.int64)
        while place[0] >= 0:
            buffers = masks.buffers()
            found = sweep(self.tree, batch, keep, masks.masks, masks.nonzero, *buffers, place)
            some = masks.taken(found)
            took = time.thread_time() - started
            yield some
            started = time.thread_time() - took
        for which, bounds, atoms in codes.hits:
            clear_bits(masks.true, which, bounds, atoms)
        self._free.append(masks)
        self._sweep.learn(time.thread_time() - started)


def _event(codes: Codes, event: int) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """One event of a batch: slots, codes, lists, hits."""
    column = codes.codes[:, event]
    there = np.flatnonzero(column)
    hits = [
        atoms[bounds[which[event]] : bounds[which[event] + 1]]
        for which, bounds, atoms in codes.hits
        if which[event] >= 0
    ]
    joined = np.concatenate(hits) if hits else np.empty(0, np.int32)
    return codes.slots[there], column[there], codes.list_start, codes.list_codes, joined


def _joined(found: Sequence[tuple[int, Ints]]) -> tuple[Ints, Ints]:
    counts = [len(ordinals) for _, ordinals in found]
    events = np.repeat(np.array([event for event, _ in found], np.int32), counts)
    return events, np.concatenate([np.empty(0, np.int32), *(ordinals for _, ordinals in found)])


@compiled
def set_bits(masks, which, bounds, atoms):
    """Set each event's bit in the masks of the opaque atoms that are true of its value."""
    for event in range(len(which)):
        value = which[event]
        if value >= 0:
            bit = np.uint64(1) << np.uint64(event & 63)
            for i in range(bounds[value], bounds[value + 1]):
                masks[WORDS * np.int64(atoms[i]) + (event >> 6)] |= bit


@compiled
def clear_bits(masks, which, bounds, atoms):
    """Undo `set_bits`; the hits may be those of a whole table, and these events a few of it."""
    for event in range(len(which)):
        value = which[event]
        if value >= 0:
            for i in range(bounds[value], bounds[value + 1]):
                masks[WORDS * np.int64(atoms[i]) + (event >> 6)] = np.uint64(0)


# Encoding


def codes_of_rows(
    events: Sequence[Mapping[str, object] | Event], matcher: SegmentMatcher
) -> tuple[Codes, list[Event | None]]:
    """Events given as mappings, at most EVENTS of them."""
    slots: dict[int, int] = {}
    cells: list[tuple[int, int, int]] = []
    list_start = [0]
    list_codes: list[int] = []
    strings: dict[str, list[tuple[int, Strings]]] = {}
    read: list[Event | None] = []
    for number, event in enumerate(events):
        encoded, seen = encode(event, matcher.coders, matcher.patterned)
        read.append(seen)
        base = len(list_start) - 1
        for slot, code in zip(encoded.slots, encoded.codes, strict=True):
            place = slots.setdefault(slot, len(slots))
            cells.append((place, number, code if code >= 0 else code - base))
        if len(encoded.list_start) > 1:
            at = len(list_codes)
            list_codes.extend(encoded.list_codes)
            list_start.extend(at + bound for bound in encoded.list_start[1:])
        for attribute, value in encoded.strings:
            strings.setdefault(attribute, []).append((number, value))
    codes = np.zeros((len(slots), len(events)), np.int32)
    if cells:
        place, number_, code = np.array(cells, np.int64).T
        codes[place, number_] = code
    hits = [
        _hits_of_rows(attribute, found, len(events), matcher)
        for attribute, found in strings.items()
    ]
    arrays = (
        np.array(list(slots), np.int32),
        codes,
        np.array(list_start, np.int32),
        np.array(list_codes, np.int32),
    )
    return Codes(*arrays, hits, len(events)), read


def _hits_of_rows(
    attribute: str,
    found: list[tuple[int, Strings]],
    events: int,
    matcher: SegmentMatcher,
) -> tuple[Ints, Longs, Ints]:
    distinct: dict[Strings, int] = {}
    which = np.full(events, -1, np.int32)
    for number, value in found:
        which[number] = distinct.setdefault(value, len(distinct))
    if all(isinstance(value, str) for value in distinct):
        texts = [str(value) for value in distinct]
        bounds, atoms = matcher.patterns[attribute].hits_of_many(texts)
        return which, bounds, atoms
    lists = [matcher.hits(attribute, value) for value in distinct]
    bounds = np.r_[0, np.cumsum([len(atoms) for atoms in lists])].astype(np.int64)
    return which, bounds, np.concatenate([np.empty(0, np.int32), *lists])


class Columns:
    """The columns of a table, coded for one segment once, then cut into batches."""

    def __init__(self, attributes: Mapping[str, Any], matcher: SegmentMatcher) -> None:
        from matchwood.match.columns import Coded, code_column

        self._coded: list[tuple[Coder, str, Coded]] = []
        self._hits: dict[str, tuple[Ints, Longs, Ints]] = {}
        for name, column in attributes.items():
            coder = matcher.coders.get(name)
            if coder is None:
                continue
            patterned = name in matcher.patterned
            coded = code_column(column, coder, patterned)
            self._coded.append((coder, name, coded))
            if patterned and coded.distinct is not None and coded.which is not None:
                bounds, atoms = matcher.patterns[name].hits_of_many(coded.distinct)
                self._hits[name] = coded.which, bounds, atoms
            elif patterned and coded.bounds is not None:
                self._hits[name] = _hits_of_lists(column, name, matcher)

    def codes(self, low: int, high: int) -> Codes:
        """Rows low..high as codes."""
        slots: list[int] = []
        rows: list[Ints] = []
        list_start = [np.zeros(1, np.int64)]
        list_codes: list[Ints] = []
        lists = 0
        for coder, _, coded in self._coded:
            for slot, codes in ((coder.slot, coded.main), (coder.time_slot, coded.time)):
                if slot < 0 or codes is None:
                    continue
                slots.append(slot)
                if coded.bounds is None or coded.there is None:
                    rows.append(codes[low:high])
                    continue
                bounds, there = coded.bounds[low : high + 1], coded.there[low:high]
                count = high - low
                rows.append(np.where(there, -1 - lists - np.arange(count), 0).astype(np.int32))
                piece = codes[bounds[0] : bounds[-1]]
                local = bounds - bounds[0]
                if slot == coder.time_slot:
                    kept = np.r_[0, np.cumsum(piece != 0)]
                    piece, local = piece[piece != 0], kept[local]
                list_start.append(local[1:] + list_start[-1][-1])
                list_codes.append(piece.astype(np.int32))
                lists += count
        matrix = np.stack(rows) if rows else np.zeros((0, high - low), np.int32)
        hits = [(which[low:high], bounds, atoms) for which, bounds, atoms in self._hits.values()]
        return Codes(
            np.array(slots, np.int32),
            np.ascontiguousarray(matrix),
            np.concatenate(list_start).astype(np.int32),
            np.concatenate([np.empty(0, np.int32), *list_codes]),
            hits,
            high - low,
        )


def _hits_of_lists(column: Any, name: str, matcher: SegmentMatcher) -> tuple[Ints, Longs, Ints]:
    from matchwood.match.columns import distinct_elements

    elements = distinct_elements(column)
    if elements is None:
        return _hits_of_rows(name, _read_lists(column, name), len(column), matcher)
    bounds, atoms = matcher.patterns[name].hits_of_elements(elements.distinct)
    most = len(matcher.segment.opaque)
    return elements.rows, *join_hits(elements.bounds, elements.which, bounds, atoms, most)


def _read_lists(column: Any, name: str) -> list[tuple[int, Strings]]:
    from matchwood.arrow.reading import values_of

    found: list[tuple[int, Strings]] = []
    for row, value in enumerate(values_of(column)):
        if value is not None:
            seen = Event({name: value})[name]
            assert not isinstance(seen, Value)
            found.append((row, seen))
    return found


@compiled
def join_hits(list_bounds, which, bounds, atoms, most):
    """The hits of lists, each once, from those of their elements: (bounds, atoms)."""
    rows = len(list_bounds) - 1
    out_bounds = np.zeros(rows + 1, np.int64)
    seen = np.full(most, -1, np.int64)
    out = np.empty(1024, np.int32)
    top = 0
    for row in range(rows):
        for i in range(list_bounds[row], list_bounds[row + 1]):
            value = which[i]
            if value < 0:
                continue
            if top + bounds[value + 1] - bounds[value] > len(out):
                grown = np.empty(2 * len(out) + bounds[value + 1] - bounds[value], np.int32)
                grown[:top] = out[:top]
                out = grown
            for j in range(bounds[value], bounds[value + 1]):
                if seen[atoms[j]] != row:
                    seen[atoms[j]] = row
                    out[top] = atoms[j]
                    top += 1
        out_bounds[row + 1] = top
    return out_bounds, out[:top].copy()
