"""What calls bind: the rows of an answer, and the substitutions that satisfy a `Join`.

An answer is None for undefined, or rows: one value for each argument that is a variable. A call
without variables has a row of nothing where it is true, and no row where it is false.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from typing import Any

from matchwood.language.arithmetic import Attribute, Side, Sum, Variable
from matchwood.language.events import LISTS, Event
from matchwood.language.nodes import And, Node, Not, Or, Xnor, Xor, fold
from matchwood.language.predicates import Call, VariableComparison
from matchwood.language.values import (
    NULL,
    OPAQUE,
    Family,
    Value,
    family_of,
    holds,
    is_text,
    plain,
    read,
    read_time,
)
from matchwood.language.variables import Join, constrained, variables_of

MAX_ROWS = 10_000  # of an answer; more are taken for a mistake
MAX_STEPS = 1_000_000  # rows that a join looks at before it gives up

Truth = bool | None  # None: undefined
Row = tuple[Any, ...]
Answer = tuple[Row, ...] | None
Ask = Callable[[Call], Answer]
Substitution = dict[str, tuple[Any, Value]]  # variable → as it was given, and as it compares


class AnswerError(ValueError):
    """An operator answered with what is no answer."""


def rows_of(result: Any, call: Call, binds: Sequence[str] = ()) -> Answer:
    """The answer that a function gave: a bool, or rows as tuples, dicts or single values.

    `binds` are the names under which dicts have the values, in the order of the variables.
    """
    if result is None:
        return None
    places = [a.name for a in call.arguments if isinstance(a, Variable)]
    truth = plain(result)  # a NumPy bool is one
    if truth is False or (truth is True and not places):
        return ((),) if truth else ()
    if isinstance(result, Mapping) and (result or places):
        result = [result]
    if isinstance(result, str | bytes | Mapping) or not hasattr(result, "__iter__"):
        raise AnswerError(f"{call.name} answered {_shown(result)}: {_expected(places)}")
    if not places:
        return _any_row(result, call)
    rows = tuple(_row(row, call, len(places), binds) for row in islice(result, MAX_ROWS + 1))
    if len(rows) > MAX_ROWS:
        raise AnswerError(f"{call.name} answered with over {MAX_ROWS:,} rows")
    if len(set(places)) < len(places):
        rows = tuple(row for row in rows if _agrees(row, places))
    return rows


def _expected(places: Sequence[str]) -> str:
    if places:
        return (
            "with variables it answers with rows, an iterable of tuples or dicts, "
            "or with False or None"
        )
    return "it answers with True, False or None, or with rows"


def _any_row(rows: Any, call: Call) -> Answer:
    """Whether there is a row, for a call that binds nothing; a list of truths is none."""
    for row in rows:
        if isinstance(plain(row), bool):
            raise AnswerError(f"{call.name} answered with a list of truths: {_expected(())}")
        return ((),)
    return ()


def _row(row: Any, call: Call, width: int, binds: Sequence[str]) -> Row:
    if isinstance(row, Mapping):
        if len(binds) < width or not all(name in row for name in binds[:width]):
            raise AnswerError(
                f"{call.name} answered with a dict of {', '.join(map(str, row)) or 'nothing'}: "
                f"expected the names in binds=, found binds={tuple(binds)!r} for {width} variables"
            )
        return tuple(row[name] for name in binds[:width])
    if not isinstance(row, tuple | list):
        row = (row,)
    if len(row) != width:
        raise AnswerError(
            f"{call.name} answered with a row of {len(row)} values for {width} variables"
        )
    return tuple(row)


def _agrees(row: Row, places: Sequence[str]) -> bool:
    """Whether places of one variable have one value."""
    first: dict[str, Value] = {}
    for name, value in zip(places, map(comparable, row), strict=True):
        if not same(first.setdefault(name, value), value):
            return False
    return True


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except Exception:
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= 60 else text[:59] + "…"


def comparable(value: object) -> Value:
    """What comparisons see of a value that a call bound."""
    if isinstance(value, (Mapping, *LISTS)):
        return OPAQUE
    if isinstance(value, str) and not is_text(value):
        return OPAQUE
    try:
        return read(value)
    except (ArithmeticError, ValueError, TypeError, AttributeError):
        return OPAQUE


def same(left: Value, right: Value) -> bool:
    """Whether two bindings of a variable agree: of one family, and equal."""
    return left.family is not None and left == right


# Joins


def truth_of_join(join: Join, seen: Event, ask: Ask) -> Truth:
    """False where a call has no row, else undefined where one is; else whether any fits."""
    answers = [ask(call) for call in join.calls]
    if any(answer == () for answer in answers):
        return False
    if any(answer is None for answer in answers):
        return None
    best: Truth = False
    for truth, _ in substitutions(join, answers, seen):  # type: ignore[arg-type]
        if truth:
            return True
        best = None
    return best


def substitutions(
    join: Join, answers: Sequence[tuple[Row, ...]], seen: Event
) -> Iterator[tuple[Truth, Substitution]]:
    """The substitutions in which no constraint is false, each with true or undefined.

    Rows are joined call by call, and a constraint is looked at as soon as its variables are
    bound. One that looks at too many rows ends undefined.
    """
    names = [[a.name for a in call.arguments if isinstance(a, Variable)] for call in join.calls]
    ready = _when_ready(join)
    compared = [[tuple(map(comparable, row)) for row in rows] for rows in answers]
    steps = 0
    todo: list[tuple[int, Truth, Substitution]] = [(0, True, {})]
    while todo:
        level, truth, bound = todo.pop()
        if level == len(names):
            yield truth, bound
            continue
        found = []
        for row, values in zip(answers[level], compared[level], strict=True):
            steps += 1
            if steps > MAX_STEPS:
                yield None, {}
                return
            more = _with_row(bound, names[level], row, values)
            if more is None:
                continue
            now = truth
            for constraint in ready[level]:
                one = truth_of_constraint(constraint, more, seen)
                if one is False:
                    break
                now = None if one is None else now
            else:
                found.append((level + 1, now, more))
        todo.extend(reversed(found))


def _when_ready(join: Join) -> list[list[Node]]:
    """The constraints by the call with which the last of their variables is bound."""
    ready: list[list[Node]] = [[] for _ in join.calls]
    bound: set[str] = set()
    left = list(join.constraints)
    for level, call in enumerate(join.calls):
        bound |= set(variables_of(call))
        ready[level] = [one for one in left if constrained(one) <= bound]
        left = [one for one in left if not constrained(one) <= bound]
    return ready


def _with_row(
    bound: Substitution, names: Sequence[str], row: Row, values: Sequence[Value]
) -> Substitution | None:
    more = dict(bound)
    for name, given, value in zip(names, row, values, strict=True):
        known = more.get(name)
        if known is None:
            more[name] = (given, value)
        elif not same(known[1], value):
            return None
    return more


# Constraints


def truth_of_constraint(constraint: Node, bound: Substitution, seen: Event) -> Truth:
    """Three-valued, as everywhere."""

    def truth(node: Node, operands: Sequence[Truth]) -> Truth:
        match node:
            case VariableComparison():
                return _compare(
                    _side(node.left, bound, seen), node.op, _side(node.right, bound, seen)
                )
            case Not():
                return None if operands[0] is None else not operands[0]
            case And():
                return False if False in operands else None if None in operands else True
            case Or():
                return True if True in operands else None if None in operands else False
            case Xor() | Xnor():
                if None in operands:
                    return None
                turned = len(operands) - 1 if isinstance(node, Xnor) else 0
                return (sum(map(bool, operands)) + turned) % 2 == 1
        raise AssertionError(type(node))

    return fold(constraint, truth)


def _side(side: Side, bound: Substitution, seen: Event) -> Value:
    if isinstance(side, Variable):
        return bound[side.name][1]
    if isinstance(side, Attribute):
        found = seen[side.name]
        return found if isinstance(found, Value) else OPAQUE
    if isinstance(side, Sum):
        return _sum(side, bound)
    return Value(family_of(side), side)


def _sum(sum_: Sum, bound: Substitution) -> Value:
    """Exact: sums are of fractions. Undefined where a variable is no number, or by zero."""
    stack: list[Fraction] = []
    for term in sum_.postfix:
        if isinstance(term, str):
            right, left = stack.pop(), stack.pop()
            if term == "/" and right == 0:
                return NULL
            stack.append(_OPERATIONS[term](left, right))
            continue
        value = bound[term.name][1] if isinstance(term, Variable) else Value(Family.NUMBER, term)
        number = _fraction(value)
        if number is None:
            return NULL
        stack.append(number)
    total: Any = stack[0]
    return Value(Family.NUMBER, total)


_OPERATIONS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
}
_LONGEST = 2_000  # digits, either way, of a number that is taken into a sum


def _fraction(value: Value) -> Fraction | None:
    number: Any = value.value
    if value.family is not Family.NUMBER:
        return None
    if isinstance(number, int | Fraction):
        return Fraction(number)
    if not number.is_finite() or abs(number.as_tuple().exponent) > _LONGEST:
        return None
    return Fraction(number)


def _compare(left: Value, op: str, right: Value) -> Truth:
    """Undefined where they are of two families; a string is read as a time beside a time."""
    if left.family is Family.STRING and right.family is Family.TIME:
        left = _as_time(left)
    elif left.family is Family.TIME and right.family is Family.STRING:
        right = _as_time(right)
    if left.family is None or left.family is not right.family:
        return None
    values: tuple[Any, Any] = (left.value, right.value)
    if any(isinstance(value, Fraction) for value in values):
        first, second = _fraction(left), _fraction(right)
        return None if first is None or second is None else holds(first, op, second)
    return holds(left.value, op, right.value)


def _as_time(value: Value) -> Value:
    moment = read_time(str(value.value))
    return NULL if moment is None else Value(Family.TIME, moment)
