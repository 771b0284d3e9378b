"""JSON texts against one segment: scan them, and match what they say, without Python objects.

A text is matched by pushing, or by cells, in the same call that scans it. Where that is not what a
segment does with its events (it is large, walks, or measures), the codes go the way of all others.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.kernels.masks import EVENTS
from matchwood.kernels.text_bytes import address_of_bytes
from matchwood.language.bindings import Truth
from matchwood.language.subjects import lower_case
from matchwood.language.tree.subjects import Lowered
from matchwood.language.values import Family, Value
from matchwood.match.batch.batch_matcher import BatchMatcher
from matchwood.match.batch.batch_strategy import BatchStrategy, LearntCost
from matchwood.match.batch.codes.batch_codes import BatchCodes
from matchwood.match.batch.device_counts import device_counts
from matchwood.match.batch.pairs import BUFFERED_PAIRS, Pairs
from matchwood.match.batch.strategies.sweep_strategy import SweepStrategy
from matchwood.match.event.encode import Coder
from matchwood.match.event.event_kernels import SMALL
from matchwood.match.event.event_matcher import SegmentMatcher
from matchwood.match.event.lazy_atoms import LazyTruth
from matchwood.match.event.strategy_choice import NEVER_MEASURED
from matchwood.match.json.json_arrays import MISSES, JsonIndex, hit_of_code
from matchwood.match.json.json_batches import (
    ScannedEvents,
    Texts,
    batch_codes,
    noted_attributes,
    rows_between,
)
from matchwood.match.json.json_event_kernels import (
    ASKS,
    CODES,
    HAS_MISSES,
    ROW_ELEMENTS,
    ROW_HITS,
    ROW_LISTS,
    ROWS,
    CodeRows,
    add_strings,
    match_rows,
    match_text,
    scan_texts,
)
from matchwood.match.json.json_index import json_index
from matchwood.match.json.json_scratch import JsonThreadScratch, code_rows
from matchwood.match.json.json_text import event_of

# How often strings that the cache lacks are looked up for the same texts: it may be cleared
# in between.
_ATTEMPTS = 3

# Seconds that it takes to lay codes out for a sweep, before anything is measured.
_CODES_SECONDS = 1e-3

# Seconds that a row takes, before anything is measured.
_ROW_SECONDS = 3e-7


def texts_of(text: bytes) -> Texts:
    """One text."""
    bounds = np.zeros(1, np.int64), np.array([len(text)], np.int64)
    return Texts(address_of_bytes(text), *bounds, np.zeros(1, np.uint8), text)


class JsonMatcher:
    """A segment that is ready to be matched against JSON texts; threads share it."""

    def __init__(
        self, matcher: SegmentMatcher, index: JsonIndex, names: list[str], noted: Sequence[str]
    ) -> None:
        self._matcher = matcher
        self._index = index
        self._names = names
        self._noted = {name: place for place, name in enumerate(noted)}
        self._small = matcher.segment.nodes <= SMALL
        self._free: list[JsonThreadScratch] = []  # append and pop are atomic: threads share it
        self._rows: list[CodeRows] = []
        self.row_cost = LearntCost("rows of JSON", _ROW_SECONDS)
        self._row_seconds, self._rows_timed = 0.0, 0  # of the slices since the last measurement
        self.codes_cost = LearntCost("codes of JSON", _CODES_SECONDS)

    @classmethod
    def of(cls, matcher: SegmentMatcher) -> JsonMatcher | None:
        """None for a segment whose rules ask for very many names."""
        seeking = {name for name, index in matcher.patterns.items() if index.seeks_values}
        noted = noted_attributes(matcher.lazy)
        made = json_index(
            matcher.coders,
            matcher.patterned,
            seeking,
            matcher.aliases,
            matcher.segment.lazy,
            noted,
        )
        return None if made is None else cls(matcher, *made, noted)

    # One text

    def match(self, text: bytes, keep: NDArray[np.uint8]) -> list[int] | None:
        """The ordinals of the rules that are true; None if Python's parser is to read the text."""
        choice = self._matcher.choice
        strategy = choice.taken
        if not self._small or choice.every != NEVER_MEASURED or choice.taken is not choice.pushing:
            if not self._small or choice.left <= 1 or strategy.push_arrays is None:
                return self._match_codes(text, keep)  # measures, and counts, as for all events
            choice.left -= 1
        free = self._free
        scratch = free.pop() if free else JsonThreadScratch(self._matcher, self._index)
        if scratch.strategy is not strategy:
            scratch.use_strategy(strategy)
        if scratch.keep is not keep:
            scratch.report(keep)
        count = match_text(scratch.places, address_of_bytes(text), len(text))
        if count == HAS_MISSES:
            self._add_missing(scratch)
            count = match_text(scratch.places, address_of_bytes(text), len(text))
        rules: list[int] = scratch.rules[:count].tolist() if count > 0 else []
        free.append(scratch)
        if count == ASKS:
            return self._match_codes(text, keep)
        return rules if count >= 0 else None

    def _match_codes(self, text: bytes, keep: NDArray[np.uint8]) -> list[int] | None:
        """`match`, with the strategy that the segment chooses for all its events."""
        texts = texts_of(text)
        rows, _ = self.scan(texts, 0, 1)
        if texts.left_out[0]:
            self._rows.append(rows)
            return None
        codes, lists, elements, hits = (
            int(rows.sizes[n]) for n in (CODES, ROW_LISTS, ROW_ELEMENTS, ROW_HITS)
        )
        ordinals = self._matcher.match_codes(
            rows.slots[:codes],
            rows.codes[:codes],
            rows.list_start[: lists + 1],
            rows.list_codes[:elements],
            rows.hits[:hits],
            self._truth(text),
            keep,
        )
        self._rows.append(rows)
        numbers: list[int] = ordinals.tolist()
        return numbers

    def _truth(self, text: bytes) -> LazyTruth | None:
        """What says whether an atom is true, and reads the text when it is first asked."""
        lazy = self._matcher.lazy
        if lazy is None:
            return None
        known: list[LazyTruth] = []

        def truth(number: int) -> Truth:
            if not known:
                known.append(lazy.truth(event_of(text)))
            return known[0](number)

        return truth

    # Many texts

    def scan(self, texts: Texts, first: int, end: int) -> tuple[CodeRows, int]:
        """The texts first..end as rows of codes, and the number of the first that has none yet.

        Give the rows back with `finished`.
        """
        scratch = self._scratch()
        rows = self._rows.pop() if self._rows else self._new_rows(end - first)
        if len(rows.event) < end - first:
            rows = self._new_rows(end - first)
        rows.sizes[:] = 0
        order = np.arange(first, end, dtype=np.int32)
        missed = np.zeros(end - first + 2, np.int32)
        stop = self._scan(scratch, texts, order, missed, rows)
        for _ in range(_ATTEMPTS):
            if not missed[0]:
                break
            self._add_missing(scratch)
            again = missed[1 : missed[0] + 1].copy()
            stopped = self._scan(scratch, texts, again, missed, rows)
            texts.left_out[again[stopped:]] = 1
        texts.left_out[missed[1 : missed[0] + 1]] = 1
        self._free.append(scratch)
        return rows, first + stop

    def _scan(
        self,
        scratch: JsonThreadScratch,
        texts: Texts,
        order: Int32Array,
        missed: Int32Array,
        rows: CodeRows,
    ) -> int:
        return int(
            scan_texts(
                scratch.places,
                texts.address,
                texts.starts,
                texts.ends,
                order,
                0,
                missed,
                texts.left_out,
                rows,
            )
        )

    def finished(self, rows: CodeRows) -> None:
        """The rows are not needed any more."""
        self._rows.append(rows)

    def pairs(
        self,
        rows: CodeRows,
        texts: Texts,
        first: int,
        end: int,
        keep: NDArray[np.uint8],
        batch: BatchMatcher,
    ) -> Iterator[Pairs]:
        """(texts, ordinals) of all matches of rows, whose texts lie in first..end, in pieces."""
        device_counts.add()
        sweep = batch.strategies[SweepStrategy.name]
        sweeping = sweep.expected_seconds(EVENTS) + self.codes_cost.seconds
        if sweep.is_possible() and sweeping < min(end - first, EVENTS) * self.row_cost.seconds:
            self.row_cost.pass_over()
            for low in range(first, end, EVENTS):
                yield from self._sweep(rows, texts, low, min(low + EVENTS, end), keep, sweep)
            return
        sweep.cost.pass_over()
        yield from self._match_rows(rows, texts, end, keep, batch)

    def _sweep(
        self,
        rows: CodeRows,
        texts: Texts,
        first: int,
        end: int,
        keep: NDArray[np.uint8],
        sweep: BatchStrategy,
    ) -> Iterator[Pairs]:
        started = time.thread_time()
        codes, numbers = self._codes(rows, texts, rows_between(rows, texts, first, end))
        self.codes_cost.learn(time.thread_time() - started)
        if codes.events:
            for events, ordinals in sweep.pairs(codes, keep, 0, codes.events):
                yield numbers[events], ordinals

    def _codes(
        self, rows: CodeRows, texts: Texts, chosen: Int64Array
    ) -> tuple[BatchCodes, Int32Array]:
        """Some rows as a batch, and the numbers of their texts."""
        lazy = self._matcher.lazy
        if lazy is None:
            return batch_codes(rows, chosen, None)
        numbers, noted = rows.event[chosen], rows.noted[chosen]
        scanned = ScannedEvents(lazy, self._noted, texts, numbers, noted)
        return batch_codes(rows, chosen, scanned.columns())

    def _match_rows(
        self,
        rows: CodeRows,
        texts: Texts,
        end: int,
        keep: NDArray[np.uint8],
        batch: BatchMatcher,
    ) -> Iterator[Pairs]:
        scratch = self._scratch()
        if scratch.keep is not keep:
            scratch.report(keep)
        count = int(rows.sizes[ROWS])
        room = max(len(scratch.rules), min(BUFFERED_PAIRS, count * len(scratch.rules)), 1)
        row = 0
        started = time.thread_time()
        taken = 0.0
        asking = np.zeros(count, np.uint8)
        while row < count:
            events, rules = np.empty(room, np.int32), np.empty(room, np.int32)
            pairs, row = match_rows(
                scratch.places, rows, row, end, texts.left_out, asking, scratch.rules, events, rules
            )
            taken += time.thread_time() - started
            yield events[:pairs], rules[:pairs]
            started = time.thread_time()
        self._free.append(scratch)
        chosen = np.flatnonzero(asking)
        for low in range(0, len(chosen), EVENTS):
            codes, numbers = self._codes(rows, texts, chosen[low : low + EVENTS])
            for found, ordinals in batch.pairs(codes, keep):
                taken += time.thread_time() - started
                yield numbers[found], ordinals
                started = time.thread_time()
        self._note_rows(taken + time.thread_time() - started, count)

    def _note_rows(self, seconds: float, rows: int) -> None:
        """Learn what a row costs, from at least as many as a sweep has: each of few costs more."""
        self._row_seconds += seconds
        self._rows_timed += rows
        if self._rows_timed >= EVENTS:
            self.row_cost.learn(self._row_seconds / self._rows_timed)
            self._row_seconds, self._rows_timed = 0.0, 0

    def _scratch(self) -> JsonThreadScratch:
        scratch = self._free.pop() if self._free else JsonThreadScratch(self._matcher, self._index)
        choice = self._matcher.choice
        strategy = choice.pushing if choice.taken.push_arrays is None else choice.taken
        if scratch.strategy is not strategy:
            scratch.use_strategy(strategy)
        return scratch

    def _new_rows(self, texts: int) -> CodeRows:
        return code_rows(self._index, len(self._matcher.segment.opaque), texts)

    # Patterns

    def _add_missing(self, scratch: JsonThreadScratch) -> None:
        """Find the patterns that are true of strings that the cache lacks, and add both."""
        scan = scratch.scan
        count = int(scan.counts[MISSES])
        bounds = scan.missed_at[: count + 1].tolist()
        data = scan.missed_bytes[: bounds[-1]].tobytes()
        keys = scan.missed_key[:count]
        lengths, found = np.zeros(count, np.int64), []
        for key in np.unique(keys).tolist():
            numbers = np.flatnonzero(keys == key)
            texts = [data[bounds[n] : bounds[n + 1]] for n in numbers.tolist()]
            places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
            at, hits = self._hits(key, [text.decode() for text in places])
            place_of_text = np.fromiter(map(places.__getitem__, texts), np.int64, len(texts))
            lengths[numbers] = np.diff(at)[place_of_text]
            found.append((numbers, at[place_of_text], hits))
        starts = np.r_[0, np.cumsum(lengths)]
        all_hits = np.empty(starts[-1], np.int32)
        for numbers, at, hits in found:
            sizes = lengths[numbers]
            within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            into = np.repeat(starts[numbers], sizes) + within
            all_hits[into] = hits[np.repeat(at, sizes) + within]
        add_strings(scratch.places, starts, all_hits)

    def _hits(self, key: int, texts: list[str]) -> tuple[Int64Array, Int32Array]:
        """The hits of strings of an attribute, or, in lists, of elements."""
        in_list = key >= len(self._names)
        name = self._names[key - len(self._names) * in_list]
        coder: Coder | None
        if isinstance(name, Lowered):
            coder = self._matcher.coders[name.base].lowered
            texts = [lower_case(text) for text in texts]
        else:
            coder = self._matcher.coders[name]
        assert coder is not None
        found = self._pattern_hits(name, texts, in_list)
        if coder.lowers:
            found = _with_codes(*found, [coder.code(Family.STRING, text) for text in texts], 0)
        if coder.time_slot >= 0:
            found = _with_codes(*found, [coder.time_code(Family.STRING, text) for text in texts], 1)
        return found

    def _pattern_hits(
        self, name: str, texts: list[str], in_list: bool
    ) -> tuple[Int64Array, Int32Array]:
        patterns = self._matcher.patterns.get(name)
        if patterns is None:
            return np.zeros(len(texts) + 1, np.int64), np.empty(0, np.int32)
        if in_list:
            return patterns.hits_of_elements([Value(Family.STRING, text) for text in texts])
        return patterns.hits_of_many(texts)


def _with_codes(
    bounds: Int64Array, hits: Int32Array, codes: list[int], second: int
) -> tuple[Int64Array, Int32Array]:
    """Hits of strings, and before those of each its code, as a hit."""
    added = hit_of_code(np.array(codes, np.int32), second)
    joined = np.insert(hits, bounds[:-1], added).astype(np.int32)
    return bounds + np.arange(len(bounds)), joined
