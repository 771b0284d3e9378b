"""Rules that call operators: which of their clauses an event leaves open.

A segment finds the rules that are true without a call. This module finds out whether a call could
make one of the others true. The conditions of their clauses contain no calls, so they are indexed
as the rules of a second segment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.segment import Segment, build
from matchwood.kernels.array_types import Int32Array
from matchwood.language import parse
from matchwood.language.evaluation import Hierarchies, evaluate
from matchwood.language.events import Event
from matchwood.language.named_lists import NamedLists
from matchwood.language.tree import Node
from matchwood.match.batch.batch_matcher import BatchMatcher
from matchwood.match.event.event_matcher import ALL, SegmentMatcher
from matchwood.match.parts.context import Context
from matchwood.operators.clauses import ClauseTable
from matchwood.operators.open_clauses import ClauseSource
from matchwood.operators.residue import residue

# By ordinal, 1 for a rule that is reported; if it is empty, all rules are.
Keep = NDArray[np.uint8]
_numbers = count(-1, -1)  # below 0, as the numbers of parts are above 0


class OperatorRules:
    """The rules of a segment that call operators."""

    def __init__(
        self,
        segment: Segment,
        rules: list[Any],
        name: Callable[[int], Any],
        context: Context,
    ) -> None:
        rests = [residue(parse(rule)) for rule in rules]
        self.table = ClauseTable(zip(segment.costly.tolist(), rests, strict=True))
        # Whether an event can make any of them true without a call.
        self.some_need_no_call = any(rest.lower is not None for rest in rests)
        self.source = ClauseSource(self.table, name)
        built = build(self.table.conditions)
        self._condition = built.order.astype(np.int32)
        self.matcher = SegmentMatcher(built.segment, {}, *context[1:])
        self.batch = BatchMatcher(self.matcher)
        self.number = next(_numbers)  # columns are encoded once for each number
        self.is_one = np.zeros(segment.rules, np.bool_)  # by ordinal of the segment
        self.is_one[segment.costly] = True

    def open_clauses(self, seen: Event, true_rules: Int32Array, keep: Keep) -> Int32Array:
        """The clauses that an event leaves open, without those of rules that are true already."""
        conditions, _ = self.matcher.match(seen, ALL)
        return self._open(conditions, true_rules, keep)

    def open_by_event(
        self,
        codes: Any,
        true_rules: dict[int, list[Int32Array]],
        keep: Keep,
    ) -> Iterator[tuple[int, Int32Array]]:
        """(event, clauses) for each event of a batch that leaves any open."""
        true_conditions: dict[int, list[Int32Array]] = {}
        for events, conditions in self.batch.pairs(codes, ALL):
            order = np.argsort(events, kind="stable")
            numbers, first = np.unique(events[order], return_index=True)
            for event, rows in zip(numbers.tolist(), np.split(order, first[1:]), strict=False):
                true_conditions.setdefault(event, []).append(conditions[rows])
        every = len(self.table.always) > 0
        for event in range(codes.events) if every else sorted(true_conditions):
            none = np.empty(0, np.int32)
            conditions = np.concatenate([none, *true_conditions.get(event, ())])
            clauses = self._open(
                conditions, np.concatenate([none, *true_rules.get(event, ())]), keep
            )
            if len(clauses):
                yield event, clauses

    def _open(self, conditions: Int32Array, true_rules: Int32Array, keep: Keep) -> Int32Array:
        clauses = self.table.clauses_when(self._condition[conditions])
        if len(keep):
            clauses = clauses[keep[self.table.rule[clauses]] != 0]
        if len(true_rules):
            clauses = clauses[~np.isin(self.table.rule[clauses], true_rules)]
        return clauses


class PendingOperatorRule(NamedTuple):
    """What decides a rule that calls operators and is in no segment yet."""

    source: ClauseSource
    lower: Node | None  # the rule is true wherever this is, without a call

    @classmethod
    def of(cls, tree: Node, rule_id: Any) -> PendingOperatorRule:
        rest = residue(tree)
        return cls(ClauseSource(ClauseTable([(0, rest)]), lambda _: rule_id), rest.lower)

    def open_clauses(
        self, seen: Event, schema: Hierarchies | None, lists: NamedLists
    ) -> Int32Array | None:
        """The clauses that an event leaves open; None if the rule is true without a call."""
        if self.lower is not None and _is_true(self.lower, seen, schema, lists):
            return None
        table = self.source.table
        true = [
            number
            for number, condition in enumerate(table.conditions)
            if _is_true(condition, seen, schema, lists)
        ]
        return table.clauses_when(np.array(true, np.int32))


def _is_true(tree: Node, seen: Event, schema: Hierarchies | None, lists: NamedLists) -> bool:
    return evaluate(tree, seen, schema=schema, lists=lists) is True
