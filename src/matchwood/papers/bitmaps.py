"""Bitmaps of boxes by cell: not published, but what the others leave to be tried.

Every attribute has a few cells, and every cell a set of bits: the boxes that an event in it may be
in, those that leave the attribute free among them. One set more is for events that lack the
attribute. An event takes one set of each attribute; what is in all of them is asked one by one.

TAMA's cells, REIN's bits and DEXIN's inclusive end come together: nothing is visited box by box
but what is almost sure to match, and a word is 64 boxes. It costs attributes × cells bits a box,
and an event reads attributes bits of each, whatever it matches: for few attributes that most rules
have, and not for many that few have.
"""

from __future__ import annotations

import numpy as np

from matchwood.compiled import compiled, lean, trailing_zeros
from matchwood.papers.boxes import Boxed, Boxes
from matchwood.papers.conjunctive import BITS, MISSING, Ints
from matchwood.papers.protocol import Rules, Work
from matchwood.papers.rows import Rows, holds

CELLS = 32  # of an attribute
_BLOCK = 256  # words that are taken through all attributes together, which a cache holds


class Bitmaps(Boxed):
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

    def index(self, given: Boxes) -> None:
        self._rows = Rows(given)
        words = (len(given.rule) >> 6) + 1
        self._maps = np.zeros((len(self._axes), self.cells + 1, words), np.uint64)
        _set(self._maps, given.start, given.axis, given.low, given.high, 0)
        self._scratch()

    def _scratch(self) -> None:
        self._block = np.empty(_BLOCK, np.uint64)
        self._out = np.empty(64 * self._maps.shape[2], np.int32)

    def insert(self, box: int, axis: Ints, low: Ints, high: Ints) -> None:
        self._rows.insert(box, axis, low, high)
        axes, words = self._maps.shape[0], self._maps.shape[2]
        if len(self._axes) > axes or box >> 6 >= words:
            more = 0 if box >> 6 < words else words // 2 + 1
            grown = ((0, len(self._axes) - axes), (0, 0), (0, more))
            self._maps = np.pad(self._maps, grown)
            live = np.flatnonzero(self._rows.size).astype(np.int64)
            _free(self._maps, live[live != box], axes)
            self._scratch()
        start = np.array([0, len(axis)], np.int64)
        _set(self._maps, start, axis, low, high, box)

    def delete(self, box: int, axis: Ints, low: Ints, high: Ints) -> None:
        self._maps[:, :, box >> 6] &= ~np.uint64(1 << (box & 63))
        self._rows.delete(box)

    def find(self, codes: Ints) -> Ints:
        found, asked = _match(
            codes, self._maps, self._block, self._rows.at, self._rows.size, self._rows.cells,
            self._out,
        )  # fmt: skip
        self.work = Work(len(codes) + asked, len(codes), asked)
        return self._out[:found]

    @property
    def index_bytes(self) -> int:
        """Of bits, and of the boxes themselves."""
        return self._maps.nbytes + self._rows.bytes


@compiled
def _set(maps, start, axis, low, high, first):
    """Set the bits of boxes, whose numbers begin at `first`; one without intervals has none."""
    cells = maps.shape[1] - 1
    for number in range(len(start) - 1):
        box = first + number
        word, bit = box >> 6, np.uint64(1) << np.uint64(box & 63)
        i = start[number]
        if i == start[number + 1]:
            continue
        for a in range(len(maps)):
            if i < start[number + 1] and axis[i] == a:
                least = (np.int64(low[i]) * cells) >> BITS
                most = min((np.int64(high[i]) * cells) >> BITS, cells - 1)
                i += 1
            else:
                least, most = 0, cells
            for cell in range(least, most + 1):
                maps[a, cell, word] |= bit


@compiled
def _free(maps, boxes, axes):
    """Set the bits of boxes for all attributes from `axes` on, which they leave free."""
    for box in boxes:
        bit = np.uint64(1) << np.uint64(box & 63)
        for a in range(axes, len(maps)):
            for cell in range(maps.shape[1]):
                maps[a, cell, box >> 6] |= bit


@lean
def _match(codes, maps, block, at, size, rows, out):
    """The boxes that an event is in, out[:first of what is returned]; also how many were asked."""
    cells = maps.shape[1] - 1
    words = maps.shape[2]
    top, asked = 0, 0
    for begin in range(0, words if len(codes) else 0, len(block)):
        count = min(len(block), words - begin)
        for a in range(len(codes)):
            cell = np.int64(cells)
            if codes[a] != MISSING:
                cell = (np.int64(codes[a]) * cells) >> BITS
            if a == 0:
                for i in range(count):
                    block[i] = maps[a, cell, begin + i]
            else:
                for i in range(count):
                    block[i] &= maps[a, cell, begin + i]
        for i in range(count):
            word = block[i]
            while word:
                box = ((begin + i) << 6) + trailing_zeros(word)
                word &= word - np.uint64(1)
                asked += 1
                if holds(rows, at[box], size[box], codes):
                    out[top] = box
                    top += 1
    return top, asked
