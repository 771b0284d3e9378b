"""REIN: what an event is outside of, attribute by attribute, in a set of bits.

Qian, Cao, Zhu and Li, *REIN: A fast event matching approach for content-based publish/subscribe
systems*, INFOCOM 2014. Every attribute has two lists of buckets, of low and of high ends. For an
event, every bucket beyond its value is walked and the boxes in it are marked; what was never marked
has matched, which a walk over all bits tells.
"""

from __future__ import annotations

import numpy as np

from matchwood.compiled import lean, trailing_zeros
from matchwood.papers.boxes import Boxed, Boxes
from matchwood.papers.conjunctive import Ints
from matchwood.papers.protocol import Rules, Work
from matchwood.papers.slots import Slots, exclude

BUCKETS = 1000


class Rein(Boxed):
    """Boxes by their ends, in buckets.

    >>> rein = Rein({"adults": "age >= 18", "cheap": "price < 10 and age > 18"})
    >>> rein.match({"age": 18, "price": 5}), rein.match({"age": 19, "price": 5})
    (['adults'], ['adults', 'cheap'])
    """

    name = "REIN"
    paper = "Qian et al. 2014"

    def __init__(self, rules: Rules = (), buckets: int = BUCKETS) -> None:
        self.buckets = buckets
        super().__init__(rules)

    def index(self, given: Boxes) -> None:
        self._slots = Slots(given, len(self._axes), self.buckets, ordered=False)
        self._scratch()

    def _scratch(self) -> None:
        self._alive = np.empty_like(self._slots.live)
        self._out = np.empty(64 * len(self._alive), np.int32)

    def insert(self, box: int, axis: Ints, low: Ints, high: Ints) -> None:
        self._slots.insert(box, axis, low, high, len(self._axes))
        if len(self._slots.live) > len(self._alive):
            self._scratch()

    def delete(self, box: int, axis: Ints, low: Ints, high: Ints) -> None:
        self._slots.delete(box, axis, low, high)

    def find(self, codes: Ints) -> Ints:
        runs = self._slots.runs
        found, entries = _match(
            codes, runs.at, runs.size, runs.keys, runs.items, self._slots.live, self._alive,
            self._out, self.buckets,
        )  # fmt: skip
        self.work = Work(entries, entries, 0)
        return self._out[:found]

    @property
    def index_bytes(self) -> int:
        """Of buckets, and which boxes there are."""
        return self._slots.bytes


@lean
def _match(codes, at, size, keys, items, live, alive, out, slots):
    """The boxes that are left, out[:first of what is returned]; also the ends that were met."""
    for i in range(len(live)):
        alive[i] = live[i]
    entries = np.int64(0)
    for axis in range(len(codes)):
        entries += exclude(alive, at, size, keys, items, axis, codes[axis], slots, False)
    top = 0
    for i in range(len(alive)):
        word = alive[i]
        while word:
            out[top] = (i << 6) + trailing_zeros(word)
            top += 1
            word &= word - np.uint64(1)
    return top, entries
