"""Matches as runs: of each rule that has any, its events, in as few bytes as that takes.

rules    the rules, each once
counts   of each how many events it has
words    the runs, one after the other: as many words of 16 bits as a rule has events, each the
         number of an event, in ascending order; or, where that would be RUN_WORDS words or more,
         RUN_WORDS words with a bit for each event, the lowest bit of the first one for event 0
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.kernels.masks import EVENTS, RUN_WORDS
from matchwood.match.batch.pairs import Pairs


class MatchRuns(NamedTuple):
    """Matches of at most `EVENTS` events."""

    rules: Int32Array
    counts: NDArray[np.uint16]
    words: NDArray[np.uint16]

    @property
    def bounds(self) -> Int64Array:
        """Where the words of each rule begin, and their end.

        >>> runs = runs_of_pairs([(np.array([3, 1, 3]), np.array([0, 7, 7]))])
        >>> runs.bounds.tolist(), runs.words.tolist()
        ([0, 1, 3], [3, 1, 3])
        """
        sizes = np.minimum(self.counts, RUN_WORDS)
        bounds: Int64Array = np.zeros(len(sizes) + 1, np.int64)
        np.cumsum(sizes, out=bounds[1:])
        return bounds

    def each(self) -> Iterator[tuple[int, NDArray[np.uint16]]]:
        """Each rule and its events.

        >>> runs = runs_of_pairs([(np.arange(100), np.zeros(100, np.int32))])
        >>> [(rule, events.tolist()[-1]) for rule, events in runs.each()], len(runs.words)
        ([(0, 99)], 64)
        """
        bounds, rules, counts = self.bounds.tolist(), self.rules.tolist(), self.counts.tolist()
        for number, (rule, count) in enumerate(zip(rules, counts, strict=True)):
            words = self.words[bounds[number] : bounds[number + 1]]
            yield rule, words if count < RUN_WORDS else _events_of(words)

    def pairs(self) -> tuple[NDArray[np.uint16], Int32Array]:
        """The same as pairs, in the order of rules and events."""
        events = np.empty(int(self.counts.sum(dtype=np.int64)), np.uint16)
        is_bitmap = self.counts >= RUN_WORDS
        of_words = np.repeat(is_bitmap, np.minimum(self.counts, RUN_WORDS))
        of_pairs = np.repeat(is_bitmap, self.counts)
        events[~of_pairs] = self.words[~of_words]
        events[of_pairs] = _events_of(self.words[of_words])
        return events, np.repeat(self.rules, self.counts)


def runs_of_pairs(pairs: Sequence[Pairs]) -> MatchRuns:
    """Pairs of at most `EVENTS` events, each once, as runs."""
    events = np.concatenate([np.empty(0, np.uint16), *(e.astype(np.uint16) for e, _ in pairs)])
    rules = np.concatenate([np.empty(0, np.int32), *(r.astype(np.int32) for _, r in pairs)])
    order = np.lexsort((events, rules))
    events, rules = events[order], rules[order]
    first = np.flatnonzero(np.r_[True, rules[1:] != rules[:-1]][: len(rules)])
    counts = np.diff(np.r_[first, len(rules)])
    found = MatchRuns(rules[first], counts.astype(np.uint16), np.empty(0, np.uint16))
    words = np.empty(found.bounds[-1], np.uint16)
    is_bitmap = counts >= RUN_WORDS
    of_pairs = np.repeat(is_bitmap, counts)
    of_words = np.repeat(is_bitmap, np.minimum(counts, RUN_WORDS))
    words[~of_words] = events[~of_pairs]
    bits = np.zeros((int(is_bitmap.sum()), EVENTS), np.uint8)
    bits[np.repeat(np.arange(len(bits)), counts[is_bitmap]), events[of_pairs]] = 1
    packed = np.packbits(bits, axis=1, bitorder="little").reshape(-1).view("<u2")
    words[of_words] = packed
    return found._replace(words=words)


def _events_of(words: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """The events of some bitmaps, one after the other."""
    bits = np.unpackbits(words.astype("<u2").view(np.uint8), bitorder="little")
    events: NDArray[np.uint16] = (np.flatnonzero(bits) % EVENTS).astype(np.uint16)
    return events
