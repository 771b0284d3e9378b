"""Deciding rules by calls, for one event or for many; each call is made at most once per event.

`Decider` makes call after call in the order of `order`. Many events are decided in rounds, so that
operators with a batch form answer for all of them together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from matchwood.forking import renew_in_children
from matchwood.kernels.array_types import Int32Array
from matchwood.kernels.readiness import kernels_ready
from matchwood.language.aliases import Aliases
from matchwood.language.bindings import Answer, Ask, Truth, truth_of_join
from matchwood.language.evaluation import TRUTHS, Hierarchies, argument_values, truth_of
from matchwood.language.events import Event
from matchwood.language.named_lists import NamedLists
from matchwood.language.tree import And, Call, Node, Not, Or, TruthTest, walk
from matchwood.language.tree.variables import Join, canonical_call
from matchwood.operators.clauses import ClauseTable
from matchwood.operators.learning import Calls
from matchwood.operators.open_clauses import ClauseSource, PlainClause, Problem, Undecided
from matchwood.operators.order_kernels import conclude
from matchwood.operators.registry import CallFailure, Operator, Operators
from matchwood.operators.report import OperatorReport
from matchwood.operators.residue import calls_in, calls_of
from matchwood.operators.step_kernels import DONE, JOINS

# The most open clauses that the events which are decided together may have.
MOST_OPEN_CLAUSES = 4 << 20

# Calls are numbered anew when this many times more literals are known than are in use.
SLACK = 4

# An event, a call to make for it, and what gives the ids of the rules that ask.
_Asked = tuple[Undecided, Call, Callable[[], list[Any]]]


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
        problem = Problem(event, calls)
        call = problem.next()
        while call != DONE:
            node = calls.calls[problem.calls[call]]
            rules = partial(problem.rules_asking, call)
            answer = self._answer(event, node, rules, event.seen)
            call = self._take(problem, call, answer, calls)
        event.true = self._with_whole(problem)
        self._learn(problem, calls)

    def _answer(
        self, event: Undecided, node: Call, rules: Callable[[], list[Any]], about: Event
    ) -> Answer:
        """The answer of a canonical call about an event or an element of it.

        The call is made unless it was; `rules` gives the askers.
        """
        answers = event.answers_about(about)
        if node in answers:
            return answers[node]
        values = argument_values(node, about)
        if values is None:
            answers[node] = None
            return None
        started = perf_counter()
        answer: Answer | CallFailure
        try:
            answer = self.operators[node.name].ask(node, values, about)
        except CallFailure as failure:
            answer = failure
        answers[node] = self._noted(event, node, answer, perf_counter() - started, rules)
        return answers[node]

    def _noted(
        self,
        event: Undecided,
        node: Call,
        answer: Answer | CallFailure,
        seconds: float,
        rules: Callable[[], list[Any]],
    ) -> Answer:
        """An answer, after noting how long it took, and what went wrong."""
        self.report.note(node.name, 1, seconds)
        event.taken.append((node, seconds))
        if isinstance(answer, CallFailure):
            self.report.note_failure(node.name, str(node), answer, rules())
            return None
        return answer

    def _take(self, problem: Problem, call: int, answer: Answer, calls: Calls) -> int:
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

    def _learn(self, problem: Problem, calls: Calls) -> None:
        """Update the estimates from a decided event; they are read when the next one begins."""
        calls.note_truths(problem.known, problem.truths)
        calls.note_costs(problem.event.taken)
        problem.close()

    def _with_whole(self, problem: Problem) -> list[Int32Array]:
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
        answered = ((literal, ask(calls_in(literal)[0], seen)) for literal in literals)
        return all(holds(literal, answer, seen) for literal, answer in answered) and all(
            truth_of_join(join, seen, ask) is True for join in table.joins.get(clause, ())
        )

    def asking(self, event: Undecided, rule: Any) -> Ask:
        """What answers the calls of a rule for an event and its elements, making each only once."""
        return lambda node, about: self._answer(event, canonical_call(node), lambda: [rule], about)

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
        plain = [clause for event in events if (clause := event.plain_clause()) is not None]
        if plain:
            self._decide_plain(plain)
        self._decide_in_rounds([event for event in events if event.plain_clause() is None])

    def _decide_plain(self, clauses: Sequence[PlainClause]) -> None:
        """Decide events that depend on one literal each."""
        calls = self.calls
        numbers = [clause.literal(calls) for clause in clauses]
        nodes = [calls.calls[calls.literal_call[number]] for number in numbers]
        by_operator: dict[str, list[_Asked]] = {}
        for clause, node in zip(clauses, nodes, strict=True):
            asked = clause.event, node, clause.rules_asking
            by_operator.setdefault(node.name, []).append(asked)
        for name, asked_together in by_operator.items():
            self._ask_together(self.operators[name], asked_together)
        truths = []
        for clause, number, node in zip(clauses, numbers, nodes, strict=True):
            event = clause.event
            truths.append(holds(calls.literals[number], event.answers[node], event.seen))
            event.true = [np.array([clause.rule()] if truths[-1] else [], np.int32)]
        calls.note_truths(numbers, truths)
        calls.note_costs([taken for clause in clauses for taken in clause.event.taken])

    def _decide_in_rounds(self, events: Sequence[Undecided]) -> None:
        calls = self.calls
        problems = [Problem(event, calls) for event in events]
        open_ = [(problem, call) for problem in problems if (call := problem.next()) != DONE]
        while open_:
            by_operator: dict[str, list[_Asked]] = {}
            for problem, call in open_:
                node = calls.calls[problem.calls[call]]
                asked = problem.event, node, partial(problem.rules_asking, call)
                by_operator.setdefault(node.name, []).append(asked)
            for name, asked_together in by_operator.items():
                self._ask_together(self.operators[name], asked_together)
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

    def _ask_together(self, operator: Operator, asked: Sequence[_Asked]) -> None:
        """Make those of these calls of an operator that were not made yet."""
        waiting: dict[int, list[tuple[_Asked, list[object]]]] = {}
        for one in asked:
            event, node, _ = one
            if node in event.answers:
                continue
            values = argument_values(node, event.seen)
            if values is None:
                event.answers[node] = None
            else:
                waiting.setdefault(len(values), []).append((one, values))
        for asked_together in waiting.values():
            ones, columns = zip(*asked_together, strict=True)
            events, nodes, _ = zip(*ones, strict=True)
            started = perf_counter()
            answers = operator.ask_many(nodes, columns, [event.seen for event in events])
            seconds = (perf_counter() - started) / len(ones)
            for (event, node, rules), answer in zip(ones, answers, strict=True):
                event.answers[node] = self._noted(event, node, answer, seconds, rules)


def holds(literal: Node, answer: Answer, seen: Event) -> bool:
    """Whether a literal holds, given the answer of its call; an undefined one does not."""
    asked = literal.operands[0] if isinstance(literal, Not | TruthTest) else literal
    truth: Truth = None if answer is None else bool(answer)
    if isinstance(asked, Join):
        truth = truth_of_join(asked, seen, lambda *_: answer)
    if isinstance(literal, TruthTest):
        return (truth is TRUTHS[literal.truth]) is not literal.negated
    return truth is (not isinstance(literal, Not))


def lazily(
    tree: Node,
    seen: Event,
    ask: Ask,
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
