"""TAMA: cells in layers, each half as wide as those above, and counts. Its answers are approximate.

Zhao and Wu, *Towards approximate event processing in a large-scale content-based network*, ICDCS
2011. The domain of every attribute is halved level by level; a constraint is kept in the fewest
cells that cover it, where cells of the lowest level that it meets in part count as covered. An
event is in one cell of each level, and counts one for every box that it finds there: those that
were counted on all of their attributes are the answer. It lacks none that is true, and names some
whose ends the event is close to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from matchwood.compiled import compiled, lean
from matchwood.language.evaluation import evaluate
from matchwood.language.events import Event
from matchwood.language.text import parse
from matchwood.papers.boxes import Boxed, Boxes
from matchwood.papers.conjunctive import BITS, LAST, MISSING, Ints
from matchwood.papers.protocol import Id, Rules, Unsupported, Work
from matchwood.papers.roster import roomy
from matchwood.papers.runs import Runs

LEVELS = 10  # of cells: the lowest has 1,024
_MOST = 255  # attributes of a rule: counts are bytes


class Tama(Boxed):
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

    def index(self, given: Boxes) -> None:
        """Lay every interval into its cells, those of an axis after each other."""
        sizes = np.diff(given.start)
        _check(int(sizes.max(initial=0)))
        self._cells = 2 << self.levels
        self._runs = Runs(len(self._axes) * self._cells, keyed=False)
        box = np.repeat(np.arange(len(given.rule), dtype=np.int32), sizes)
        run, item = _cover(given.axis, given.low, given.high, box, self.levels)
        self._runs.fill(run, run, item)
        self._need = sizes.astype(np.uint8)
        self._scratch()

    def _scratch(self) -> None:
        self._counts = np.empty_like(self._need)
        self._out = np.empty(len(self._need), np.int32)

    def insert(self, box: int, axis: Ints, low: Ints, high: Ints) -> None:
        _check(len(axis))
        self._runs.reserve(len(self._axes) * self._cells)
        for run in self._covering(axis, low, high):
            self._runs.insert(run, 0, box)
        self._need = roomy(self._need, box + 1)
        self._need[box] = len(axis)
        if len(self._need) > len(self._counts):
            self._scratch()

    def delete(self, box: int, axis: Ints, low: Ints, high: Ints) -> None:
        for run in self._covering(axis, low, high):
            self._runs.delete(run, 0, box)
        self._need[box] = 0

    def _covering(self, axis: Ints, low: Ints, high: Ints) -> list[int]:
        run, _ = _cover(axis, low, high, axis, self.levels)
        found: list[int] = run.tolist()
        return found

    def find(self, codes: Ints) -> Ints:
        found, entries = _count(
            codes, self._runs.at, self._runs.size, self._runs.items, self._need, self._counts,
            self._out, self.levels,
        )  # fmt: skip
        self.work = Work(entries, entries, 0)
        return self._out[:found]

    def false_positives(self, event: Mapping[str, object]) -> list[Id]:
        """The rules that `match` names though they are not true."""
        seen = Event(event)
        rules = ((rule_id, self._rules[rule_id]) for rule_id in self.match(event))
        return [rule_id for rule_id, rule in rules if evaluate(parse(rule), seen) is not True]

    @property
    def index_bytes(self) -> int:
        """Of cells, and how many attributes each box has."""
        return self._runs.bytes + self._room


def _check(attributes: int) -> None:
    if attributes > _MOST:
        raise Unsupported(f"a rule has {attributes} attributes, expected at most {_MOST}")


@compiled
def _cover(axis, low, high, box, levels):
    """The run of every cell that an interval is kept in, and its box.

    Cells of an axis are numbered as a heap: 1 is the whole domain, 2n and 2n + 1 are halves of n.
    """
    room = np.int64(len(axis)) * 4 + 64
    run = np.empty(room, np.int64)
    item = np.empty(room, np.int32)
    top = 0
    for i in range(len(axis)):
        if top + 2 * levels + 2 > room:
            room = 2 * room
            more_run, more_item = np.empty(room, np.int64), np.empty(room, np.int32)
            more_run[:top], more_item[:top] = run[:top], item[:top]
            run, item = more_run, more_item
        first = np.int64(axis[i]) * (2 << levels)
        left = (1 << levels) + (np.int64(low[i]) >> (BITS - levels))
        right = (1 << levels) + (min(np.int64(high[i]), LAST - 1) >> (BITS - levels)) + 1
        while left < right:
            if left & 1:
                run[top], item[top] = first + left, box[i]
                top += 1
                left += 1
            if right & 1:
                right -= 1
                run[top], item[top] = first + right, box[i]
                top += 1
            left >>= 1
            right >>= 1
    return run[:top].copy(), item[:top].copy()


@lean
def _count(codes, at, size, items, need, counts, out, levels):
    """The boxes that were counted on all their axes, out[:first of what is returned]; also the
    entries that were met. An interval has one cell at most above any code."""
    for i in range(len(counts)):
        counts[i] = 0
    entries = np.int64(0)
    for axis in range(len(codes)):
        if codes[axis] == MISSING:
            continue
        first = np.int64(axis) * (2 << levels)
        cell = (1 << levels) + (np.int64(codes[axis]) >> (BITS - levels))
        while cell > 0:
            run = first + cell
            entries += size[run]
            for i in range(at[run], at[run] + size[run]):
                counts[items[i]] += 1
            cell >>= 1
    top = 0
    for box in range(len(counts)):
        out[top] = box
        top += (counts[box] == need[box]) & (need[box] > 0)
    return top, entries
