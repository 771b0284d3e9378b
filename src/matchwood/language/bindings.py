"""What calls bind: the rows of an answer, and the substitutions that satisfy a `Join`.

An answer is None if it is undefined, or else rows, with one value per argument that is a variable.
A call without variables has one empty row if it is true, and no row if it is false.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any, NamedTuple

from matchwood.language.events import Event
from matchwood.language.seen import LISTS, Seen
from matchwood.language.tree.arithmetic import Attribute, Side, Sum, Variable
from matchwood.language.tree.nodes import And, Node, Not, Or, Xnor, Xor, fold
from matchwood.language.tree.predicates import Call, VariableComparison
from matchwood.language.tree.variables import Join, constrained, variables_of
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

# Rows of one answer; an operator that gives more is mistaken.
MAX_ROWS = 10_000

# Rows that a join looks at before it gives up and is undefined.
MAX_JOIN_ROWS = 1_000_000

# True, false, or None for undefined.
Truth = bool | None
Row = tuple[Any, ...]
Answer = tuple[Row, ...] | None

# What answers the calls of registered operators.
Ask = Callable[[Call, Event], Answer]

# The value of each variable, as the operator gave it and as predicates compare it.
Substitution = dict[str, tuple[Any, Value]]


class AnswerError(ValueError):
    """An operator returned something that is not an answer."""


def rows_of(result: Any, call: Call, binds: Sequence[str] = ()) -> Answer:
    """The answer that a function returned: a bool, or rows as tuples, dicts or single values.

    `binds` are the keys of the values in dicts, in the order of the variables.
    """
    if result is None:
        return None
    variables = [a.name for a in call.arguments if isinstance(a, Variable)]
    truth = plain(result)  # a NumPy bool is a bool too
    if truth is False or (truth is True and not variables):
        return ((),) if truth else ()
    if isinstance(result, Mapping) and (result or variables):
        result = [result]
    if isinstance(result, str | bytes | Mapping) or not hasattr(result, "__iter__"):
        raise AnswerError(f"{call.name} answered {_shown(result)}: {_expected(variables)}")
    if not variables:
        return _any_row(result, call)
    rows = tuple(_row(row, call, len(variables), binds) for row in islice(result, MAX_ROWS + 1))
    if len(rows) > MAX_ROWS:
        raise AnswerError(f"{call.name} answered with over {MAX_ROWS:,} rows")
    if len(set(variables)) < len(variables):
        rows = tuple(row for row in rows if _agrees(row, variables))
    return rows


def _expected(variables: Sequence[str]) -> str:
    if variables:
        return (
            "with variables it answers with rows, an iterable of tuples or dicts, "
            "or with False or None"
        )
    return "it answers with True, False or None, or with rows"


def _any_row(rows: Any, call: Call) -> Answer:
    """Whether there is a row, for a call that binds nothing; a list of bools is not an answer."""
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


def _agrees(row: Row, variables: Sequence[str]) -> bool:
    """Whether arguments that are the same variable have the same value."""
    first: dict[str, Value] = {}
    for name, value in zip(variables, map(comparable, row), strict=True):
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
    """A value that a call bound, as comparisons see it."""
    if isinstance(value, (Mapping, *LISTS)):
        return OPAQUE
    if isinstance(value, str) and not is_text(value):
        return OPAQUE
    try:
        return read(value)
    except (ArithmeticError, ValueError, TypeError, AttributeError):
        return OPAQUE


def same(left: Value, right: Value) -> bool:
    """Whether two values of a variable are of one family and equal."""
    return left.family is not None and left == right


# Joins


def truth_of_join(join: Join, seen: Event, ask: Ask) -> Truth:
    """False if a call has no rows, undefined if a call is, and else whether a substitution fits."""
    answers = [ask(call, seen) for call in join.calls]
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
    """The substitutions for which no constraint is false, each with true or undefined.

    Rows are joined call by call, and a constraint is evaluated as soon as its variables are
    bound. A join that looks at too many rows ends with undefined.
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
        extended = []
        for row, values in zip(answers[level], compared[level], strict=True):
            steps += 1
            if steps > MAX_JOIN_ROWS:
                yield None, {}
                return
            more = _with_row(bound, names[level], row, values)
            if more is None:
                continue
            now = truth
            for constraint in ready[level]:
                holds_now = truth_of_constraint(constraint, more, seen)
                if holds_now is False:
                    break
                now = None if holds_now is None else now
            else:
                extended.append((level + 1, now, more))
        todo.extend(reversed(extended))


def _when_ready(join: Join) -> list[list[Node]]:
    """For each call, the constraints whose last variable it binds."""
    ready: list[list[Node]] = [[] for _ in join.calls]
    bound: set[str] = set()
    left = list(join.constraints)
    for level, call in enumerate(join.calls):
        bound |= set(variables_of(call))
        ready[level] = [constraint for constraint in left if constrained(constraint) <= bound]
        left = [constraint for constraint in left if not constrained(constraint) <= bound]
    return ready


def _with_row(
    bound: Substitution, names: Sequence[str], row: Row, values: Sequence[Value]
) -> Substitution | None:
    more = dict(bound)
    for name, answered, value in zip(names, row, values, strict=True):
        known = more.get(name)
        if known is None:
            more[name] = (answered, value)
        elif not same(known[1], value):
            return None
    return more


# Constraints


# An event, or what predicates see of the attributes that a comparison names.
SeenValues = Event | Mapping[str, Seen]


def truth_of_constraint(constraint: Node, bound: Substitution, seen: Event) -> Truth:
    """The truth of a constraint under a substitution: true, false or undefined."""

    def truth(node: Node, operands: Sequence[Truth]) -> Truth:
        match node:
            case VariableComparison():
                return compare_sides(node.left, node.op, node.right, bound, seen)
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


def compare_sides(left: Side, op: str, right: Side, bound: Substitution, seen: SeenValues) -> Truth:
    """The truth of a comparison of two operands under a substitution."""
    return _compare(_side(left, bound, seen), op, _side(right, bound, seen))


def _side(side: Side, bound: Substitution, seen: SeenValues) -> Value:
    if isinstance(side, Variable):
        return bound[side.name][1]
    if isinstance(side, Attribute):
        value = seen[side.name]
        return value if isinstance(value, Value) else OPAQUE
    if isinstance(side, Sum):
        return _sum(side, bound, seen)
    return Value(family_of(side), side)


# Bits of the numbers of a sum together. Sums are exact, so that products and quotients of numbers
# have as many digits as these have together; without a bound, a sum could take minutes.
MAX_SUM_BITS = 1 << 18


class Ratio(NamedTuple):
    """A number as a fraction, not in lowest terms: finding these takes longer than all the rest."""

    over: int
    under: int  # above zero

    @property
    def bits(self) -> int:
        """The bits of both parts."""
        return self.over.bit_length() + self.under.bit_length()


def _sum(sum_: Sum, bound: Substitution, seen: SeenValues) -> Value:
    """A sum, exact; null if a term is no number that `ratio` knows, or for a division by zero.

    It is null, too, if its numbers have more than `MAX_SUM_BITS` together.
    """
    stack: list[Ratio] = []
    bits = 0
    for term in sum_.postfix:
        if isinstance(term, str):
            right, left = stack.pop(), stack.pop()
            if term == "/" and right.over == 0:
                return NULL
            stack.append(_OPERATIONS[term](left, right))
            continue
        number = ratio(_side(term, bound, seen))
        bits += number.bits if number is not None else 0
        if number is None or bits > MAX_SUM_BITS:
            return NULL
        stack.append(number)
    total: Any = stack[0]
    return Value(Family.NUMBER, total)


def _added(left: Ratio, right: Ratio) -> Ratio:
    if left.under == right.under:
        return Ratio(left.over + right.over, left.under)
    return Ratio(left.over * right.under + right.over * left.under, left.under * right.under)


def _subtracted(left: Ratio, right: Ratio) -> Ratio:
    return _added(left, Ratio(-right.over, right.under))


def _multiplied(left: Ratio, right: Ratio) -> Ratio:
    return Ratio(left.over * right.over, left.under * right.under)


def _divided(left: Ratio, right: Ratio) -> Ratio:
    over, under = left.over * right.under, left.under * right.over
    return Ratio(over, under) if under > 0 else Ratio(-over, -under)


_OPERATIONS: dict[str, Callable[[Ratio, Ratio], Ratio]] = {
    "+": _added,
    "-": _subtracted,
    "*": _multiplied,
    "/": _divided,
}


def ratio(value: Value) -> Ratio | None:
    """A number exactly; None for what is no finite number, or has more than `MAX_SUM_BITS`."""
    number: Any = value.value
    if value.family is not Family.NUMBER:
        return None
    if isinstance(number, Ratio):
        return number
    if isinstance(number, int):
        made = Ratio(number, 1)
    elif number.is_finite():
        sign, digits, exponent = number.as_tuple()
        if max(len(digits), abs(exponent)) > MAX_SUM_BITS // 3:  # a digit has more than three bits
            return None
        over = int(Decimal((sign, digits, 0)))
        made = Ratio(over * 10**exponent, 1) if exponent > 0 else Ratio(over, 10**-exponent)
    else:
        return None
    return made if made.bits <= MAX_SUM_BITS else None


def _compare(left: Value, op: str, right: Value) -> Truth:
    """A comparison, undefined for two families; beside a time, a string is read as a time."""
    if left.family is Family.STRING and right.family is Family.TIME:
        left = _as_time(left)
    elif left.family is Family.TIME and right.family is Family.STRING:
        right = _as_time(right)
    if left.family is None or left.family is not right.family:
        return None
    values: tuple[Any, Any] = (left.value, right.value)
    if any(isinstance(value, Ratio) for value in values):
        first, second = ratio(left), ratio(right)
        if first is None or second is None:
            return None
        return holds(first.over * second.under, op, second.over * first.under)
    return holds(left.value, op, right.value)


def _as_time(value: Value) -> Value:
    moment = read_time(str(value.value))
    return NULL if moment is None else Value(Family.TIME, moment)
