"""Sums over columns compared: `amount > 3 * average` for all events of a batch at once.

Sums are exact, and floats are not. So beside each float stands a bound for its distance from the
exact number, which grows with every operation. Where two sides are further apart than their bounds,
floats order them as the exact numbers are ordered. Other rows are left to whoever asked, who
evaluates them one by one. Integers below 2**53 have the bound 0, and so have their sums as long as
these are such integers, so that equal ones are known to be equal. Nothing else has the bound 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import BoolArray, UInt8Array
from matchwood.language.bindings import MAX_SUM_BITS, ratio
from matchwood.language.tree import SumComparison
from matchwood.language.tree.arithmetic import Attribute, Side, Sum
from matchwood.language.values import Family, Value
from matchwood.match.batch.codes.column_comparisons import TypedColumn
from matchwood.match.event.literal_kernels import FALSE_SEEN, TRUE_SEEN, UNDEFINED_SEEN

# A double differs by at most a quarter of this share from the number that was rounded to it.
_SHARE = 2.0**-51
# The share by which a bound grows with each operation, because it is itself worked out in floats.
_MORE = 2.0**-40
# What is added because rounding takes more than a share of small numbers: 32 times as much.
_SMALLEST = 2.0**-1070
# A quotient that is smaller is left open: what its bound is made of may be rounded to nothing.
_SMALL_QUOTIENT = 2.0**-900
# Integers below this one are doubles, and nothing that is no integer below it is rounded to it.
_EXACT_FLOAT = 2.0**53

# Bits of the longest number of a column: the smallest double is 5e-324.
_VALUE_BITS = 1_200

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater,
    ">=": np.greater_equal,
}  # fmt: skip


class BoundedFloats(NamedTuple):
    """Floats, and how far at most each is from the exact number; one number, or one per row."""

    values: Any
    errors: Any


class ComparedSums(NamedTuple):
    """The state of a comparison for each row, and the rows that floats cannot decide."""

    states: UInt8Array
    open: NDArray[np.int64]


def compare_sums(
    node: SumComparison, columns: Mapping[str, TypedColumn], rows: int
) -> ComparedSums:
    """The state of a comparison of sums over columns that have values of one family each."""
    states = np.full(rows, UNDEFINED_SEEN, np.uint8)
    there = np.ones(rows, bool)
    for name in node.subjects:
        if columns[name].family is not Family.NUMBER:
            return ComparedSums(states, np.empty(0, np.int64))
        there &= columns[name].there
    with np.errstate(all="ignore"):  # what is not finite is left open
        if not (_is_short(node.left) and _is_short(node.right)):
            return ComparedSums(states, np.flatnonzero(there))
        left, undefined = _side(node.left, columns, rows)
        right, also_undefined = _side(node.right, columns, rows)
        there &= ~(undefined | also_undefined)
        apart = np.abs(left.values - right.values)
        errors = left.errors + right.errors
        decided = (apart * (1 - _MORE) > errors) | (errors == 0)
        decided &= np.isfinite(apart) & np.isfinite(errors)
        is_true = _COMPARE[node.op](left.values, right.values)
    known = there & decided
    states[known] = np.where(np.broadcast_to(is_true, rows)[known], TRUE_SEEN, FALSE_SEEN)
    return ComparedSums(states, np.flatnonzero(there & ~known))


def _is_short(side: Side) -> bool:
    """Whether no values of columns can make a sum undefined because its numbers are too long."""
    bits = 0
    for term in side.postfix if isinstance(side, Sum) else (side,):
        if isinstance(term, int | Decimal):
            exact = ratio(Value(Family.NUMBER, term))
            bits += MAX_SUM_BITS if exact is None else exact.bits
        elif isinstance(term, Attribute):
            bits += _VALUE_BITS
    return bits <= MAX_SUM_BITS


def _side(
    side: Side, columns: Mapping[str, TypedColumn], rows: int
) -> tuple[BoundedFloats, BoolArray]:
    """One side of a comparison, and where it is undefined because it divides by zero."""
    undefined = np.zeros(rows, bool)
    stack: list[BoundedFloats] = []
    for term in side.postfix if isinstance(side, Sum) else (side,):
        if isinstance(term, str):
            right, left = stack.pop(), stack.pop()
            if term == "/":
                undefined |= (right.values == 0) & (right.errors == 0)
            stack.append(_joined(left, term, right))
        elif isinstance(term, Attribute):
            stack.append(_bounded(columns[term.name].values))
        else:
            assert isinstance(term, int | Decimal)
            stack.append(_literal(term))
    return stack[0], undefined


def _bounded(numbers: Any) -> BoundedFloats:
    """A column: its floats stand for the shortest decimals that spell them."""
    values = numbers.astype(np.float64)
    return BoundedFloats(values, np.where(_are_integers(values), 0.0, _rounded(values)))


def _literal(number: int | Decimal) -> BoundedFloats:
    try:
        value = np.float64(number)
    except OverflowError:
        value = np.float64(np.inf)  # which leaves all rows open
    is_exact = _are_integers(value) and value == number
    return BoundedFloats(value, 0.0 if is_exact else _rounded(value))


def _joined(left: BoundedFloats, operator: str, right: BoundedFloats) -> BoundedFloats:
    """`left operator right`, with a bound that holds whatever the two stand for."""
    (a, of_a), (b, of_b) = left, right
    if operator in "+-":
        values = a + b if operator == "+" else a - b
        errors = of_a + of_b
    elif operator == "*":
        values = a * b
        errors = np.abs(a) * of_b + np.abs(b) * of_a + of_a * of_b
    else:
        values = a / b
        least = np.abs(b) - of_b  # the divisor is this far from zero at least
        is_bounded = (least > 0) & ((np.abs(values) > _SMALL_QUOTIENT) | (a == 0) & (of_a == 0))
        errors = np.where(is_bounded, (of_a + np.abs(values) * of_b) / least, np.inf)
    is_exact = (of_a == 0) & (of_b == 0) & _are_integers(values)
    if operator == "/":
        is_exact &= values * b == a
    return BoundedFloats(values, np.where(is_exact, 0.0, errors * (1 + _MORE) + _rounded(values)))


def _are_integers(values: Any) -> Any:
    """Where floats are integers that no other number is rounded to by adding or multiplying."""
    return (np.abs(values) < _EXACT_FLOAT) & (np.rint(values) == values)


def _rounded(values: Any) -> Any:
    return np.abs(values) * _SHARE + _SMALLEST
