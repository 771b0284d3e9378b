"""H-Tree: cells of a few attributes, one attribute after the other, and the boxes of each cell.

Qian, Cao, Zhu, Li and Wang, *H-Tree: An efficient index structure for event matching in
content-based publish/subscribe systems*, TPDS 2014. The domain of an indexed attribute is divided
into cells, and every cell leads on to the cells of the next attribute. A constraint is in the cell
of its centre; an event looks into all cells whose constraints may reach it, which the greatest
width says. A wider constraint is cut into pieces, and its box is in the cells of all of them: as
many as the product over the indexed attributes. Boxes of a cell are asked one by one.

A box that leaves an indexed attribute free is in a cell for those, where every event looks.
"""

from __future__ import annotations

import numpy as np

from matchwood.compiled import compiled, lean
from matchwood.papers.boxes import Boxed, Boxes
from matchwood.papers.conjunctive import BITS, LAST, MISSING, Ints
from matchwood.papers.protocol import Rules, Work
from matchwood.papers.roster import roomy
from matchwood.papers.rows import Rows, holds
from matchwood.papers.runs import Runs

INDEXED = 3  # attributes
CELLS = 16  # of an attribute, besides that for boxes which leave it free
PARTS = 4  # a constraint wider than a fourth of the domain is cut


class HTree(Boxed):
    """Boxes by cells of the attributes that most rules have.

    >>> tree = HTree({"adults": "age >= 18", "cheap": "price < 10 and age > 18"})
    >>> tree.match({"age": 18, "price": 5}), sorted(tree.match({"age": 19, "price": 5}))
    (['adults'], ['adults', 'cheap'])
    """

    name = "H-Tree"
    paper = "Qian et al. 2014"

    def __init__(
        self, rules: Rules = (), indexed: int = INDEXED, cells: int = CELLS, parts: int = PARTS
    ) -> None:
        self.indexed, self.cells, self.parts = indexed, cells, parts
        super().__init__(rules)

    def index(self, given: Boxes) -> None:
        """The attributes with the most constraints are indexed, and later ones while there is
        room: the boxes that are there leave those free."""
        often = np.bincount(given.axis, minlength=len(self._axes))
        self._chosen = np.argsort(-often, kind="stable")[: self.indexed].astype(np.int32)
        self._rows = Rows(given)
        self._runs = Runs((self.cells + 1) ** self.indexed, keyed=False)
        run, item = _cells(
            given.start, given.axis, given.low, given.high, self._chosen, self.cells, self.parts
        )
        self._runs.fill(run, run, item)
        self._scratch()

    def _scratch(self) -> None:
        self._seen = np.zeros(len(self._rows.at), np.uint8)
        self._out = np.empty(len(self._rows.at), np.int32)

    def insert(self, box: int, axis: Ints, low: Ints, high: Ints) -> None:
        for new in axis.tolist():
            if len(self._chosen) < self.indexed and new not in self._chosen.tolist():
                self._chosen = np.r_[self._chosen, np.int32(new)].astype(np.int32)
        self._rows.insert(box, axis, low, high)
        for run in self._of(axis, low, high):
            self._runs.insert(run, 0, box)
        if len(self._rows.at) > len(self._seen):
            self._seen = roomy(self._seen, len(self._rows.at))
            self._out = np.empty(len(self._seen), np.int32)

    def delete(self, box: int, axis: Ints, low: Ints, high: Ints) -> None:
        for run in self._of(axis, low, high):
            self._runs.delete(run, 0, box)
        self._rows.delete(box)

    def _of(self, axis: Ints, low: Ints, high: Ints) -> list[int]:
        """The cells of a box. An attribute that was indexed after it is one that it leaves free."""
        start = np.array([0, len(axis)], np.int64)
        run, _ = _cells(start, axis, low, high, self._chosen, self.cells, self.parts)
        found: list[int] = run.tolist()
        return found

    def find(self, codes: Ints) -> Ints:
        cells = _reached(codes, self._chosen, self.cells, self.parts)
        found, asked = _match(
            codes, *cells, self.cells, self._runs.at, self._runs.size, self._runs.items,
            self._rows.at, self._rows.size, self._rows.cells, self._seen, self._out,
        )  # fmt: skip
        self.work = Work(asked, asked, asked)
        return self._out[:found]

    @property
    def index_bytes(self) -> int:
        """Of cells, and of the boxes themselves."""
        return self._runs.bytes + self._rows.bytes + self._seen.nbytes


@compiled
def _cells(start, axis, low, high, chosen, cells, parts):
    """The runs of all cells that each box is in, each once, and its box. Cell 0 of an attribute is
    for boxes that leave it free."""
    widest = LAST // parts
    run = np.empty(len(start) + 64, np.int64)
    item = np.empty(len(run), np.int32)
    mine = np.zeros((len(chosen), parts + 1), np.int64)  # of one box, by indexed attribute
    many = np.empty(len(chosen), np.int64)
    top = 0
    for box in range(len(start) - 1):
        if start[box] == start[box + 1]:
            continue
        count = np.int64(1)
        for k in range(len(chosen)):
            mine[k, 0], many[k] = 0, 1
            for i in range(start[box], start[box + 1]):
                if axis[i] == chosen[k]:
                    width = np.int64(high[i]) - low[i]
                    pieces = width // widest + 1
                    many[k] = 0
                    for piece in range(pieces):
                        centre = low[i] + (2 * piece + 1) * width // (2 * pieces)
                        cell = 1 + ((centre * cells) >> BITS)
                        if many[k] == 0 or mine[k, many[k] - 1] != cell:
                            mine[k, many[k]] = cell
                            many[k] += 1
            count *= many[k]
        if top + count > len(run):
            more = 2 * len(run) + count
            more_run, more_item = np.empty(more, np.int64), np.empty(more, np.int32)
            more_run[:top], more_item[:top] = run[:top], item[:top]
            run, item = more_run, more_item
        for choice in range(count):
            rest = choice
            place = np.int64(0)
            base = np.int64(1)
            for k in range(len(chosen)):
                place += base * mine[k, rest % many[k]]
                rest //= many[k]
                base *= cells + 1
            run[top], item[top] = place, box
            top += 1
    return run[:top].copy(), item[:top].copy()


@compiled
def _reached(codes, chosen, cells, parts):
    """The first and last cell of each indexed attribute that an event looks into, beside cell 0."""
    first = np.ones(len(chosen), np.int64)
    last = np.zeros(len(chosen), np.int64)
    half = LAST // parts // 2 + 1
    for k in range(len(chosen)):
        code = np.int64(codes[chosen[k]])
        if code != MISSING:
            first[k] = 1 + ((max(code - half, 0) * cells) >> BITS)
            last[k] = 1 + min(((code + half) * cells) >> BITS, cells - 1)
    return first, last


@lean
def _match(codes, first, last, cells, at, size, items, row_at, row_size, rows, seen, out):
    """The boxes that an event is in, out[:first of what is returned]; also how often one was
    asked. `seen` is left at zero."""
    top = 0
    asked = np.int64(0)
    count = 1
    for k in range(len(first)):
        count *= last[k] - first[k] + 2
    for choice in range(count):
        rest = choice
        run = np.int64(0)
        base = np.int64(1)
        for k in range(len(first)):
            wide = last[k] - first[k] + 2
            digit = rest % wide
            rest //= wide
            if digit:
                run += base * (first[k] + digit - 1)
            base *= cells + 1
        asked += size[run]
        for i in range(at[run], at[run] + size[run]):
            box = items[i]
            if not seen[box] and holds(rows, row_at[box], row_size[box], codes):
                seen[box] = 1
                out[top] = box
                top += 1
    for i in range(top):
        seen[out[i]] = 0
    return top, asked
