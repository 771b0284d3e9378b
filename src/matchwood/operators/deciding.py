"""Deciding rules by calls, for one event or for many; each call is made at most once per event.

`Undecided` is an event with the clauses that the index left open. `Decider` makes call after call
in the order of `order`. Many events are decided in rounds, so that operators with a batch form
answer for all of them together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from matchwood.forking import renew_in_children
from matchwood.kernels.array_types import Int32Array
from matchwood.kernels.array_view import ArrayView
from matchwood.kernels.readiness import kernels_ready
from matchwood.language.aliases import Aliases
from matchwood.language.bindings import Answer, truth_of_join
from matchwood.language.evaluation import Hierarchies, argument_values, truth_of
from matchwood.language.events import Event
from matchwood.language.named_lists import NamedLists
from matchwood.language.tree import And, Call, Node, Not, Or, walk
from matchwood.language.tree.variables import Join, canonical_call
from matchwood.operators.clauses import ClauseTable
from matchwood.operators.learning import Calls
from matchwood.operators.order import clauses_over, new_state
from matchwood.operators.order_kernels import TRUE, Clauses, State, begin, conclude, distinct_calls
from matchwood.operators.registry import CallFailure, Operator, Operators
from matchwood.operators.report import MAX_RULES, OperatorReport
from matchwood.operators.residue import calls_in, calls_of
from matchwood.operators.step_kernels import DONE, JOINS, LAYOUTS, step

# The most open clauses that the events which are decided together may have.
MOST_OPEN_CLAUSES = 4 << 20

# States that are kept for reuse, where all clauses of a table are open again and again.
MOST_FREE = 8

# Calls are numbered anew when this many times more literals are known than are in use.
SLACK = 4


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
        self.taken: list[tuple[Call, float]] = []  # calls that were made, with their seconds
        self.true: list[Int32Array] = []  # ordinals of true rules, by source
        self.size = sum(len(clauses) for _, clauses in chosen)


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


class _Problem:
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
        if len(self._free) < MOST_FREE:
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


class Decider:
    """The operators of a matcher, what is learned about their calls, and the report on them."""

    def __init__(
        self,
        operators: Operators,
        schema: Hierarchies | None,
        lists: NamedLists | None = None,
        aliases: Aliases | None = None,
    ) -> None:
        self.operators = operators
        self.schema = schema
        self.lists: NamedLists = {} if lists is None else lists
        self.aliases = aliases
        self.calls = Calls(operators)
        self.report = OperatorReport()
        self.waited = 0.0  # seconds spent on rules that are not in an index yet
        renew_in_children(self)

    def after_fork(self) -> None:
        if self.calls.was_changing():
            self.calls = Calls(self.operators)  # what was learned is learned anew

    def tidy(self, tables: Iterable[ClauseTable]) -> None:
        """Forget the calls of removed rules once there are many."""
        used = list(tables)
        if len(self.calls) > 1_000 + SLACK * sum(table.literals for table in used):
            calls = Calls(self.operators)
            for table in used:
                table.literal_numbers(calls)
            calls.learned_from(self.calls)
            self.calls = calls

    # One event

    def decide(self, event: Undecided) -> None:
        """Find out which rules are true: `event.true`."""
        if not kernels_ready():
            return self._decide_as_written(event)
        calls = self.calls
        problem = _Problem(event, calls)
        call = problem.next()
        while call != DONE:
            node = calls.calls[problem.calls[call]]
            answer = self._answer(event, node, partial(problem.rules_asking, call))
            call = self._take(problem, call, answer, calls)
        event.true = self._with_whole(problem)
        self._learn(problem, calls)

    def _answer(self, event: Undecided, node: Call, rules: Callable[[], list[Any]]) -> Answer:
        """The answer of a canonical call, which is made unless it was; `rules` gives the askers."""
        if node in event.answers:
            return event.answers[node]
        values = argument_values(node, event.seen)
        if values is None:
            event.answers[node] = None
            return None
        started = perf_counter()
        answer: Answer | CallFailure
        try:
            answer = self.operators[node.name].ask(node, values, event.seen)
        except CallFailure as failure:
            answer = failure
        self._note(event, node, answer, perf_counter() - started, rules)
        return event.answers[node]

    def _note(
        self,
        event: Undecided,
        node: Call,
        answer: Answer | CallFailure,
        seconds: float,
        rules: Callable[[], list[Any]],
    ) -> None:
        """Store an answer, how long it took, and what went wrong."""
        self.report.note(node.name, 1, seconds)
        event.taken.append((node, seconds))
        if isinstance(answer, CallFailure):
            self.report.note_failure(node.name, str(node), answer, rules())
            answer = None
        event.answers[node] = answer

    def _take(self, problem: _Problem, call: int, answer: Answer, calls: Calls) -> int:
        """Take in the answer of a call; returns the next call, or DONE."""
        shape, state, seen = problem.clauses, problem.state, problem.event.seen
        low, high = shape.call_start[call], shape.call_start[call + 1]
        for literal in shape.call_literal[low:high].tolist():
            number = int(problem.literals[literal])
            is_true = holds(calls.literals[number], answer, seen)
            state.holds[literal] = is_true
            problem.known.append(number)
            problem.truths.append(is_true)
        following = problem.next(call)
        if following != JOINS:
            return following
        for clause in state.complete[: state.counts[1]].tolist():
            source, number = problem.source_of(clause)
            ask = self.asking(problem.event, source.name(int(source.table.rule[number])))
            joins = source.table.joins[number]
            fits = all(truth_of_join(join, seen, ask) is True for join in joins)
            conclude(clause, fits, shape, state)
        return problem.next()

    def _learn(self, problem: _Problem, calls: Calls) -> None:
        """Update the estimates from a decided event; they are read when the next one begins."""
        calls.note_truths(problem.known, problem.truths)
        calls.note_costs(problem.event.taken)
        problem.close()

    def _with_whole(self, problem: _Problem) -> list[Int32Array]:
        """The rules that are true, including those that are evaluated as a whole."""
        by_source = problem.true_rules()
        event = problem.event
        for index, (source, clauses) in enumerate(event.chosen):
            table = source.table
            more = []
            for clause in clauses[table.is_whole[clauses]].tolist():
                ordinal = int(table.rule[clause])
                ask = self.asking(event, source.name(ordinal))
                if lazily(table.whole[clause], event.seen, ask, self.schema, self.lists) is True:
                    more.append(ordinal)
            if more:
                by_source[index] = np.union1d(by_source[index], np.array(more, np.int32)).astype(
                    np.int32
                )
        return by_source

    def _decide_as_written(self, event: Undecided) -> None:
        """`decide` without kernels: clause by clause, literal by literal, as they come."""
        for source, clauses in event.chosen:
            true: set[int] = set()
            for clause in clauses.tolist():
                ordinal = int(source.table.rule[clause])
                if ordinal not in true and self._clause_holds(event, source, clause):
                    true.add(ordinal)
            event.true.append(np.array(sorted(true), np.int32))

    def _clause_holds(self, event: Undecided, source: ClauseSource, clause: int) -> bool:
        table, seen = source.table, event.seen
        ask = self.asking(event, source.name(int(table.rule[clause])))
        if table.is_whole[clause]:
            return lazily(table.whole[clause], seen, ask, self.schema, self.lists) is True
        literals = table.literals_of(clause)
        return all(holds(literal, ask(calls_in(literal)[0]), seen) for literal in literals) and all(
            truth_of_join(join, seen, ask) is True for join in table.joins.get(clause, ())
        )

    def asking(self, event: Undecided, rule: Any) -> Callable[[Call], Answer]:
        """A function that answers the calls of a rule for an event, making each only once."""
        return lambda node: self._answer(event, canonical_call(node), lambda: [rule])

    # Many events

    def decide_many(self, events: Sequence[Undecided]) -> None:
        """`decide` each event, in rounds of one call per event, answered by operator."""
        if not kernels_ready():
            for event in events:
                self._decide_as_written(event)
            return
        together: list[Undecided] = []
        size = 0
        for event in events:
            together.append(event)
            size += event.size
            if size > MOST_OPEN_CLAUSES:
                self._decide_together(together)
                together, size = [], 0
        self._decide_together(together)

    def _decide_together(self, events: Sequence[Undecided]) -> None:
        calls = self.calls
        problems = [_Problem(event, calls) for event in events]
        open_ = [(problem, call) for problem in problems if (call := problem.next()) != DONE]
        while open_:
            by_operator: dict[str, list[tuple[_Problem, int]]] = {}
            for problem, call in open_:
                name = calls.calls[problem.calls[call]].name
                by_operator.setdefault(name, []).append((problem, call))
            for name, asked in by_operator.items():
                self._ask_together(self.operators[name], asked, calls)
            following = []
            for problem, call in open_:
                node = calls.calls[problem.calls[call]]
                next_call = self._take(problem, call, problem.event.answers[node], calls)
                if next_call != DONE:
                    following.append((problem, next_call))
            open_ = following
        for problem in problems:
            problem.event.true = self._with_whole(problem)
            self._learn(problem, calls)

    def _ask_together(
        self, operator: Operator, asked: Sequence[tuple[_Problem, int]], calls: Calls
    ) -> None:
        """Make those of these calls of an operator that were not made yet."""
        waiting: dict[int, list[tuple[_Problem, int, Call, list[object]]]] = {}
        for problem, call in asked:
            node = calls.calls[problem.calls[call]]
            event = problem.event
            if node in event.answers:
                continue
            values = argument_values(node, event.seen)
            if values is None:
                event.answers[node] = None
            else:
                waiting.setdefault(len(values), []).append((problem, call, node, values))
        for asked_together in waiting.values():
            problems, call_numbers, nodes, columns = zip(*asked_together, strict=True)
            started = perf_counter()
            answers = operator.ask_many(nodes, columns, [p.event.seen for p in problems])
            seconds = (perf_counter() - started) / len(asked_together)
            for problem, call_number, node, answer in zip(
                problems, call_numbers, nodes, answers, strict=True
            ):
                rules = partial(problem.rules_asking, call_number)
                self._note(problem.event, node, answer, seconds, rules)


def holds(literal: Node, answer: Answer, seen: Event) -> bool:
    """Whether a literal holds, given the answer of its call; an undefined one does not."""
    if isinstance(literal, Not):
        inner = literal.operands[0]
        if isinstance(inner, Join):
            return truth_of_join(inner, seen, lambda _: answer) is False
        return answer == ()
    if isinstance(literal, Join):
        return truth_of_join(literal, seen, lambda _: answer) is True
    return bool(answer)


def lazily(
    tree: Node,
    seen: Event,
    ask: Callable[[Call], Answer],
    schema: Hierarchies | None,
    lists: NamedLists,
) -> bool | None:
    """The truth of a rule; operands with few calls come first, and none once a node is decided."""
    of_node = truth_of(seen, ask, schema, lists)

    def truth(node: Node) -> bool | None:
        if not node.operands:
            return of_node(node, ())
        decisive = False if isinstance(node, And) else True if isinstance(node, Or) else None
        truths: list[bool | None] = []
        for operand in sorted(node.operands, key=_costs):
            truths.append(truth(operand))
            if decisive is not None and truths[-1] is decisive:
                return decisive
        return of_node(node, truths)

    return truth(tree)


def _costs(node: Node) -> int:
    """How many calls of operators a node may make."""
    joins = [len(leaf.calls) for leaf in walk(node) if isinstance(leaf, Join)]
    return sum(joins) + len(calls_of(node))
