"""BE-Tree: space cut by attributes and by halves of their domains, and leaves of few boxes.

Sadoghi and Jacobsen, *Analysis and optimization for Boolean expression indexing*, TODS 2013. A
node holds boxes in a leaf and, for attributes that many of them had, directories: of an attribute,
one node for its whole domain, then for halves of halves. A box goes down the directory of its best
attribute into the smallest part of the domain that encloses its interval. A leaf that overflows is
cut in two ways, first by the halves of its own part, then by the attribute that most of its boxes
have and that was not used above; if neither helps, its capacity doubles. An event follows, from
every node, the directories of the attributes that it has, and in each the parts that hold its
value; it tests all boxes of all leaves on the way.

The best attribute here is the one with the most boxes. Nodes stay when they have become empty.
"""

from __future__ import annotations

import numpy as np

from matchwood.kernels.array_types import Int32Array
from matchwood.lab.papers.boxes import be_tree_kernels as kernels
from matchwood.lab.papers.boxes.be_tree_kernels import (
    BELOW,
    COLUMNS,
    ROOM,
    SIZE,
)
from matchwood.lab.papers.boxes.box_rows import BoxRows
from matchwood.lab.papers.shared.box_algorithm import BoxAlgorithm, BoxArrays
from matchwood.lab.papers.shared.protocol import Rules, Work
from matchwood.lab.papers.shared.rule_numbers import roomy

# Boxes of a leaf before it is split.
CAPACITY = 32


class BeTree(BoxAlgorithm):
    """Boxes in a tree of attributes and halved domains.

    >>> tree = BeTree({"adults": "age >= 18", "cheap": "price < 10 and age > 18"})
    >>> tree.match({"age": 18, "price": 5}), sorted(tree.match({"age": 19, "price": 5}))
    (['adults'], ['adults', 'cheap'])
    """

    name = "BE-Tree"
    paper = "Sadoghi, Jacobsen 2013"

    def __init__(self, rules: Rules = (), capacity: int = CAPACITY) -> None:
        self.capacity = capacity
        super().__init__(rules)

    def index(self, boxes: BoxArrays) -> None:
        """Insert one box after the other: the tree depends on their order."""
        self._rows = BoxRows(boxes)
        count = len(boxes.rule)
        self._tree = np.full((1, COLUMNS), -1, np.int64)
        self._tree[0, [SIZE, ROOM, BELOW]] = 0, self.capacity, 0
        self._nodes = 1
        self._following = np.full(count, -1, np.int32)  # in the leaf of a box
        self._node_of = np.full(count, -1, np.int32)
        self._out = np.empty(count, np.int32)
        self._take(np.flatnonzero(np.diff(boxes.start) > 0).astype(np.int32))

    def _take(self, boxes: Int32Array) -> None:
        """Insert boxes; the tree gets room for all nodes that splits may make."""
        done = 0
        axes = len(self._axes)
        spare = 200 * (axes + 1)
        scratch = np.zeros(axes, np.int64)
        while done < len(boxes):
            self._tree = roomy(self._tree, self._nodes + 2 * spare + len(boxes) // 8, -1)
            todo = np.empty(len(self._tree), np.int32)
            done, self._nodes = kernels.insert(
                boxes, done, self._tree, self._nodes, spare, self.capacity, self._following,
                self._node_of, self._rows.at, self._rows.size, self._rows.cells, scratch, todo,
            )  # fmt: skip

    def insert(self, box: int, axis: Int32Array, low: Int32Array, high: Int32Array) -> None:
        self._rows.insert(box, axis, low, high)
        self._following = roomy(self._following, box + 1, -1)
        self._node_of = roomy(self._node_of, box + 1, -1)
        if len(self._following) > len(self._out):
            self._out = np.empty(len(self._following), np.int32)
        self._take(np.array([box], np.int32))

    def delete(self, box: int, axis: Int32Array, low: Int32Array, high: Int32Array) -> None:
        kernels.delete(self._tree, self._following, self._node_of, box)
        self._rows.delete(box)

    def find(self, codes: Int32Array) -> Int32Array:
        todo = np.empty(self._nodes, np.int32)
        count, nodes, asked = kernels.match(
            codes, self._tree, self._following, self._rows.at, self._rows.size, self._rows.cells,
            todo, self._out,
        )  # fmt: skip
        self.work = Work(asked, nodes, asked)
        return self._out[:count]

    @property
    def index_bytes(self) -> int:
        """Bytes of nodes, leaves and the boxes themselves."""
        return self._nodes * 8 * COLUMNS + self._rows.bytes + 8 * self._room
