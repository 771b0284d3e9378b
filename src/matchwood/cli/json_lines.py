"""Events that are JSON lines, matched as they are, without Python objects for them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.language import EventError
from matchwood.match.json.json_text import event_of
from matchwood.match.search.json_search import JsonSlice, shown
from matchwood.match.search.json_texts import LineBlocks, TextBlock
from matchwood.tables.formats import LostLine, line_pieces

if TYPE_CHECKING:
    from matchwood.cli.event_chunks import Rejects
    from matchwood.matcher import Matcher


class MatchedLines(NamedTuple):
    """The matches of some lines: pairs of the number of an event and the index of a rule."""

    matched: int  # events that could be matched
    first: int  # the number of the first event
    events: NDArray[np.int32]  # counted from the first
    names: dict[int, Any] | None  # the keys of these events, if a key names them
    rules: NDArray[np.int32]
    ids: Any  # of all rules, an Arrow array
    block: TextBlock  # the texts of the events

    def named_pairs(self) -> tuple[list[Any], Any]:
        """The keys of the events, and the pairs as a record batch with indices of these."""
        import pyarrow as pa

        assert self.names is not None
        numbers = np.array(list(self.names), np.int32)  # in order
        events = pa.array(np.searchsorted(numbers, self.events).astype(np.int32))
        rules = pa.DictionaryArray.from_arrays(pa.array(self.rules), self.ids)
        return list(self.names.values()), pa.record_batch([events, rules], ["event", "rule_id"])


class EventKeys:
    """The key that names each event. Of most lines it is read only if a rule is true of them."""

    def __init__(self, key: str) -> None:
        from matchwood.language import attr
        from matchwood.matcher import Matcher

        self._key = key
        self._reason = f"no {key!r} to name the event by"
        # Finds the lines without a key, and some others whose key is no single value.
        self._search = Matcher({0: attr(key).is_null()}).store.settled(1).json_search(None, None)
        self._without: dict[int, set[int]] = {}  # of blocks in progress, by their first event

    @staticmethod
    def can_be(key: str) -> bool:
        """Whether a key is found by its name: "a.b" as an attribute may also be b inside a."""
        return bool(key) and key != "*" and "." not in key

    def watched(self, blocks: Iterator[TextBlock]) -> Iterator[TextBlock]:
        """The same blocks, after the lines without a key have been found in each."""
        for block in blocks:
            unsure: set[int] = set()
            for piece in self._search.slices(iter([block])):
                unsure.update(piece.bad)
                for events, _ in piece.pairs:
                    unsure.update(events.tolist())
            self._without[block.first] = {n for n in unsure if self._is_missing(block, n)}
            yield block

    def problems(self, piece: JsonSlice) -> dict[int, str]:
        """The lines of a slice that have no key, and why they are rejected."""
        known = self._without[piece.block.first]
        if piece.end == len(piece.block.texts):
            del self._without[piece.block.first]
        return {n: self._reason for n in known if piece.first <= n < piece.end}

    def of(self, block: TextBlock, number: int) -> Any:
        """The key of an event."""
        return event_of(block.text(number)).get(self._key)

    def _is_missing(self, block: TextBlock, number: int) -> bool:
        try:
            return self.of(block, number) is None
        except EventError:  # which is a reason of its own
            return False


def matched_lines(
    matcher: Matcher,
    path: str,
    keys: EventKeys | None,
    rejects: Rejects,
    *,
    tags: Any,
    limit: int | None,
    threads: int,
) -> Iterator[MatchedLines]:
    """The matches of all lines of a file, slice by slice; bad lines are rejected."""
    blocks = _blocks(path, rejects)
    if keys is not None:
        blocks = keys.watched(blocks)
    for ids, piece in _slices(matcher, blocks, tags, limit, threads):
        bad = {number: str(error) for number, error in piece.bad.items()}
        without = {} if keys is None else keys.problems(piece)
        bad.update(without)
        for number, reason in sorted(bad.items()):
            rejects.add(int(piece.block.lines[number]), reason, shown(piece.block, number))
        none = np.empty(0, np.int32)
        pairs = list(piece.pairs)
        events = np.concatenate([none, *(events for events, _ in pairs)])
        rules = np.concatenate([none, *(rules for _, rules in pairs)])
        names = None
        if keys is not None:
            named = ~np.isin(events, list(without))
            events, rules = events[named], rules[named]
            names = {n: keys.of(piece.block, n) for n in np.unique(events).tolist()}
        yield MatchedLines(
            piece.end - piece.first - len(bad),
            piece.block.first,
            events,
            names,
            rules,
            ids,
            piece.block,
        )


def _slices(
    matcher: Matcher, blocks: Iterator[TextBlock], tags: Any, limit: int | None, threads: int
) -> Iterator[tuple[Any, JsonSlice]]:
    """The matches of all blocks, slice by slice, each with the ids of the rules.

    Few rules are evaluated while kernels are being compiled, and built between two blocks once
    kernels are there.
    """
    store = matcher.store
    admit = None if store.enforced is None else store.admit
    lines = 0
    for block in blocks:
        lines += len(block.texts)
        snapshot = store.settled(lines)
        search = snapshot.json_search(tags, limit, admit)
        ids = search.ids().values
        if not snapshot.pending:
            for piece in search.slices(chain([block], blocks), threads):
                yield ids, piece
            return
        for piece in search.slices(iter([block])):
            yield ids, piece


def _blocks(path: str, rejects: Rejects) -> Iterator[TextBlock]:
    lines = LineBlocks()
    for piece in line_pieces(path):
        if isinstance(piece, LostLine):
            rejects.add(lines.line, piece.reason, piece.text)
            lines.pass_over()
        else:
            yield from lines.blocks(piece)
