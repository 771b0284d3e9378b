"""Cells: the values of an attribute, cut into a few classes that a rule does not tell apart.

The constants that a rule compares an attribute with cut its numbers, strings and times into points
and gaps; missing values, values of no family and booleans have cells of their own. A predicate is
then a set of cells, one bit per cell. Strings are also read as times, so times are an axis of their
own. What a rule cannot look into (a pattern, a call) is an axis of true, false and undefined.

Every set is the exact one or larger: a gap may be empty (no string lies between 'a' and 'a\\0'),
and axes may depend on each other. If no cell is left, there is no such value; the converse does not
hold.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any, TypeAlias

from matchwood.language.evaluation import evaluate
from matchwood.language.tree import (
    FLIPPED,
    AttributeComparison,
    Between,
    Call,
    Comparison,
    Derived,
    Everything,
    In,
    IsNull,
    Like,
    Node,
    walk,
)
from matchwood.language.values import Family, Literal, holds
from matchwood.rewrite.negation import opposite
from matchwood.rewrite.parity import is_negative
from matchwood.rewrite.predicate_atoms import binds_variable


class Goal(IntEnum):
    """What a node has to be; `goal ^ 1` is the same goal for its negation."""

    TRUE = 0
    FALSE = 1
    NOT_TRUE = 2
    NOT_FALSE = 3


Axis: TypeAlias = tuple[str, object]

# An axis, and the cells in which the event may lie on it.
Constraint: TypeAlias = tuple[Axis, int]

# The cells of values that are not cut further, as bits: of a missing value, of one without a
# family, of false, of true, and of all times.
MISSING_CELL, OPAQUE_CELL, FALSE_CELL, TRUE_CELL, TIME_CELL = 1, 2, 4, 8, 16
_BOOLEANS = {False: FALSE_CELL, True: TRUE_CELL}

# The position of the bit of the first number cell; the cells of strings follow those of numbers.
_FIRST_NUMBER = 5

# All cells of an axis.
EVERYTHING = -1

# How two attributes compare, as bits of an axis of their own.
LESS, EQUAL, GREATER = 1, 2, 4
_RELATIONS = {
    "=": EQUAL,
    "!=": LESS | GREATER,
    "<": LESS,
    "<=": LESS | EQUAL,
    ">": GREATER,
    ">=": GREATER | EQUAL,
}


class _Cuts:
    """The k sorted constants of one attribute and family: 2k + 1 cells, gaps and points in turn."""

    def __init__(self, constants: Iterable[Any], offset: int, nothing_below: object) -> None:
        self.constants = sorted(set(constants))
        self.offset = offset
        self.size = 2 * len(self.constants) + 1
        self.all = ((1 << self.size) - 1) << offset
        if self.constants and self.constants[0] == nothing_below:
            self.all &= ~(1 << offset)

    def compared(self, op: str, constant: object) -> int:
        point = 2 * bisect_left(self.constants, constant) + 1
        if op == "=":
            return 1 << point + self.offset
        if op in ("<", "<="):
            return ((1 << point + (op == "<=")) - 1) << self.offset & self.all
        below = self.compared("<" if op == ">=" else "<=", constant)
        return self.all & ~below

    def points(self) -> Iterable[tuple[int, Any]]:
        for index, constant in enumerate(self.constants):
            yield 1 << self.offset + 2 * index + 1, constant


class ValueCells:
    """The cells of the attributes of one rule, and its predicates as sets of cells."""

    def __init__(self, tree: Node) -> None:
        constants: dict[tuple[str, Family], list[Literal]] = {}
        for node in walk(tree):
            if isinstance(node, Comparison):
                constants.setdefault((node.attribute, node.family), []).append(node.value)
            elif isinstance(node, In):
                for family, values in node.by_family().items():
                    constants.setdefault((node.attribute, family), []).extend(values)
            elif isinstance(node, Between):
                both = (node.low, node.high)
                constants.setdefault((node.attribute, node.family), []).extend(both)
        self._constants = constants
        self._cuts: dict[tuple[str, Family], _Cuts] = {}

    def constraints(self, predicate: Node, goal: Goal) -> Sequence[Constraint] | None:
        """What must hold if the goal is met; None if nothing is known about it."""
        if is_negative(predicate):
            predicate = opposite(predicate)
            goal = Goal(goal ^ 1)
        if any(isinstance(subject, Everything) for subject in predicate.subjects):
            return None  # it has many values
        match predicate:
            case IsNull(attribute=name):
                null = goal in (Goal.TRUE, Goal.NOT_FALSE)
                return [(("value", name), MISSING_CELL if null else ~MISSING_CELL)]
            case In(family=None):
                return None
            case Comparison() | Between() | In():
                return self._compared(predicate, goal)
            case AttributeComparison():
                return self._related(predicate, goal)
            case Like() | Call() if not binds_variable(predicate):
                return self._opaque(predicate, goal)
        return None

    def cuts(self, name: str, family: Family) -> _Cuts:
        known = self._cuts.get((name, family))
        if known is None:
            offset = 1 if family is Family.TIME else _FIRST_NUMBER
            if family is Family.STRING:
                offset += self.cuts(name, Family.NUMBER).size
            lowest = "" if family is Family.STRING else None
            constants = self._constants.get((name, family), ())
            known = self._cuts[name, family] = _Cuts(constants, offset, lowest)
        return known

    def _compared(self, node: Comparison | Between | In, goal: Goal) -> Sequence[Constraint]:
        true, family = self._true_cells(node)
        if goal in (Goal.TRUE, Goal.NOT_TRUE):
            cells = true
        else:
            cells = family & ~true
        axis = ("time" if node.family is Family.TIME else "value", node.attribute)
        if goal in (Goal.NOT_TRUE, Goal.NOT_FALSE):
            return [(axis, ~cells)]
        if node.family is not Family.TIME:
            return [(axis, cells)]
        strings = self.cuts(node.attribute, Family.STRING).all
        return [(axis, cells), (("value", node.attribute), TIME_CELL | strings)]

    def _true_cells(self, node: Comparison | Between | In) -> tuple[int, int]:
        """The cells for which the predicate is true, and all cells of its family."""
        if node.family is Family.BOOLEAN:
            values = (False, True)
            cells = sum(_BOOLEANS[value] for value in values if _holds_of_boolean(node, value))
            return cells, FALSE_CELL | TRUE_CELL
        assert node.family is not None
        cuts = self.cuts(node.attribute, node.family)
        if isinstance(node, Comparison):
            return cuts.compared(node.op, node.value), cuts.all
        if isinstance(node, Between):
            return cuts.compared(">=", node.low) & cuts.compared("<=", node.high), cuts.all
        cells = 0
        for value in node.values:
            cells |= cuts.compared("=", value)
        return cells, cuts.all

    def _related(self, node: AttributeComparison, goal: Goal) -> Sequence[Constraint]:
        left, op, right = node.left, node.op, node.right
        if left > right:
            left, op, right = right, FLIPPED[op], left
        possible = EQUAL if left == right else LESS | EQUAL | GREATER
        true = _RELATIONS[op] & possible
        cells = true if goal in (Goal.TRUE, Goal.NOT_TRUE) else possible & ~true
        axis = ("relation", (left, right))
        if goal in (Goal.NOT_TRUE, Goal.NOT_FALSE):
            return [(axis, ~cells)]
        comparable = ~(MISSING_CELL | OPAQUE_CELL)
        return [(axis, cells), (("value", left), comparable), (("value", right), comparable)]

    def _opaque(self, node: Like | Call, goal: Goal) -> Sequence[Constraint]:
        true, false = 1, 2
        cells = true if goal in (Goal.TRUE, Goal.NOT_TRUE) else false
        axis = ("truth", node)
        if goal in (Goal.NOT_TRUE, Goal.NOT_FALSE):
            return [(axis, ~cells)]
        constraints: list[Constraint] = [(axis, cells)]
        if isinstance(node, Like):
            constraints.append((("value", node.attribute), self._strings(node, goal)))
        elif node.name in ("startswith", "endswith", "in_network", "isa"):
            name = node.subjects[0]
            constraints.append((("value", name), self._strings(node, goal)))
        else:
            # This includes `contains`: it is meant for lists, and must not be called impossible
            # because no single value satisfies it.
            comparable = ~(MISSING_CELL | OPAQUE_CELL)
            constraints.extend((("value", name), comparable) for name in node.subjects)
        return constraints

    def _strings(self, node: Like | Call, goal: Goal) -> int:
        """The strings that may meet the goal; for a constant the answer is known."""
        name = node.subjects[0]
        cuts = self.cuts(name, Family.STRING)
        cells = cuts.all
        if isinstance(name, Derived) or (isinstance(node, Call) and node.name == "isa"):
            return cells
        for point, constant in cuts.points():
            if evaluate(node, {name: constant}) is not (goal is Goal.TRUE):
                cells &= ~point
        return cells


def _holds_of_boolean(node: Comparison | Between | In, value: bool) -> bool:
    if isinstance(node, Comparison):
        return holds(value, node.op, node.value)
    if isinstance(node, Between):
        return holds(value, ">=", node.low) and holds(value, "<=", node.high)
    return value in node.values
