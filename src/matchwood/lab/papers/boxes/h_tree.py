"""H-Tree: cells of a few attributes, one attribute after the other, and the boxes of each cell.

Qian, Cao, Zhu, Li and Wang, *H-Tree: An efficient index structure for event matching in
content-based publish/subscribe systems*, TPDS 2014. The domain of an indexed attribute is divided
into cells, and every cell leads on to the cells of the next attribute. A constraint is in the cell
of its centre; an event looks into all cells whose constraints may reach it, as the greatest width
tells. A wider constraint is cut into pieces, and its box is in the cells of all of them: as many
as the product over the indexed attributes. The boxes of a cell are tested one by one.

A box that leaves an indexed attribute free is in an extra cell, which every event visits.
"""

from __future__ import annotations

import numpy as np

from matchwood.kernels.array_types import Int32Array
from matchwood.lab.papers.boxes import h_tree_kernels as kernels
from matchwood.lab.papers.boxes.box_rows import BoxRows
from matchwood.lab.papers.boxes.runs import Runs
from matchwood.lab.papers.shared.box_algorithm import BoxAlgorithm, BoxArrays
from matchwood.lab.papers.shared.protocol import Rules, Work
from matchwood.lab.papers.shared.rule_numbers import roomy

# Attributes that are indexed.
INDEXED = 3
# Cells per attribute, besides the one for boxes that leave it free.
CELLS = 16
# A constraint that is wider than one such part of the domain is cut into pieces.
PARTS = 4


class HTree(BoxAlgorithm):
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

    def index(self, boxes: BoxArrays) -> None:
        """Index the attributes with the most constraints.

        Attributes that come later are indexed as long as there is room: the boxes that are already
        there leave them free.
        """
        often = np.bincount(boxes.axis, minlength=len(self._axes))
        self._chosen = np.argsort(-often, kind="stable")[: self.indexed].astype(np.int32)
        self._rows = BoxRows(boxes)
        self._runs = Runs((self.cells + 1) ** self.indexed, keyed=False)
        run, item = kernels.cells_of(
            boxes.start, boxes.axis, boxes.low, boxes.high, self._chosen, self.cells, self.parts
        )
        self._runs.fill(run, run, item)
        self._scratch()

    def _scratch(self) -> None:
        self._seen = np.zeros(len(self._rows.at), np.uint8)
        self._out = np.empty(len(self._rows.at), np.int32)

    def insert(self, box: int, axis: Int32Array, low: Int32Array, high: Int32Array) -> None:
        for new in axis.tolist():
            if len(self._chosen) < self.indexed and new not in self._chosen.tolist():
                self._chosen = np.r_[self._chosen, np.int32(new)].astype(np.int32)
        self._rows.insert(box, axis, low, high)
        for run in self._of(axis, low, high):
            self._runs.insert(run, 0, box)
        if len(self._rows.at) > len(self._seen):
            self._seen = roomy(self._seen, len(self._rows.at))
            self._out = np.empty(len(self._seen), np.int32)

    def delete(self, box: int, axis: Int32Array, low: Int32Array, high: Int32Array) -> None:
        for run in self._of(axis, low, high):
            self._runs.delete(run, 0, box)
        self._rows.delete(box)

    def _of(self, axis: Int32Array, low: Int32Array, high: Int32Array) -> list[int]:
        """The cells of a box. An attribute that was indexed after it is one that it leaves free."""
        start = np.array([0, len(axis)], np.int64)
        run, _ = kernels.cells_of(start, axis, low, high, self._chosen, self.cells, self.parts)
        cells: list[int] = run.tolist()
        return cells

    def find(self, codes: Int32Array) -> Int32Array:
        cells = kernels.cells_reached(codes, self._chosen, self.cells, self.parts)
        count, asked = kernels.match(
            codes, *cells, self.cells, self._runs.at, self._runs.size, self._runs.items,
            self._rows.at, self._rows.size, self._rows.cells, self._seen, self._out,
        )  # fmt: skip
        self.work = Work(asked, asked, asked)
        return self._out[:count]

    @property
    def index_bytes(self) -> int:
        """Bytes of the cells, and of the boxes themselves."""
        return self._runs.bytes + self._rows.bytes + self._seen.nbytes
