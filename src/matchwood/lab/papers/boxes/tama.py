"""TAMA: cells in layers, each half as wide as those above, and counts. Its answers are approximate.

Zhao and Wu, *Towards approximate event processing in a large-scale content-based network*, ICDCS
2011. The domain of every attribute is halved level by level; a constraint is kept in the fewest
cells that cover it, where cells of the lowest level that it meets in part count as covered. An
event is in one cell of each level, and counts one for every box that it finds there: those that
were counted on all of their attributes are the answer. It has all boxes that match, and some that
the event misses by little.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from matchwood.kernels.array_types import Int32Array
from matchwood.lab.papers.boxes import tama_kernels as kernels
from matchwood.lab.papers.boxes.runs import Runs
from matchwood.lab.papers.shared.box_algorithm import BoxAlgorithm, BoxArrays
from matchwood.lab.papers.shared.protocol import Id, Rules, Unsupported, Work
from matchwood.lab.papers.shared.rule_numbers import roomy
from matchwood.language import parse
from matchwood.language.evaluation import evaluate
from matchwood.language.events import Event

# Levels of cells; the lowest of ten has 1,024 cells.
LEVELS = 10
# The most attributes of a rule: counts are bytes.
_MOST = 255


class Tama(BoxAlgorithm):
    """Boxes by the cells that cover them.

    >>> tama = Tama({n: f"a between {n} and {n + 9}" for n in range(100)}, levels=4)
    >>> {5, 14} <= set(tama.match({"a": 14})), tama.false_positives({"a": 14})
    (True, [4, 15, 16, 17, 18, 19])
    """

    name = "TAMA"
    paper = "Zhao, Wu 2011"
    approximate: ClassVar[bool] = True

    def __init__(self, rules: Rules = (), levels: int = LEVELS) -> None:
        self.levels = levels
        super().__init__(rules)

    def index(self, boxes: BoxArrays) -> None:
        """Put every interval into its cells; the cells of an axis are consecutive runs."""
        sizes = np.diff(boxes.start)
        _check(int(sizes.max(initial=0)))
        self._cells = 2 << self.levels
        self._runs = Runs(len(self._axes) * self._cells, keyed=False)
        box = np.repeat(np.arange(len(boxes.rule), dtype=np.int32), sizes)
        run, item = kernels.covering_cells(boxes.axis, boxes.low, boxes.high, box, self.levels)
        self._runs.fill(run, run, item)
        self._need = sizes.astype(np.uint8)
        self._scratch()

    def _scratch(self) -> None:
        self._counts = np.empty_like(self._need)
        self._out = np.empty(len(self._need), np.int32)

    def insert(self, box: int, axis: Int32Array, low: Int32Array, high: Int32Array) -> None:
        _check(len(axis))
        self._runs.reserve(len(self._axes) * self._cells)
        for run in self._covering(axis, low, high):
            self._runs.insert(run, 0, box)
        self._need = roomy(self._need, box + 1)
        self._need[box] = len(axis)
        if len(self._need) > len(self._counts):
            self._scratch()

    def delete(self, box: int, axis: Int32Array, low: Int32Array, high: Int32Array) -> None:
        for run in self._covering(axis, low, high):
            self._runs.delete(run, 0, box)
        self._need[box] = 0

    def _covering(self, axis: Int32Array, low: Int32Array, high: Int32Array) -> list[int]:
        run, _ = kernels.covering_cells(axis, low, high, axis, self.levels)
        cells: list[int] = run.tolist()
        return cells

    def find(self, codes: Int32Array) -> Int32Array:
        matched, entries = kernels.count(
            codes, self._runs.at, self._runs.size, self._runs.items, self._need, self._counts,
            self._out, self.levels,
        )  # fmt: skip
        self.work = Work(entries, entries, 0)
        return self._out[:matched]

    def false_positives(self, event: Mapping[str, object]) -> list[Id]:
        """The rules that `match` returns although they are not true."""
        seen = Event(event)
        rules = ((rule_id, self._rules[rule_id]) for rule_id in self.match(event))
        return [rule_id for rule_id, rule in rules if evaluate(parse(rule), seen) is not True]

    @property
    def index_bytes(self) -> int:
        """Bytes of the cells, and of the number of attributes of each box."""
        return self._runs.bytes + self._room


def _check(attributes: int) -> None:
    if attributes > _MOST:
        raise Unsupported(f"a rule has {attributes} attributes, expected at most {_MOST}")
