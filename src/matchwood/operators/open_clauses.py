"""The clauses that an event leaves open, as arrays, and how far they are decided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from matchwood.kernels.array_types import Int32Array
from matchwood.kernels.array_view import ArrayView
from matchwood.language.bindings import Answer
from matchwood.language.events import Event
from matchwood.language.tree import Call
from matchwood.operators.clauses import ClauseTable
from matchwood.operators.learning import Calls
from matchwood.operators.order import clauses_over, new_state
from matchwood.operators.order_kernels import TRUE, Clauses, State, begin, distinct_calls
from matchwood.operators.report import MAX_RULES
from matchwood.operators.step_kernels import DONE, LAYOUTS, step

# States that are kept for reuse, where all clauses of a table are open again and again.
_MOST_FREE = 8


class ClauseSource(NamedTuple):
    """Where rules come from: their clauses, and their ids for reports of failures."""

    table: ClauseTable
    name: Callable[[int], Any]  # ordinal → id


class Undecided:
    """An event, its open clauses, and what operators answered."""

    def __init__(self, seen: Event, chosen: Sequence[tuple[ClauseSource, Int32Array]]) -> None:
        self.seen = seen
        self.chosen = chosen
        self.answers: dict[Call, Answer] = {}
        self._about_elements: dict[int, dict[Call, Answer]] = {}  # the event keeps its elements
        self.taken: list[tuple[Call, float]] = []  # calls that were made, with their seconds
        self.true: list[Int32Array] = []  # ordinals of true rules, by source
        self.size = sum(len(clauses) for _, clauses in chosen)

    def answers_about(self, about: Event) -> dict[Call, Answer]:
        """What operators answered about the event, or about an element of it."""
        if about is self.seen:
            return self.answers
        return self._about_elements.setdefault(id(about), {})

    def plain_clause(self) -> PlainClause | None:
        """The only open clause, if it is a single literal."""
        if len(self.chosen) != 1 or self.size != 1:
            return None
        source, clauses = self.chosen[0]
        clause = int(clauses[0])
        return PlainClause(self, source, clause) if source.table.is_plain[clause] else None


class PlainClause(NamedTuple):
    """What an event depends on if it is a single literal: there is nothing to put in order."""

    event: Undecided
    source: ClauseSource
    clause: int

    def literal(self, calls: Calls) -> int:
        """The number of the literal in `calls`."""
        table = self.source.table
        return int(table.literal_numbers(calls)[table.start[self.clause]])

    def rule(self) -> int:
        """The ordinal of the rule."""
        return int(self.source.table.rule[self.clause])

    def rules_asking(self) -> list[Any]:
        """The id of the rule, in a list."""
        return [self.source.name(self.rule())]


class _Shape(NamedTuple):
    """What is the same about some clauses for every event."""

    owners: list[tuple[ClauseSource, Int32Array]]  # clauses, without those that are whole rules
    ordinals: list[Int32Array]  # of their rules, by source
    literals: Int32Array  # numbers of the literals in `Calls`
    calls: Int32Array  # numbers of the calls in `Calls`
    clauses: Clauses
    free: list[tuple[State, ArrayView]]  # states of decided events, for reuse


def _shape_of(chosen: Sequence[tuple[ClauseSource, Int32Array]], calls: Calls) -> _Shape:
    """The shape of an event's open clauses; if they are all of one table, it is kept there."""
    if len(chosen) != 1 or len(chosen[0][1]) < len(chosen[0][0].table):
        return _new_shape(chosen, calls)
    table = chosen[0][0].table
    known = table.shape
    if known is None or known[0] is not calls:
        known = table.shape = calls, _new_shape(chosen, calls)
    shape: _Shape = known[1]
    return shape


def _new_shape(chosen: Sequence[tuple[ClauseSource, Int32Array]], calls: Calls) -> _Shape:
    starts, literals, rules, joins = [np.zeros(1, np.int32)], [], [], []
    owners: list[tuple[ClauseSource, Int32Array]] = []
    ordinals: list[Int32Array] = []
    size = first = 0
    for source, open_clauses in chosen:
        table = source.table
        clauses = open_clauses[~table.is_whole[open_clauses]] if table.whole else open_clauses
        lengths = table.start[clauses + 1] - table.start[clauses]
        starts.append((np.cumsum(lengths) + size).astype(np.int32))
        literals.append(_rows(table.start, table.literal_numbers(calls), clauses, lengths))
        owner = table.rule[clauses]
        owners.append((source, clauses))
        is_first = np.r_[np.ones(min(1, len(owner)), bool), owner[1:] != owner[:-1]]
        ordinals.append(owner[is_first])
        rules.append((np.cumsum(is_first) - 1 + first).astype(np.int32))
        first += len(ordinals[-1])
        joins.append(table.has_joins[clauses])
        size += int(lengths.sum())
    start = np.concatenate(starts)
    flat = np.concatenate([np.empty(0, np.int32), *literals])
    scratch = calls.borrow()
    local, numbers, call_of, call_numbers = distinct_calls(
        start, flat, calls.literal_call, *scratch
    )
    calls.give_back(scratch)
    over = clauses_over(
        start,
        local,
        np.concatenate([np.empty(0, np.int32), *rules]),
        np.concatenate([np.empty(0, np.uint8), *joins]),
        call_of,
        len(call_numbers),
    )
    return _Shape(owners, ordinals, numbers, call_numbers, over, [])


class Problem:
    """The clauses of an event, and how far they are decided."""

    def __init__(self, event: Undecided, calls: Calls) -> None:
        self.event = event
        shape = _shape_of(event.chosen, calls)
        self.owners, self.ordinals, self.literals, self.calls, self.clauses, self._free = shape
        chances, costs = calls.chances(self.literals), calls.costs(self.calls)
        try:
            self.state, self._view = self._free.pop()
        except IndexError:
            self.state = new_state(self.clauses, chances, costs)
            self._view = ArrayView(LAYOUTS, self.clauses, self.state)
        else:
            self.state.chance[:], self.state.cost[:] = chances, costs
            begin(self.clauses, self.state)
        self.known: list[int] = []  # numbers of the literals that calls have decided
        self.truths: list[bool] = []  # whether each of them holds

    def next(self, answered: int = DONE) -> int:
        """The number of the call to make after one was answered, or DONE or JOINS."""
        return int(step(self._view.places, answered))

    def close(self) -> None:
        """Release the state for the next event."""
        if len(self._free) < _MOST_FREE:
            self._free.append((self.state, self._view))

    def source_of(self, clause: int) -> tuple[ClauseSource, int]:
        """The source of a clause, and its number there."""
        for source, clauses in self.owners:
            if clause < len(clauses):
                return source, int(clauses[clause])
            clause -= len(clauses)
        raise IndexError(clause)

    def rules_asking(self, call: int, most: int = MAX_RULES) -> list[Any]:
        """The ids of some rules that wait for a call."""
        ids: list[Any] = []
        shape = self.clauses
        for literal in shape.call_literal[shape.call_start[call] : shape.call_start[call + 1]]:
            low, high = shape.literal_start[literal], shape.literal_start[literal + 1]
            for clause in shape.literal_clause[low:high].tolist():
                if self.state.live[clause] and len(ids) < most:
                    source, number = self.source_of(clause)
                    ids.append(source.name(int(source.table.rule[number])))
        return ids

    def true_rules(self) -> list[Int32Array]:
        """The ordinals of the rules that are true, by source."""
        by_source, first = [], 0
        for ordinals in self.ordinals:
            decided = self.state.decided[first : first + len(ordinals)]
            by_source.append(ordinals[decided == TRUE])
            first += len(ordinals)
        return by_source


def _rows(
    start: Int32Array, items: Int32Array, rows: Int32Array, lengths: Int32Array
) -> Int32Array:
    """Some rows of a list of lists, one after the other."""
    if len(rows) == len(start) - 1:
        return items
    before = np.cumsum(lengths) - lengths
    positions = np.arange(int(lengths.sum())) + np.repeat(start[rows] - before, lengths)
    selected: Int32Array = items[positions]
    return selected
