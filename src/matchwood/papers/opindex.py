"""OpIndex: subscriptions by their rarest attribute, their predicates by attribute and operator.

Zhang, Chan and Tan, *An efficient publish/subscribe index for e-commerce databases*, VLDB 2014. The
first level has subscriptions by pivot, the attribute of theirs that fewest others have: an event
looks only under the attributes that it has itself. Below each pivot are the predicates of its
subscriptions, by attribute and operator, `>=`, `<=` and `=`, each list in segments by value. True
predicates are counted; a subscription has matched when all of its predicates were. A range is two
predicates.
"""

from __future__ import annotations

import numpy as np

from matchwood.compiled import compiled, inlined, lean
from matchwood.papers.boxes import Boxed, Boxes
from matchwood.papers.conjunctive import BITS, FIRST, LAST, MISSING, Ints
from matchwood.papers.protocol import Rules, Unsupported, Work
from matchwood.papers.roster import roomy
from matchwood.papers.runs import Runs

SEGMENTS = 128  # of a list
_GE, _LE, _EQ = range(3)
_MOST = 255  # predicates of a rule: counts are bytes


class OpIndex(Boxed):
    """Boxes by pivot, and their predicates by attribute and operator.

    >>> index = OpIndex({"adults": "age >= 18", "cheap": "price < 10 and age > 18"})
    >>> index.match({"age": 18, "price": 5}), index.match({"age": 19, "price": 5})
    (['adults'], ['adults', 'cheap'])
    >>> index.match({"price": 5}), index.work.predicates
    ([], 1)
    """

    name = "OpIndex"
    paper = "Zhang, Chan, Tan 2014"

    def __init__(self, rules: Rules = (), segments: int = SEGMENTS) -> None:
        self.segments = segments
        super().__init__(rules)

    def index(self, given: Boxes) -> None:
        axes = len(self._axes)
        self._often = np.bincount(given.axis, minlength=axes)
        self._pivot = _pivots(given.start, given.axis, self._often)
        self._pivoted = np.bincount(self._pivot[self._pivot >= 0], minlength=axes)
        self._lists = np.full((axes, axes, 3), -1, np.int32)  # by pivot, attribute and operator
        box = np.repeat(np.arange(len(given.rule), dtype=np.int32), np.diff(given.start))
        entry, op, key, item = _predicates(given.axis, given.low, given.high, box)
        place = (self._pivot[item], given.axis[entry], op)
        known = np.zeros(self._lists.shape, bool)
        known[place] = True
        self._lists[known] = np.arange(known.sum(), dtype=np.int32)
        self._count = int(known.sum())
        run = self._lists[place] * self.segments + _segment(key, self.segments)
        self._runs = Runs(self._count * self.segments, ordered=True)
        self._runs.fill(run, key, item)
        need = np.bincount(item, minlength=len(given.rule))
        _check(int(need.max(initial=0)))
        self._need = need.astype(np.uint8)
        self._scratch()

    def _scratch(self) -> None:
        self._counts = np.empty_like(self._need)
        self._out = np.empty(len(self._need), np.int32)

    def insert(self, box: int, axis: Ints, low: Ints, high: Ints) -> None:
        axes = len(self._axes)
        more = axes - len(self._lists)
        if more:
            self._lists = np.pad(self._lists, ((0, more), (0, more), (0, 0)), constant_values=-1)
            self._often = np.r_[self._often, np.zeros(more, np.int64)]
            self._pivoted = np.r_[self._pivoted, np.zeros(more, np.int64)]
        pivot = int(axis[np.argmin(self._often[axis])])
        entry, op, key, _ = _predicates(axis, low, high, axis)
        _check(len(entry))
        self._often[axis] += 1
        self._pivoted[pivot] += 1
        self._pivot = roomy(self._pivot, box + 1, -1)
        self._pivot[box] = pivot
        self._need = roomy(self._need, box + 1)
        self._need[box] = len(entry)
        if len(self._need) > len(self._counts):
            self._scratch()
        for at, operator, end in zip(entry.tolist(), op.tolist(), key.tolist(), strict=True):
            place = (pivot, axis[at], operator)
            if self._lists[place] < 0:
                self._lists[place] = self._count
                self._count += 1
                self._runs.reserve(self._count * self.segments)
            self._runs.insert(self._run(place, end), end, box)

    def _run(self, place: tuple[int, ...], key: int) -> int:
        return int(self._lists[place]) * self.segments + (key * self.segments >> BITS)

    def delete(self, box: int, axis: Ints, low: Ints, high: Ints) -> None:
        pivot = int(self._pivot[box])
        entry, op, key, _ = _predicates(axis, low, high, axis)
        for at, operator, end in zip(entry.tolist(), op.tolist(), key.tolist(), strict=True):
            self._runs.delete(self._run((pivot, axis[at], operator), end), end, box)
        self._often[axis] -= 1
        self._pivoted[pivot] -= 1
        self._pivot[box], self._need[box] = -1, 0

    def find(self, codes: Ints) -> Ints:
        found, entries = _count(
            codes, self._lists, self._pivoted, self._runs.at, self._runs.size, self._runs.keys,
            self._runs.items, self._need, self._counts, self._out, self.segments,
        )  # fmt: skip
        self.work = Work(entries, entries, 0)
        return self._out[:found]

    @property
    def index_bytes(self) -> int:
        """Of lists and where they are, pivots, and how many predicates each box has."""
        return self._runs.bytes + self._lists.nbytes + 5 * self._room


def _check(predicates: int) -> None:
    if predicates > _MOST:
        raise Unsupported(f"a rule has {predicates} predicates, expected at most {_MOST}")


def _segment(key: Ints, segments: int) -> Ints:
    found: Ints = (key.astype(np.int64) * segments >> BITS).astype(np.int32)
    return found


@compiled
def _pivots(start, axis, often):
    """The rarest axis of every box; -1 of one that has none."""
    pivot = np.full(len(start) - 1, -1, np.int32)
    for box in range(len(pivot)):
        for i in range(start[box], start[box + 1]):
            if pivot[box] < 0 or often[axis[i]] < often[pivot[box]]:
                pivot[box] = axis[i]
    return pivot


@compiled
def _predicates(axis, low, high, box):
    """Intervals as predicates: the interval, operator, value and box of each. An interval that
    asks for nothing but the attribute is `>=` the first code."""
    entry = np.empty(2 * len(axis), np.int64)
    op = np.empty(2 * len(axis), np.int32)
    key = np.empty(2 * len(axis), np.int32)
    item = np.empty(2 * len(axis), np.int32)
    top = 0
    for i in range(len(axis)):
        if low[i] == high[i]:
            entry[top], op[top], key[top], item[top] = i, _EQ, low[i], box[i]
            top += 1
            continue
        if low[i] != FIRST or high[i] == LAST:
            entry[top], op[top], key[top], item[top] = i, _GE, low[i], box[i]
            top += 1
        if high[i] != LAST:
            entry[top], op[top], key[top], item[top] = i, _LE, high[i], box[i]
            top += 1
    return entry[:top].copy(), op[:top].copy(), key[:top].copy(), item[:top].copy()


@inlined
def _tally(items, begin, end, counts):
    for i in range(begin, end):
        counts[items[i]] += 1


@inlined
def _first(keys, begin, end, code):
    """The first place whose key is not below a code."""
    while begin < end:
        middle = (begin + end) >> 1
        if keys[middle] < code:
            begin = middle + 1
        else:
            end = middle
    return begin


@lean
def _count(codes, lists, pivoted, at, size, keys, items, need, counts, out, segments):
    """The boxes all of whose predicates were counted, out[:first of what is returned]; also the
    predicates that are true."""
    for i in range(len(counts)):
        counts[i] = 0
    entries = np.int64(0)
    for pivot in range(len(pivoted)):
        if pivoted[pivot] == 0 or codes[pivot] == MISSING:
            continue
        for axis in range(len(pivoted)):
            code = np.int64(codes[axis])
            if code == MISSING:
                continue
            segment = (code * segments) >> BITS
            number = np.int64(lists[pivot, axis, _GE])
            if number >= 0:
                for run in range(number * segments, number * segments + segment):
                    entries += size[run]
                    _tally(items, at[run], at[run] + size[run], counts)
                run = number * segments + segment
                middle = _first(keys, at[run], at[run] + size[run], code + 1)
                entries += middle - at[run]
                _tally(items, at[run], middle, counts)
            number = np.int64(lists[pivot, axis, _LE])
            if number >= 0:
                run = number * segments + segment
                middle = _first(keys, at[run], at[run] + size[run], code)
                entries += at[run] + size[run] - middle
                _tally(items, middle, at[run] + size[run], counts)
                for run in range(number * segments + segment + 1, (number + 1) * segments):
                    entries += size[run]
                    _tally(items, at[run], at[run] + size[run], counts)
            number = np.int64(lists[pivot, axis, _EQ])
            if number >= 0:
                run = number * segments + segment
                begin = _first(keys, at[run], at[run] + size[run], code)
                end = _first(keys, begin, at[run] + size[run], code + 1)
                entries += end - begin
                _tally(items, begin, end, counts)
    top = 0
    for box in range(len(counts)):
        out[top] = box
        top += (counts[box] == need[box]) & (need[box] > 0)
    return top, entries
