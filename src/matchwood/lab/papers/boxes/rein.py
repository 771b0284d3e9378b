"""REIN: a set of bits marks the boxes that an event is outside of, attribute by attribute.

Qian, Cao, Zhu and Li, *REIN: A fast event matching approach for content-based publish/subscribe
systems*, INFOCOM 2014. Every attribute has two lists of buckets, of low and of high ends. For an
event, every bucket beyond its value is walked and the boxes in it are marked; boxes that were never
marked have matched, and a walk over all bits finds them.
"""

from __future__ import annotations

import numpy as np

from matchwood.kernels.array_types import Int32Array
from matchwood.lab.papers.boxes import rein_kernels as kernels
from matchwood.lab.papers.boxes.slots import Slots
from matchwood.lab.papers.shared.box_algorithm import BoxAlgorithm, BoxArrays
from matchwood.lab.papers.shared.protocol import Rules, Work

# Buckets per list.
BUCKETS = 1000


class Rein(BoxAlgorithm):
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

    def index(self, boxes: BoxArrays) -> None:
        self._slots = Slots(boxes, len(self._axes), self.buckets, ordered=False)
        self._scratch()

    def _scratch(self) -> None:
        self._alive = np.empty_like(self._slots.live)
        self._out = np.empty(64 * len(self._alive), np.int32)

    def insert(self, box: int, axis: Int32Array, low: Int32Array, high: Int32Array) -> None:
        self._slots.insert(box, axis, low, high, len(self._axes))
        if len(self._slots.live) > len(self._alive):
            self._scratch()

    def delete(self, box: int, axis: Int32Array, low: Int32Array, high: Int32Array) -> None:
        self._slots.delete(box, axis, low, high)

    def find(self, codes: Int32Array) -> Int32Array:
        runs = self._slots.runs
        count, entries = kernels.match(
            codes, runs.at, runs.size, runs.keys, runs.items, self._slots.live, self._alive,
            self._out, self.buckets,
        )  # fmt: skip
        self.work = Work(entries, entries, 0)
        return self._out[:count]

    @property
    def index_bytes(self) -> int:
        """Bytes of the buckets, and of the bits of live boxes."""
        return self._slots.bytes
