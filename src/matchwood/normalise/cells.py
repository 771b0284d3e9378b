"""Cells: the values of an attribute, cut into a few classes that a rule cannot tell apart further.

The constants that a rule compares an attribute with cut its numbers, strings and times into points
and gaps; what is missing, of no family, or a boolean has cells of its own. A predicate is then a
set of cells, a bit each. Strings are also read as times, so times are an axis of their own; what
a rule cannot look into (a pattern, a call) is an axis of true, false and undefined.

Every set is the true one or larger: a gap may be empty (no string lies between 'a' and 'a\\0'), and
axes may depend on one another. So what has no cell left has no value, and never the other way.
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
    In,
    IsNull,
    Like,
    Node,
    walk,
)
from matchwood.language.values import Family, Literal, holds
from matchwood.normalise.atoms import has_variable
from matchwood.normalise.negation import opposite
from matchwood.normalise.parity import is_negative


class Goal(IntEnum):
    """What is asked of a node; `goal ^ 1` is the same of its negation."""

    TRUE = 0
    FALSE = 1
    NOT_TRUE = 2
    NOT_FALSE = 3


Axis: TypeAlias = tuple[str, object]
Constraint: TypeAlias = tuple[Axis, int]  # the axis, and the cells that it may be in

MISSING, OPAQUE, NO, YES, TIME = 1, 2, 4, 8, 16
_BOOLEANS = {False: NO, True: YES}
_FIRST_NUMBER = 5  # the bit of the first number cell; strings follow numbers
EVERYTHING = -1

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
    """The constants of one attribute and family, in order: 2k + 1 cells, gaps and points."""

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
        for place, constant in enumerate(self.constants):
            yield 1 << self.offset + 2 * place + 1, constant


class Cells:
    """The cells of the attributes of one rule, and its predicates as sets of them."""

    def __init__(self, tree: Node) -> None:
        constants: dict[tuple[str, Family], list[Literal]] = {}
        for node in walk(tree):
            if isinstance(node, Comparison):
                constants.setdefault((node.attribute, node.family), []).append(node.value)
            elif isinstance(node, In):
                constants.setdefault((node.attribute, node.family), []).extend(node.values)
            elif isinstance(node, Between):
                both = (node.low, node.high)
                constants.setdefault((node.attribute, node.family), []).extend(both)
        self._constants = constants
        self._cuts: dict[tuple[str, Family], _Cuts] = {}

    def constraints(self, predicate: Node, goal: Goal) -> Sequence[Constraint] | None:
        """What holds where the goal is met, None where nothing can be said."""
        if is_negative(predicate):
            predicate = opposite(predicate)
            goal = Goal(goal ^ 1)
        match predicate:
            case IsNull(attribute=name):
                null = goal in (Goal.TRUE, Goal.NOT_FALSE)
                return [(("value", name), MISSING if null else ~MISSING)]
            case Comparison() | Between() | In():
                return self._compared(predicate, goal)
            case AttributeComparison():
                return self._related(predicate, goal)
            case Like() | Call() if not has_variable(predicate):
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
        return [(axis, cells), (("value", node.attribute), TIME | strings)]

    def _true_cells(self, node: Comparison | Between | In) -> tuple[int, int]:
        """The cells where the predicate is true, and all of its family."""
        if node.family is Family.BOOLEAN:
            values = (False, True)
            cells = sum(_BOOLEANS[value] for value in values if _holds_of_boolean(node, value))
            return cells, NO | YES
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
        there = ~(MISSING | OPAQUE)
        return [(axis, cells), (("value", left), there), (("value", right), there)]

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
            name = node.attributes[0]
            constraints.append((("value", name), self._strings(node, goal)))
        else:
            # `contains` too: with a list in mind, it is not to be found impossible of single values
            there = ~(MISSING | OPAQUE)
            constraints.extend((("value", name), there) for name in node.attributes)
        return constraints

    def _strings(self, node: Like | Call, goal: Goal) -> int:
        """The strings that may meet the goal: at a constant the answer is known."""
        name = node.attributes[0]
        cuts = self.cuts(name, Family.STRING)
        cells = cuts.all
        if isinstance(node, Call) and node.name == "isa":
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
