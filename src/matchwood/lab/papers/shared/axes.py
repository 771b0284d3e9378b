"""Rules as conjunctions of intervals, one set of intervals per attribute: what boxes are made of.

An *axis* is an attribute and a family of values; a value has a *code* on it. Constants that rules
mention have even codes in their order, with room between them, so that a new constant finds a code
and the others keep theirs; values between two constants share the odd code after the lower one.
An end of an interval is therefore even where it is closed and odd where it is open: `> a` begins
at the code of a plus one. `FIRST` and `LAST` are ends that a rule leaves out.

Predicates of one rule on one axis are one set of disjoint intervals: `!=` makes two of them. That
holds for single values only, since a list may satisfy each predicate by another of its values; an
event with a list on an axis has no codes, and `evaluate` decides.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from matchwood.index.build.atom_codes import AtomArrays
from matchwood.index.build.atoms import AtomTable
from matchwood.index.build.rule_programs import gather
from matchwood.index.build.slots import reading
from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.kernels.programs import atom_of, is_negated, pack_literal
from matchwood.lab.papers.shared import axes_kernels as kernels
from matchwood.lab.papers.shared.axes_kernels import (
    FIRST,
    LAST,
    MISSING,
    NO_INTERVAL,
    OTHER,
)
from matchwood.lab.papers.shared.forms import forms
from matchwood.lab.papers.shared.protocol import Rule, Unsupported
from matchwood.language import parse
from matchwood.language.events import Event
from matchwood.language.tree import And, Between, Comparison, Derived, Node
from matchwood.language.values import Family, Value

# The distance between the codes of constants that arrive in order.
_STEP = 1 << 14

# How many constants an axis takes, besides twice those it began with, before it is crowded.
_ODDS = 64


class Crowded(Exception):
    """An axis has no room for a constant, or its codes are too uneven: codes must be made anew."""


class Constraints(NamedTuple):
    """The constraints of many rules, each a set of intervals on one axis.

    Rule r has the constraints start[r] to start[r + 1], ordered by axis. Constraint c has the
    intervals span[c] to span[c + 1], whose ends belong to them; it has none if it contradicts
    itself. The rule `false` has one constraint, on axis -1.
    """

    start: Int64Array
    axis: Int32Array
    span: Int64Array
    low: Int32Array
    high: Int32Array


class Axis:
    """The codes of the values of one attribute and family."""

    def __init__(self) -> None:
        self.constants: list[Any] = []
        self.codes: list[int] = []
        self.exact: dict[Any, int] = {}
        self._even = 0  # constants when codes were spread evenly

    def code(self, value: Any) -> int:
        code = self.exact.get(value)
        if code is not None:
            return code
        position = bisect_left(self.constants, value)
        return self.codes[position - 1] + 1 if position else FIRST

    def spread(self, constants: list[Any]) -> None:
        """Take the first constants, which are sorted."""
        step = LAST // (len(constants) + 1) & ~1
        if step < 2:
            raise Crowded
        self.constants = list(constants)
        self.codes = list(range(step, step * (len(constants) + 1), step))
        self.exact = dict(zip(self.constants, self.codes, strict=True))
        self._even = len(constants)

    def add(self, constant: Any) -> int:
        """The code of a constant, which may be new."""
        known = self.exact.get(constant)
        if known is not None:
            return known
        if len(self.constants) > 2 * self._even + _ODDS:
            raise Crowded
        position = bisect_left(self.constants, constant)
        below = self.codes[position - 1] if position else FIRST
        above = self.codes[position] if position < len(self.codes) else LAST
        code = (below + above) // 2 & ~1
        if self.codes and not position:
            code = max(code, above - _STEP)
        elif position == len(self.codes) and position:
            code = min(code, below + _STEP)
        if not below + 2 <= code <= above - 2:
            raise Crowded
        self.constants.insert(position, constant)
        self.codes.insert(position, code)
        self.exact[constant] = code
        return code


class Axes:
    """The axes of the rules of one algorithm: rules to constraints, events to codes.

    >>> axes = Axes()
    >>> constraints = axes.gather(["a >= 2 and a < 5 and b = 1", "a != 2"])
    >>> constraints.axis.tolist(), constraints.span.tolist()
    ([0, 1, 0], [0, 1, 2, 4])
    >>> two, five = axes.code("a", 2), axes.code("a", 5)
    >>> constraints.low.tolist() == [two, axes.code("b", 1), FIRST, two + 1]
    True
    >>> constraints.high.tolist() == [five - 1, axes.code("b", 1), two - 1, LAST]
    True
    >>> axes.codes({"a": 2}).tolist() == [two, MISSING]
    True
    """

    def __init__(self) -> None:
        self._axes: list[Axis] = []
        self._attributes: list[str] = []
        self._number: dict[tuple[str, bool, Family], int] = {}
        self._of: dict[str, list[tuple[bool, Family, int]]] = {}  # by attribute
        self._numbers: dict[str, int] = {}  # axes of numbers
        self._strings: dict[str, int] = {}  # and of strings as they are
        self._read: set[str] = set()  # attributes whose strings are read as times or addresses

    def __len__(self) -> int:
        return len(self._axes)

    @property
    def bytes(self) -> int:
        """Bytes of constants and their codes, as plain arrays would hold them."""
        return 12 * sum(len(axis.constants) for axis in self._axes)

    def axis(self, attribute: str, family: Family, second: bool = False) -> int:
        """The number of an axis; `second` is of strings read as times or addresses."""
        key = (attribute, second, family)
        number = self._number.get(key)
        if number is None:
            number = self._number[key] = len(self._axes)
            self._axes.append(Axis())
            self._attributes.append(attribute)
            self._of.setdefault(attribute, []).append((second, family, number))
            if second:
                self._read.add(attribute)
            elif family is Family.NUMBER:
                self._numbers[attribute] = number
            elif family is Family.STRING:
                self._strings[attribute] = number
        return number

    def attribute(self, axis: int) -> str:
        return self._attributes[axis]

    def code(self, attribute: str, value: int) -> int:
        return self._axes[self._numbers[attribute]].code(value)

    def codes(self, event: Mapping[str, object]) -> Int32Array | None:
        """The code of an event on each axis, `MISSING` where it has none; None if it has a list."""
        codes = np.full(len(self._axes), MISSING, np.int32)
        if type(event) is dict and self._plain_codes(event, codes):
            return codes
        codes[:] = MISSING
        seen = Event(event)
        for name in seen.raw:
            for second, family, number in self._of.get(name, ()):
                value = seen[name]
                if not isinstance(value, Value):
                    return None
                read = reading(value.family, value.value) if second else value
                if read is not None and read[0] is family:
                    codes[number] = self._axes[number].code(read[1])
        return codes

    def _plain_codes(self, event: dict[str, Any], codes: Int32Array) -> bool:
        """Whether an event has integers and simple strings only, whose codes are then there."""
        for name, value in event.items():
            kind = type(value)
            if kind is int:
                number = self._numbers.get(name)
            elif kind is str and value.isascii() and name not in self._read:
                number = self._strings.get(name)
            else:
                return False
            if number is not None:
                codes[number] = self._axes[number].code(value)
        return True

    def gather(self, rules: Sequence[Rule]) -> Constraints:
        """The constraints of many rules; `Unsupported` says which is no conjunction, and why."""
        atoms = AtomTable()
        gathered = gather(rules, atoms)
        if gathered.refused:
            raise gathered.refused[0][1]
        arrays, number, _ = atoms.seal()
        program, start = gathered.program, gathered.start
        is_literal = program >= 0
        literals = program[is_literal]
        program[is_literal] = pack_literal(number[atom_of(literals)], is_negated(literals))
        words, start = forms(program, start, len(number))
        axis, low, high = self._coded(atoms, arrays)
        rule, why = kernels.first_refused(words, start, axis)
        if rule >= 0:
            raise Unsupported(f"rule {gathered.accepted[rule] + 1} of {len(rules)}: {_WHY[why]}")
        unordered = Constraints(*kernels.constraints(words, start, axis, arrays.start, low, high))
        return _in_order(unordered, gathered.accepted)

    def _coded(
        self, atoms: AtomTable, arrays: AtomArrays
    ) -> tuple[Int32Array, Int32Array, Int32Array]:
        """The axis of every atom, -1 where it is no interval, and all ends of intervals in codes.

        In the engine's codes constant i of n is 2i + 1 after its family's first.
        """
        base = np.cumsum([0, *(slot.codes for slot in atoms.slots)])
        axis_at = np.full(base[-1], -1, np.int32)  # by slot and first code of a family
        low_code = np.zeros(base[-1], np.int32)
        high_code = np.zeros(base[-1], np.int32)
        for slot, at in zip(atoms.slots, base[:-1].tolist(), strict=True):
            for family, constants in slot.constants.items():
                number = self.axis(slot.attribute, family, slot.time)
                axis = self._axes[number]
                if constants and not axis.constants:
                    axis.spread(constants)
                codes = np.array([axis.add(constant) for constant in constants], np.int32)
                first, last = (at + code for code in slot.family_codes(family))
                axis_at[first] = number
                low_code[first + 1 : last : 2] = high_code[first + 1 : last : 2] = codes
                low_code[first : last + 1 : 2] = np.r_[FIRST, codes + 1]
                high_code[first : last + 1 : 2] = np.r_[codes - 1, LAST]
        plain = (arrays.opaque < 0) & (arrays.family_low > 1)
        derived = np.array([isinstance(slot.attribute, Derived) for slot in atoms.slots], np.bool_)
        plain &= ~derived[arrays.slot]
        owner = np.repeat(np.arange(len(plain)), np.diff(arrays.start))
        outside = (arrays.low < arrays.family_low[owner]) | (
            arrays.high > arrays.family_high[owner]
        )
        plain[owner[outside]] = False  # a test of truth
        at = base[arrays.slot]
        axis_of = np.where(plain, axis_at[at + np.where(plain, arrays.family_low, 0)], -1)
        at = np.repeat(at, np.diff(arrays.start))
        return axis_of.astype(np.int32), low_code[at + arrays.low], high_code[at + arrays.high]

    def constraints(self, rule: Rule) -> Constraints:
        """The constraints of one rule; quick where it is made of comparisons and `between`."""
        tree = parse(rule)
        parts = tree.operands if isinstance(tree, And) else (tree,)
        if not all(_plain(part) for part in parts):
            return self.gather([tree])
        by_axis: dict[int, list[tuple[int, int]]] = {}
        for part in parts:
            number, intervals = self._intervals(part)
            before = by_axis.get(number, [(FIRST, LAST)])
            both = [(max(a, c), min(b, d)) for a, b in before for c, d in intervals]
            by_axis[number] = sorted((low, high) for low, high in both if low <= high)
        axes = sorted(by_axis)
        ends = [interval for axis in axes for interval in by_axis[axis]]
        low, high = np.array(ends, np.int32).reshape(-1, 2).T
        return Constraints(
            np.array([0, len(axes)], np.int64),
            np.array(axes, np.int32),
            np.cumsum([0, *(len(by_axis[axis]) for axis in axes)]).astype(np.int64),
            np.ascontiguousarray(low),
            np.ascontiguousarray(high),
        )

    def _intervals(self, part: Node) -> tuple[int, list[tuple[int, int]]]:
        """The axis of a plain predicate, and where it is true."""
        assert isinstance(part, Comparison | Between)
        number = self.axis(part.attribute, part.family, part.family is Family.TIME)
        axis = self._axes[number]
        if isinstance(part, Between):
            return number, [(axis.add(part.low), axis.add(part.high))]
        code = axis.add(part.value)
        return number, {
            "=": [(code, code)],
            "!=": [(FIRST, code - 1), (code + 1, LAST)],
            "<": [(FIRST, code - 1)],
            "<=": [(FIRST, code)],
            ">": [(code + 1, LAST)],
            ">=": [(code, LAST)],
        }[part.op]


def is_conjunctive(rule: Node) -> bool:
    """Whether a rule is a conjunction of predicates that are intervals of values.

    >>> is_conjunctive(parse("a > 1 and b != 2")), is_conjunctive(parse("a > 1 or b = 2"))
    (True, False)
    """
    try:
        Axes().gather([rule])
    except Unsupported:
        return False
    return True


def _plain(part: Node) -> bool:
    return isinstance(part, Comparison) or (isinstance(part, Between) and not part.negated)


# What the error says of each reason to refuse a rule.
_WHY = {
    OTHER: "it is not a conjunction of predicates: it has an or, an xor or an xnor",
    NO_INTERVAL: "one of its predicates is no interval of values, such as is null or rlike",
}


def _in_order(constraints: Constraints, accepted: Int64Array) -> Constraints:
    """Rules in their original order, which `gather` keeps for most of them."""
    if (np.diff(accepted) > 0).all():
        return constraints
    order = np.argsort(accepted)
    chosen = _spans(constraints.start, order)
    intervals = _spans(constraints.span, chosen)
    return Constraints(
        np.r_[0, np.cumsum(np.diff(constraints.start)[order])],
        constraints.axis[chosen],
        np.r_[0, np.cumsum(np.diff(constraints.span)[chosen])],
        constraints.low[intervals],
        constraints.high[intervals],
    )


def _spans(start: Int64Array, chosen: Int64Array) -> Int64Array:
    """The numbers from start[i] to before start[i + 1] for every chosen i, one after the other."""
    sizes = np.diff(start)[chosen]
    first = np.repeat(start[:-1][chosen] - np.r_[0, np.cumsum(sizes)[:-1]], sizes)
    spans: Int64Array = first + np.arange(len(first))
    return spans
