"""Rules that calls decide, for one event or for many at once: each call at most once an event.

`Undecided` is an event with the clauses that the index left open. `Decider` asks call by call, in
the order of `order`; many events are asked in rounds, so that operators with a batch form answer
for all of them together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.forking import renew_in_children
from matchwood.language.bindings import Answer, truth_of_join
from matchwood.language.evaluation import Hierarchies, argument_values, truth_of
from matchwood.language.events import Event
from matchwood.language.tree import And, Call, Node, Not, Or, walk
from matchwood.language.variables import Join, canonical_call
from matchwood.operators.clauses import ClauseTable
from matchwood.operators.learning import Calls
from matchwood.operators.order import (
    TRUE,
    Clauses,
    State,
    begin,
    clauses_over,
    conclude,
    gather,
    new_state,
)
from matchwood.operators.registry import Failure, Operator, Operators
from matchwood.operators.report import MAX_RULES, Report
from matchwood.operators.residue import calls_of
from matchwood.operators.stepping import DONE, JOINS, LAYOUTS, step
from matchwood.views import View

Ints = NDArray[np.int32]
TOGETHER = 4 << 20  # literals of clauses that are open at once, of many events
MOST_FREE = 8  # states that are kept for clauses of which all are open again and again
SLACK = 4  # numbers are given anew when so many times more are known than are used


class Source(NamedTuple):
    """Where rules come from: their clauses, and what to call them where one fails."""

    table: ClauseTable
    name: Callable[[int], Any]  # ordinal → id


class Undecided:
    """An event, the clauses that are open, and what operators answered of it."""

    def __init__(self, seen: Event, chosen: Sequence[tuple[Source, Ints]]) -> None:
        self.seen = seen
        self.chosen = chosen
        self.answers: dict[Call, Answer] = {}
        self.taken: list[tuple[Call, float]] = []  # seconds of the calls that were made
        self.true: list[Ints] = []  # ordinals, of each source
        self.size = sum(len(clauses) for _, clauses in chosen)


class _Shape(NamedTuple):
    """The arrays of some clauses: what about them is the same for every event."""

    owners: list[tuple[Source, Ints]]  # clauses without those that are whole rules
    ordinals: list[Ints]  # of their rules, of each source
    literals: Ints  # their numbers
    calls: Ints
    clauses: Clauses
    free: list[tuple[State, View]]  # of events that are decided, to be used again


def _shape_of(chosen: Sequence[tuple[Source, Ints]], calls: Calls) -> _Shape:
    """The shape of the clauses that an event leaves open; of all of a table it is kept there."""
    if len(chosen) != 1 or len(chosen[0][1]) < len(chosen[0][0].table):
        return _new_shape(chosen, calls)
    table = chosen[0][0].table
    known = table.shape
    if known is None or known[0] is not calls:
        known = table.shape = calls, _new_shape(chosen, calls)
    shape: _Shape = known[1]
    return shape


def _new_shape(chosen: Sequence[tuple[Source, Ints]], calls: Calls) -> _Shape:
    starts, literals, rules, joins = [np.zeros(1, np.int32)], [], [], []
    owners: list[tuple[Source, Ints]] = []
    ordinals: list[Ints] = []
    size = first = 0
    for source, given in chosen:
        table = source.table
        clauses = given[~table.is_whole[given]] if table.whole else given
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
    local, numbers, call_of, call_numbers = gather(start, flat, calls.literal_call, *scratch)
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
            self._view = View(LAYOUTS, self.clauses, self.state)
        else:
            self.state.chance[:], self.state.cost[:] = chances, costs
            begin(self.clauses, self.state)
        self.known: list[int] = []  # literals, by number, and whether they hold
        self.held: list[bool] = []

    def next(self, answered: int = DONE) -> int:
        """The call to make next, by its place, after one was answered; DONE or JOINS."""
        return int(step(self._view.places, answered))

    def close(self) -> None:
        """It is decided: what it worked with is free for the next."""
        if len(self._free) < MOST_FREE:
            self._free.append((self.state, self._view))

    def source_of(self, clause: int) -> tuple[Source, int]:
        """Whose a clause is, and its number there."""
        for source, clauses in self.owners:
            if clause < len(clauses):
                return source, int(clauses[clause])
            clause -= len(clauses)
        raise IndexError(clause)

    def rules_asking(self, call: int, most: int = MAX_RULES) -> list[Any]:
        """The ids of some rules that wait for a call."""
        found: list[Any] = []
        shape = self.clauses
        for literal in shape.call_literal[shape.call_start[call] : shape.call_start[call + 1]]:
            low, high = shape.literal_start[literal], shape.literal_start[literal + 1]
            for clause in shape.literal_clause[low:high].tolist():
                if self.state.live[clause] and len(found) < most:
                    source, number = self.source_of(clause)
                    found.append(source.name(int(source.table.rule[number])))
        return found

    def true_rules(self) -> list[Ints]:
        """The ordinals of the rules that came out true, of each source."""
        found, first = [], 0
        for ordinals in self.ordinals:
            decided = self.state.decided[first : first + len(ordinals)]
            found.append(ordinals[decided == TRUE])
            first += len(ordinals)
        return found


def _rows(start: Ints, items: Ints, rows: Ints, lengths: Ints) -> Ints:
    """Some rows of a list of lists, one after the other."""
    if len(rows) == len(start) - 1:
        return items
    before = np.cumsum(lengths) - lengths
    places = np.arange(int(lengths.sum())) + np.repeat(start[rows] - before, lengths)
    found: Ints = items[places]
    return found


class Decider:
    """The operators of a matcher, what is learned of them, and what they did."""

    def __init__(self, operators: Operators, schema: Hierarchies | None) -> None:
        self.operators = operators
        self.schema = schema
        self.calls = Calls(operators)
        self.report = Report()
        self.waited = 0.0  # seconds that events took with rules that are in no index yet
        renew_in_children(self)

    def after_fork(self) -> None:
        if self.calls.was_changing():
            self.calls = Calls(self.operators)  # what was learned is learned anew

    def tidy(self, tables: Iterable[ClauseTable]) -> None:
        """Forget the calls of rules that are gone, once they are many."""
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
        """The answer of a canonical call, which is made if it was not; `rules` say who asks."""
        if node in event.answers:
            return event.answers[node]
        values = argument_values(node, event.seen)
        if values is None:
            event.answers[node] = None
            return None
        started = perf_counter()
        answer: Answer | Failure
        try:
            answer = self.operators[node.name].ask(node, values, event.seen)
        except Failure as failure:
            answer = failure
        self._note(event, node, answer, perf_counter() - started, rules)
        return event.answers[node]

    def _note(
        self,
        event: Undecided,
        node: Call,
        answer: Answer | Failure,
        seconds: float,
        rules: Callable[[], list[Any]],
    ) -> None:
        """Keep an answer, what it took, and what went wrong."""
        self.report.note(node.name, 1, seconds)
        event.taken.append((node, seconds))
        if isinstance(answer, Failure):
            self.report.note_failure(node.name, str(node), answer, rules())
            answer = None
        event.answers[node] = answer

    def _take(self, problem: _Problem, call: int, answer: Answer, calls: Calls) -> int:
        """Go on with the answer of a call: the next one, or DONE."""
        shape, state, seen = problem.clauses, problem.state, problem.event.seen
        low, high = shape.call_start[call], shape.call_start[call + 1]
        for literal in shape.call_literal[low:high].tolist():
            number = int(problem.literals[literal])
            held = holds(calls.literals[number], answer, seen)
            state.holds[literal] = held
            problem.known.append(number)
            problem.held.append(held)
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
        """Keep what an event showed: estimates are needed only when the next one begins."""
        calls.note_truths(problem.known, problem.held)
        calls.note_costs(problem.event.taken)
        problem.close()

    def _with_whole(self, problem: _Problem) -> list[Ints]:
        """The rules that are true, those decided as a whole among them."""
        found = problem.true_rules()
        event = problem.event
        for place, (source, clauses) in enumerate(event.chosen):
            table = source.table
            more = []
            for clause in clauses[table.is_whole[clauses]].tolist():
                ordinal = int(table.rule[clause])
                ask = self.asking(event, source.name(ordinal))
                if lazily(table.whole[clause], event.seen, ask, self.schema) is True:
                    more.append(ordinal)
            if more:
                found[place] = np.union1d(found[place], np.array(more, np.int32)).astype(np.int32)
        return found

    def asking(self, event: Undecided, rule: Any) -> Callable[[Call], Answer]:
        """What answers the calls that a rule makes of an event, each once."""
        return lambda node: self._answer(event, canonical_call(node), lambda: [rule])

    # Many events

    def decide_many(self, events: Sequence[Undecided]) -> None:
        """`decide` for each, in rounds: a call each, those of an operator answered together."""
        some: list[Undecided] = []
        size = 0
        for event in events:
            some.append(event)
            size += event.size
            if size > TOGETHER:
                self._decide_together(some)
                some, size = [], 0
        self._decide_together(some)

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
                then = self._take(problem, call, problem.event.answers[node], calls)
                if then != DONE:
                    following.append((problem, then))
            open_ = following
        for problem in problems:
            problem.event.true = self._with_whole(problem)
            self._learn(problem, calls)

    def _ask_together(
        self, operator: Operator, asked: Sequence[tuple[_Problem, int]], calls: Calls
    ) -> None:
        """Make these calls of an operator, if they are not made yet."""
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
        for some in waiting.values():
            problems, places, nodes, columns = zip(*some, strict=True)
            started = perf_counter()
            answers = operator.ask_many(nodes, columns, [p.event.seen for p in problems])
            each = (perf_counter() - started) / len(some)
            for problem, place, node, answer in zip(problems, places, nodes, answers, strict=True):
                rules = partial(problem.rules_asking, place)
                self._note(problem.event, node, answer, each, rules)


def holds(literal: Node, answer: Answer, seen: Event) -> bool:
    """Whether a literal holds, given the answer of its call; undefined does not."""
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
) -> bool | None:
    """The truth of a rule, cheap operands first, and no call once its node is decided."""
    of_node = truth_of(seen, ask, schema)

    def truth(node: Node) -> bool | None:
        if not node.operands:
            return of_node(node, ())
        decisive = False if isinstance(node, And) else True if isinstance(node, Or) else None
        found: list[bool | None] = []
        for operand in sorted(node.operands, key=_costs):
            found.append(truth(operand))
            if decisive is not None and found[-1] is decisive:
                return decisive
        return of_node(node, found)

    return truth(tree)


def _costs(node: Node) -> int:
    """How many calls of operators a node may make."""
    joins = [len(leaf.calls) for leaf in walk(node) if isinstance(leaf, Join)]
    return sum(joins) + len(calls_of(node))
