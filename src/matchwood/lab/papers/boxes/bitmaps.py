"""Bitmaps of boxes by cell: not published, but combined from ideas of the others.

Every attribute has a few cells, and every cell a set of bits: the boxes that an event in it may be
in, including those that leave the attribute free. One more set is for events that lack the
attribute. An event selects one set per attribute; the boxes that are in all of them are tested one
by one.

This combines TAMA's cells, REIN's bits and the inclusive method of DEXIN: only boxes that almost
certainly match are visited one by one, and a word holds 64 boxes. It takes attributes × cells bits
per box, and an event reads one bit per attribute and box, whatever it matches: it suits few
attributes that most rules have, and not many that few rules have.
"""

from __future__ import annotations

import numpy as np

from matchwood.kernels.array_types import Int32Array
from matchwood.lab.papers.boxes import bitmaps_kernels as kernels
from matchwood.lab.papers.boxes.box_rows import BoxRows
from matchwood.lab.papers.shared.box_algorithm import BoxAlgorithm, BoxArrays
from matchwood.lab.papers.shared.protocol import Rules, Work

# Cells per attribute.
CELLS = 32
# Words that are intersected over all attributes together: they fit into the cache.
_BLOCK = 256


class Bitmaps(BoxAlgorithm):
    """Boxes by cells of all attributes, in bits.

    >>> bitmaps = Bitmaps({"adults": "age >= 18", "cheap": "price < 10 and age > 18"})
    >>> bitmaps.match({"age": 18, "price": 5}), bitmaps.match({"age": 19, "price": 5})
    (['adults'], ['adults', 'cheap'])
    """

    name = "Bitmaps"
    paper = "none: a sketch of ours"

    def __init__(self, rules: Rules = (), cells: int = CELLS) -> None:
        self.cells = cells
        super().__init__(rules)

    def index(self, boxes: BoxArrays) -> None:
        self._rows = BoxRows(boxes)
        words = (len(boxes.rule) >> 6) + 1
        self._maps = np.zeros((len(self._axes), self.cells + 1, words), np.uint64)
        kernels.set_bits(self._maps, boxes.start, boxes.axis, boxes.low, boxes.high, 0)
        self._scratch()

    def _scratch(self) -> None:
        self._block = np.empty(_BLOCK, np.uint64)
        self._out = np.empty(64 * self._maps.shape[2], np.int32)

    def insert(self, box: int, axis: Int32Array, low: Int32Array, high: Int32Array) -> None:
        self._rows.insert(box, axis, low, high)
        axes, words = self._maps.shape[0], self._maps.shape[2]
        if len(self._axes) > axes or box >> 6 >= words:
            more = 0 if box >> 6 < words else words // 2 + 1
            grown = ((0, len(self._axes) - axes), (0, 0), (0, more))
            self._maps = np.pad(self._maps, grown)
            live = np.flatnonzero(self._rows.size).astype(np.int64)
            kernels.set_free_axes(self._maps, live[live != box], axes)
            self._scratch()
        start = np.array([0, len(axis)], np.int64)
        kernels.set_bits(self._maps, start, axis, low, high, box)

    def delete(self, box: int, axis: Int32Array, low: Int32Array, high: Int32Array) -> None:
        self._maps[:, :, box >> 6] &= ~np.uint64(1 << (box & 63))
        self._rows.delete(box)

    def find(self, codes: Int32Array) -> Int32Array:
        count, asked = kernels.match(
            codes, self._maps, self._block, self._rows.at, self._rows.size, self._rows.cells,
            self._out,
        )  # fmt: skip
        self.work = Work(len(codes) + asked, len(codes), asked)
        return self._out[:count]

    @property
    def index_bytes(self) -> int:
        """Bytes of the bits, and of the boxes themselves."""
        return self._maps.nbytes + self._rows.bytes
