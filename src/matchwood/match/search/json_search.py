"""JSON texts against the parts and the pending rules of a snapshot.

A text is scanned once for each part. Where the scanner gives up, where rules need the event itself,
and where rules are pending, the text is read by `json.loads` and matched as any other event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from matchwood.kernels.masks import EVENTS
from matchwood.language.errors import EventError
from matchwood.match.batch.pairs import BUFFERED_PAIRS, Pairs
from matchwood.match.json.json_matcher import JsonMatcher
from matchwood.match.json.json_text import event_of
from matchwood.match.search.arrow_matches import (
    BatchSearch,
    MatchBatches,
    RuleIds,
    best,
    ids_of,
    match_table,
    priorities_of,
)
from matchwood.match.search.batch_search import match_slice
from matchwood.match.search.event_search import match_event
from matchwood.match.search.event_slices import row_slice
from matchwood.match.search.json_texts import TextBlock, blocks_of

# Raises an EventError if an event does not fit a schema.
Admit = Callable[[Mapping[str, object]], object]

# Texts of the first slice, and of the largest: handing on a slice has a cost of its own.
_FIRST_SLICE = 1024
_LARGEST_SLICE = 8192

# Texts of the smallest slice, however many matches they have.
_SMALLEST_SLICE = 64

# Characters of a text that is rejected that are kept.
_KEPT_CHARACTERS = 10_000


class RejectedText(NamedTuple):
    """A JSON text that cannot be read or matched: its line or row, from 1, and why."""

    line: int
    reason: str
    text: str


class JsonSlice(NamedTuple):
    """The matches of some texts: first..end of a block, which texts are bad, and pairs."""

    block: TextBlock
    first: int
    end: int
    bad: dict[int, EventError]  # by number in the block
    pairs: Iterator[Pairs]  # numbers in the block, and indices of rules


class JsonSearch(NamedTuple):
    """What many JSON texts are matched against.

    `admit` sees every event before it is matched, and `inspect` only those that the scanner gave up
    on; either raises an EventError to refuse one.
    """

    search: BatchSearch
    admit: Admit | None = None
    inspect: Admit | None = None

    def table(self, texts: Any, rejects: list[RejectedText] | None) -> Any:
        """All matches, as one Arrow table of `event`, its number, and `rule_id`.

        Texts that are bad go to `rejects`; without it, the first one raises an EventError.
        """
        return match_table(list(self.batches(texts, rejects)), self.ids())

    def ids(self) -> RuleIds:
        """The ids of all rules, by the indices in pairs."""
        return ids_of(self.search.parts, self.search.pending)

    def batches(self, texts: Any, rejects: list[RejectedText] | None) -> Iterator[Any]:
        """All matches, as Arrow record batches that are made as they are asked for."""
        made = MatchBatches(pa.array([], pa.int64()), self.ids())
        for piece in self.slices(blocks_of(texts)):
            for number, error in sorted(piece.bad.items()):
                line = int(piece.block.lines[number])
                if rejects is None:
                    raise EventError(f"line {line}: {error.reason}", error.attribute)
                rejects.append(RejectedText(line, str(error), shown(piece.block, number)))
            for numbers, rules in piece.pairs:
                events = pa.array(numbers.astype(np.int64) + piece.block.first)
                yield made.with_keys(events, rules)

    def slices(self, blocks: Iterator[TextBlock], threads: int = 1) -> Iterator[JsonSlice]:
        """The matches of all blocks, slice by slice; threads take a block each."""
        if threads <= 1:
            yield from self._slices(blocks)
            return
        with ThreadPoolExecutor(threads) as pool:
            waiting = [pool.submit(self._all, block) for block in islice(blocks, 2 * threads)]
            while waiting:
                yield from waiting.pop(0).result()
                waiting.extend(pool.submit(self._all, block) for block in islice(blocks, 1))

    def _all(self, block: TextBlock) -> list[JsonSlice]:
        return [
            piece._replace(pairs=iter(list(piece.pairs))) for piece in self._slices(iter([block]))
        ]

    def _slices(self, blocks: Iterator[TextBlock]) -> Iterator[JsonSlice]:
        search = self.search
        if search.limit is not None and search.limit < 0:
            raise ValueError(f"limit must be 0 or more, found {search.limit}")
        ids = self.ids()
        matchers = self._matchers()
        priority = None if search.limit is None else priorities_of(search.parts, search.pending)
        size = _FIRST_SLICE
        for block in blocks:
            low = 0
            while low < len(block.texts):
                piece = self._slice(block, low, min(low + size, len(block.texts)), matchers, ids)
                if priority is not None and search.limit is not None:
                    pairs = iter([best(list(piece.pairs), priority, search.limit)])
                    piece = piece._replace(pairs=pairs)
                matches = _Counted(piece.pairs)
                yield piece._replace(pairs=iter(matches))
                fit = BUFFERED_PAIRS * (piece.end - low) // max(1, matches.count)
                size = max(_SMALLEST_SLICE, min(fit, 4 * size, _LARGEST_SLICE))
                low = piece.end

    def _matchers(self) -> list[JsonMatcher] | None:
        """What scans texts for each part; None if all events must be read."""
        if self.admit is not None or self.search.pending:
            return None
        matchers = []
        for part in self.search.parts:
            if part.json is None:
                return None
            matchers.append(part.json)
        return matchers or None

    def _slice(
        self,
        block: TextBlock,
        low: int,
        end: int,
        matchers: list[JsonMatcher] | None,
        ids: RuleIds,
    ) -> JsonSlice:
        if matchers is None:
            block.texts.left_out[low:end] = 1
            return self._with_events(block, low, end, iter(()), ids)
        rows = []
        for matcher in matchers:
            some, end = matcher.scan(block.texts, low, end)
            rows.append(some)

        def pairs() -> Iterator[Pairs]:
            parts = zip(matchers, self.search.parts, rows, ids.first_rules, strict=True)
            for matcher, part, mine, first in parts:
                keep = part.keep(self.search.tags)
                for numbers, rules in matcher.pairs(mine, block.texts, low, end, keep, part.batch):
                    yield numbers, rules + np.int32(first) if first else rules
                matcher.finished(mine)

        return self._with_events(block, low, end, pairs(), ids)

    def _with_events(
        self, block: TextBlock, low: int, end: int, pairs: Iterator[Pairs], ids: RuleIds
    ) -> JsonSlice:
        """Match the texts that the scanner left out as events that are mappings."""
        bad: dict[int, EventError] = {}
        numbers: list[int] = []
        events: list[dict[str, Any]] = []
        for offset in np.flatnonzero(block.texts.left_out[low:end]).tolist():
            try:
                event = event_of(block.text(low + offset))
                for check in (self.admit, self.inspect):
                    if check is not None:
                        check(event)
            except EventError as error:
                bad[low + offset] = error
            else:
                numbers.append(low + offset)
                events.append(event)
        if not events:
            return JsonSlice(block, low, end, bad, pairs)
        slow = self._of_events(np.array(numbers, np.int32), events, ids, bad)
        return JsonSlice(block, low, end, bad, _chained(pairs, slow))

    def _of_events(
        self,
        numbers: Any,
        events: list[dict[str, Any]],
        ids: RuleIds,
        bad: dict[int, EventError],
    ) -> list[Pairs]:
        search = self.search
        kept, good = list(range(len(events))), events
        try:
            found = self._matched(good, ids)
        except EventError:
            kept = []
            for place, event in enumerate(events):
                try:
                    match_event(search.parts, search.pending, event, search.tags, search.decider)
                except EventError as error:
                    bad[int(numbers[place])] = error
                else:
                    kept.append(place)
            found = self._matched([events[place] for place in kept], ids)
        mine = numbers[kept]
        return [(mine[local], rules) for local, rules in found]

    def _matched(self, events: list[dict[str, Any]], ids: RuleIds) -> list[Pairs]:
        search = self.search
        found: list[Pairs] = []
        for low in range(0, len(events), EVENTS):
            some = events[low : low + EVENTS]
            pairs = match_slice(
                search.parts,
                search.pending,
                ids.first_rules,
                ids.first_pending,
                row_slice(some, pa.array(np.arange(len(some))), search.decider.aliases),
                search.tags,
                search.decider,
                taking_over=search.taking_over,
            )
            found += [(numbers + np.int32(low), rules) for numbers, rules in pairs]
        return found


class _Counted:
    """Pairs, counted as they are taken."""

    def __init__(self, pairs: Iterator[Pairs]) -> None:
        self._pairs = pairs
        self.count = 0

    def __iter__(self) -> Iterator[Pairs]:
        for numbers, rules in self._pairs:
            self.count += len(numbers)
            yield numbers, rules


def _chained(first: Iterator[Pairs], second: Sequence[Pairs]) -> Iterator[Pairs]:
    yield from first
    yield from second


def shown(block: TextBlock, number: int) -> str:
    """The start of a text, as it can be shown."""
    if block.null is not None and block.null[number]:
        return ""
    return block.text(number)[:_KEPT_CHARACTERS].decode(errors="replace").rstrip("\r\n")
