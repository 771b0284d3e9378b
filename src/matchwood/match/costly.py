"""Rules that call operators: which clauses of them an event leaves open, by an index of its own.

A segment finds those that are true without a call. Of the others it is found out here whether a
call could make them true: the conditions of their clauses, which have no calls, are the rules of
a segment beside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.index.segment import Segment, build
from matchwood.language.evaluation import Hierarchies, evaluate
from matchwood.language.events import Event
from matchwood.language.text import parse
from matchwood.language.tree import Node
from matchwood.match.batch import BatchMatcher
from matchwood.match.single import ALL, SegmentMatcher
from matchwood.operators.clauses import ClauseTable
from matchwood.operators.deciding import Source
from matchwood.operators.residue import residue

Ints = NDArray[np.int32]
Keep = NDArray[np.uint8]
_numbers = count(-1, -1)  # those of parts are above 0


class Costly:
    """The rules of a segment that call operators."""

    def __init__(
        self,
        segment: Segment,
        rules: list[Any],
        name: Callable[[int], Any],
        schema: Hierarchies | None,
    ) -> None:
        trees = zip(segment.costly.tolist(), rules, strict=True)
        self.table = ClauseTable((ordinal, residue(parse(rule))) for ordinal, rule in trees)
        self.source = Source(self.table, name)
        built = build(self.table.conditions)
        self._given = built.order.astype(np.int32)
        self.matcher = SegmentMatcher(built.segment, {}, schema)
        self.batch = BatchMatcher(self.matcher)
        self.number = next(_numbers)  # who codes columns tells parts apart by their numbers

    def open_clauses(self, seen: Event, found: Ints, keep: Keep) -> Ints:
        """The clauses that an event leaves open; not those of rules that are found already."""
        conditions, _ = self.matcher.match(seen, ALL)
        return self._open(conditions, found, keep)

    def open_by_event(
        self, codes: Any, row: Callable[[int], Event], found: dict[int, list[Ints]], keep: Keep
    ) -> Iterator[tuple[int, Ints]]:
        """(event, clauses) for each event of a batch that leaves any open."""
        true: dict[int, list[Ints]] = {}
        for events, conditions in self.batch.pairs(codes, ALL, row):
            order = np.argsort(events, kind="stable")
            numbers, first = np.unique(events[order], return_index=True)
            for event, some in zip(numbers.tolist(), np.split(order, first[1:]), strict=False):
                true.setdefault(event, []).append(conditions[some])
        for event in range(codes.events):
            if not len(self.table.always) and event not in true:
                continue
            none = np.empty(0, np.int32)
            conditions = np.concatenate([none, *true.get(event, ())])
            clauses = self._open(conditions, np.concatenate([none, *found.get(event, ())]), keep)
            if len(clauses):
                yield event, clauses

    def _open(self, conditions: Ints, found: Ints, keep: Keep) -> Ints:
        clauses = self.table.clauses_when(self._given[conditions])
        if len(keep):
            clauses = clauses[keep[self.table.rule[clauses]] != 0]
        if len(found):
            clauses = clauses[~np.isin(self.table.rule[clauses], found)]
        return clauses


class CostlyRule(NamedTuple):
    """A rule that is in no segment yet, and calls operators."""

    source: Source
    lower: Node | None

    @classmethod
    def of(cls, tree: Node, rule_id: Any) -> CostlyRule:
        rest = residue(tree)
        return cls(Source(ClauseTable([(0, rest)]), lambda _: rule_id), rest.lower)

    def open_clauses(self, seen: Event, schema: Hierarchies | None) -> Ints | None:
        """The clauses that an event leaves open; None where the rule is true already."""
        if self.lower is not None and evaluate(self.lower, seen, schema=schema) is True:
            return None
        table = self.source.table
        true = [
            place
            for place, condition in enumerate(table.conditions)
            if evaluate(condition, seen, schema=schema) is True
        ]
        return table.clauses_when(np.array(true, np.int32))
