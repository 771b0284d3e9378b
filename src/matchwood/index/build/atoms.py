"""Distinct predicates (atoms), the constants they mention, and their intervals of codes.

Every attribute is a *slot* with one axis of codes. Code 0 is a missing value, and code 1 a value of
no family that rules compare. Then the families follow: in each, counted from its first code,
constant i of n has code 2i + 1, and everything strictly between constants i - 1 and i has code 2i.
So every ordered predicate is an interval of small integers, or a few of them, and its negation is
the rest of its family. An attribute that is compared with times or networks has a second slot,
because a string is then also read as a time or as an address (it cannot be both).
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.predicate_codes import (
    BETWEEN,
    EQ,
    GE,
    GT,
    IN,
    IS_NULL,
    IS_OPAQUE,
    LE,
    LT,
    PREDICATES,
    PREFIX,
)
from matchwood.kernels.programs import pack_literal
from matchwood.kernels.records import LAZY, OTHER, VALUE_TEST
from matchwood.language.strings import like_pieces
from matchwood.language.tree import (
    AttributeComparison,
    Between,
    Call,
    Comparison,
    In,
    IsNull,
    Like,
    Node,
)
from matchwood.language.tree.arithmetic import Attribute
from matchwood.language.tree.calls import Address, Network, address, network
from matchwood.language.values import Family, Literal, read_time
from matchwood.language.wildcards import ANY

# The order of families in a main slot.
AXIS = (Family.NUMBER, Family.STRING, Family.BOOLEAN)

# The order of families in a second slot.
SECOND_AXIS = (Family.TIME, Family.STRING)


@dataclass
class Slot:
    """One axis of codes: the families in order, each with its sorted constants.

    A second slot (`time`) has times, and addresses as strings: see `reading`.
    """

    attribute: str
    time: bool
    constants: dict[Family, list[Literal]] = field(default_factory=dict)
    first: dict[Family, int] = field(default_factory=dict)  # the first code of each family
    codes: int = 2

    def seal(self) -> None:
        """Fix the codes, once all constants are known."""
        self.codes = 2
        for family in SECOND_AXIS if self.time else AXIS:
            if family in self.constants:
                self.first[family] = self.codes
                self.codes += 2 * len(self.constants[family]) + 1

    def code(self, family: Family | None, value: Literal | None) -> int:
        """The code of a value that is present."""
        if family is None or family not in self.first:
            return OTHER
        constants = self.constants[family]
        place = bisect_left(constants, value)  # type: ignore[type-var]
        exact = place < len(constants) and constants[place] == value
        return self.first[family] + 2 * place + exact

    def family_codes(self, family: Family) -> tuple[int, int]:
        first = self.first[family]
        return first, first + 2 * len(self.constants[family])


def address_key(ip: Address) -> str:
    """An address as a string that sorts by version, then by number."""
    return f"{ip.version}{int(ip):0{ip.max_prefixlen // 4}x}"


def reading(family: Family | None, value: Literal | None) -> tuple[Family, Literal] | None:
    """What a second slot sees of a value: a time, the key of an address, or None.

    >>> reading(Family.STRING, "10.0.0.1")
    (<Family.STRING: 'string'>, '40a000001')
    >>> reading(Family.STRING, "1970-01-01")
    (<Family.TIME: 'time'>, Time(ns=0))
    """
    if family is Family.TIME and value is not None:
        return family, value
    if family is not Family.STRING:
        return None
    text = str(value)
    moment = read_time(text)
    if moment is not None:
        return Family.TIME, moment
    parsed = address(text)
    return None if parsed is None else (Family.STRING, address_key(parsed))


class AtomArrays(NamedTuple):
    """Atoms in order of slot and first code; interval j of atom i is at start[i] + j."""

    slot: NDArray[np.int32]
    family_low: NDArray[np.int32]
    family_high: NDArray[np.int32]
    start: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    kind: NDArray[np.uint8]
    opaque: NDArray[np.int32]  # number among the atoms that are not sets of codes, else -1


_FAMILIES = (Family.NUMBER, Family.STRING, Family.BOOLEAN, Family.TIME)
# Integers between -_SMALL and _SMALL are sorted as int64.
_SMALL = 1 << 62


class AtomTable:
    """Collects atoms and constants, then makes arrays of them."""

    def __init__(self) -> None:
        self.slots: list[Slot] = []
        self._slot_of: dict[tuple[str, bool], int] = {}
        self._known: dict[object, int] = {}
        self._op: list[int] = []
        self._axis: list[int] = []  # see `_pack_axis` and `_axis_without_family`
        self._values: list[tuple[Literal, ...]] = []
        self._compared: set[int] = set()  # axes that need codes though no constant is on them
        self.opaque: dict[int, Node] = {}  # atom → its predicate, where it is not an interval

    def __len__(self) -> int:
        return len(self._op)

    def slot(self, attribute: str, time: bool = False) -> int:
        key = (attribute, time)
        number = self._slot_of.get(key)
        if number is None:
            number = self._slot_of[key] = len(self.slots)
            self.slots.append(Slot(attribute, time))
        return number

    def literal(self, node: Node) -> int:
        """The literal of a predicate, a comparison of attributes, or a call."""
        negated = int(getattr(node, "negated", False))
        if isinstance(node, AttributeComparison):
            negated = int(node.op == "!=")
        match node:
            case Comparison():
                op = EQ if node.op == "!=" else PREDICATES.index(node.op)
                atom = self.ordered(node.attribute, op, node.family, (node.value,))
            case Between():
                values = (node.low, node.high)
                atom = self.ordered(node.attribute, BETWEEN, node.family, values)
            case In():
                atom = self.ordered(node.attribute, IN, node.family, node.values)
            case IsNull():
                atom = self._number(IS_NULL, _axis_without_family(self.slot(node.attribute)), ())
            case Like(kind="like") if (prefix := _prefix(node.pattern)) is not None:
                atom = self._starting(node.attribute, *prefix)
            case Call(name="startswith", arguments=(Attribute() as subject, str() as part)):
                atom = self._starting(subject.name, part, True)
            case Call(name="in_network", arguments=(Attribute() as subject, str() as text)):
                atom = self._within(subject.name, network(text))
            case _:
                atom = self._opaque(node)
        return int(pack_literal(atom, negated))

    def ordered(self, attribute: str, op: int, family: Family, values: tuple[Literal, ...]) -> int:
        """The atom of a predicate that is true of an interval of values, or of a set."""
        if op == IN:
            values = tuple(sorted(set(values)))
            op = EQ if len(values) == 1 else IN
        axis = _pack_axis(self.slot(attribute, family is Family.TIME), family)
        return self._number(op, axis, values)

    def _number(self, op: int, axis: int, values: tuple[Literal, ...]) -> int:
        key = (op, axis, values)  # the axis holds the family, so 1 and true differ
        number = self._known.get(key)
        if number is None:
            number = self._known[key] = len(self._op)
            self._op.append(op)
            self._axis.append(axis)
            self._values.append(values)
        return number

    def _starting(self, attribute: str, text: str, open_end: bool) -> int:
        if not open_end:
            return self.ordered(attribute, EQ, Family.STRING, (text,))
        after = _successor(text)
        if after is None:
            return self.ordered(attribute, GE, Family.STRING, (text,))
        return self.ordered(attribute, PREFIX, Family.STRING, (text, after))

    def _within(self, attribute: str, net: Network) -> int:
        ends = (address_key(net.network_address), address_key(net.broadcast_address))
        axis = _pack_axis(self.slot(attribute, True), Family.STRING)
        return self._number(BETWEEN, axis, ends)

    def _opaque(self, node: Node) -> int:
        """An atom that codes alone do not decide; its slot is that of its (first) attribute."""
        positive = _positive(node)
        number = self._known.get(positive)
        if number is None:
            attributes: tuple[str, ...] = getattr(node, "attributes", ())
            slots = [self.slot(attribute) for attribute in attributes or ("",)]
            axis = _axis_without_family(slots[0])
            if kind_of(node) == VALUE_TEST and _tests_strings(node):
                axis = _pack_axis(slots[0], Family.STRING)
                self._compared.add(axis)
            number = self._known[positive] = len(self._op)
            self._op.append(IS_OPAQUE)
            self._axis.append(axis)
            self._values.append(())
            self.opaque[number] = positive
        return number

    def seal(self) -> tuple[AtomArrays, NDArray[np.int32], list[Node]]:
        """The arrays, the new number of each atom, and the predicates of opaque atoms in order."""
        op = np.array(self._op, np.int64)
        axis = np.array(self._axis, np.int64)
        counts = np.array([len(values) for values in self._values], np.int64)
        code = self._seal_constants(np.repeat(axis, counts))
        start = np.r_[0, np.cumsum(counts)]
        slot = _axis_slots(axis)
        codes = np.array([s.codes for s in self.slots], np.int64)
        distinct, which = np.unique(axis, return_inverse=True)
        bounds = np.array([self._family_codes(int(number)) for number in distinct], np.int64)
        family_low, family_high = bounds.reshape(-1, 2)[which].T
        null = op == IS_NULL
        family_low[null], family_high[null] = 0, codes[slot[null]] - 1
        return self._ordered(op, slot, family_low, family_high, start, code)

    def _family_codes(self, axis: int) -> tuple[int, int]:
        """The first and last code of an axis; (1, 0) if it has no family."""
        if not _has_family(axis):
            return 1, 0
        return self.slots[_axis_slot(axis)].family_codes(_axis_family(axis))

    def _seal_constants(self, axis: NDArray[np.int64]) -> NDArray[np.int64]:
        """Fix the codes of all slots; the code of every value of every atom, in order."""
        flat = [value for values in self._values for value in values]
        for number in self._compared:
            self.slots[_axis_slot(number)].constants.setdefault(_axis_family(number), [])
        rank = np.empty(len(flat), np.int64)
        plain = np.fromiter(
            (type(v) is int and -_SMALL < v < _SMALL for v in flat), bool, len(flat)
        )
        plain &= ~np.isin(axis, axis[~plain])  # a family is sorted in one way
        self._rank_integers(flat, axis, np.flatnonzero(plain), rank)
        self._rank_values(flat, axis, np.flatnonzero(~plain), rank)
        for slot in self.slots:
            slot.seal()
        distinct, which = np.unique(axis, return_inverse=True)
        first = np.array([self._family_codes(int(number))[0] for number in distinct], np.int64)
        return first[which] + 2 * rank + 1

    def _rank_integers(
        self,
        flat: list[Literal],
        axis: NDArray[np.int64],
        chosen: NDArray[np.int64],
        rank: NDArray[np.int64],
    ) -> None:
        """The constants of axes that have small integers only, sorted all at once."""
        if not len(chosen):
            return
        values = np.array([flat[i] for i in chosen.tolist()], np.int64)
        order = np.lexsort((values, axis[chosen]))
        values, chosen = values[order], chosen[order]
        owner = axis[chosen]
        new_axis = np.r_[True, owner[1:] != owner[:-1]]
        new = new_axis | np.r_[True, values[1:] != values[:-1]]
        place = np.cumsum(new) - 1
        starts = place[new_axis]
        rank[chosen] = place - np.repeat(starts, np.diff(np.r_[np.flatnonzero(new_axis), len(new)]))
        constants = values[new].tolist()
        ends = np.r_[starts[1:], len(constants)].tolist()
        for number, low, high in zip(owner[new_axis].tolist(), starts.tolist(), ends, strict=True):
            self.slots[_axis_slot(number)].constants[_axis_family(number)] = constants[low:high]

    def _rank_values(
        self,
        flat: list[Literal],
        axis: NDArray[np.int64],
        chosen: NDArray[np.int64],
        rank: NDArray[np.int64],
    ) -> None:
        """The constants of all other axes, one axis after another."""
        if not len(chosen):
            return
        chosen = chosen[np.argsort(axis[chosen], kind="stable")]
        for run in np.split(chosen, np.flatnonzero(np.diff(axis[chosen])) + 1):
            number = int(axis[run[0]])
            values = [flat[i] for i in run.tolist()]
            distinct = sorted(set(values))
            self.slots[_axis_slot(number)].constants[_axis_family(number)] = distinct
            rank_of = {constant: i for i, constant in enumerate(distinct)}
            rank[run] = [rank_of[value] for value in values]

    def _ordered(
        self,
        op: NDArray[np.int64],
        slot: NDArray[np.int64],
        family_low: NDArray[np.int64],
        family_high: NDArray[np.int64],
        start: NDArray[np.int64],
        code: NDArray[np.int64],
    ) -> tuple[AtomArrays, NDArray[np.int32], list[Node]]:
        count = len(op)
        has_values = start[1:] > start[:-1]
        low, high = np.zeros(count, np.int64), np.zeros(count, np.int64)
        low[has_values], high[has_values] = (
            code[start[:-1][has_values]],
            code[start[1:][has_values] - 1],
        )
        below, above = (op == LT) | (op == LE), (op == GT) | (op == GE)
        high = np.where(op == LT, low - 1, np.where(op == PREFIX, high - 1, high))
        low = np.where(op == GT, low + 1, low)
        low = np.where(below, family_low, low)
        high = np.where(above, family_high, high)
        sizes = np.where(op == IN, start[1:] - start[:-1], (low <= high).astype(np.int64))
        sizes[op == IS_OPAQUE] = 0
        order = np.lexsort((high, low, slot))
        new_start = np.r_[0, np.cumsum(sizes[order])]
        iv_low = np.repeat(low[order], sizes[order])
        iv_high = np.repeat(high[order], sizes[order])
        for place in np.flatnonzero(op[order] == IN):
            atom = order[place]
            points = code[start[atom] : start[atom + 1]]
            iv_low[new_start[place] : new_start[place + 1]] = points
            iv_high[new_start[place] : new_start[place + 1]] = points
        renumbered = np.empty(count, np.int32)
        renumbered[order] = np.arange(count, dtype=np.int32)
        opaque = op[order] == IS_OPAQUE
        nodes = [self.opaque[int(atom)] for atom in order[opaque]]
        kind = np.zeros(count, np.uint8)
        kind[opaque] = [kind_of(node) for node in nodes]
        numbers = np.where(opaque, np.cumsum(opaque) - 1, -1)
        arrays = AtomArrays(
            slot[order].astype(np.int32),
            family_low[order].astype(np.int32),
            family_high[order].astype(np.int32),
            new_start.astype(np.int32),
            iv_low.astype(np.int32),
            iv_high.astype(np.int32),
            kind,
            numbers.astype(np.int32),
        )
        return arrays, renumbered, nodes


def _pack_axis(slot: int, family: Family) -> int:
    """A slot and one of its families in one number: | slot | family: 2 bits |."""
    return 4 * slot + _FAMILIES.index(family)


def _axis_without_family(slot: int) -> int:
    """The axis of an atom that compares no values: a slot alone, as a number below zero."""
    return -1 - slot


def _has_family(axis: int) -> bool:
    return axis >= 0


def _axis_slot(axis: int) -> int:
    return axis >> 2 if _has_family(axis) else -1 - axis


def _axis_slots(axes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The slot of each of several axes."""
    return np.where(axes < 0, -1 - axes, axes >> 2)


def _axis_family(axis: int) -> Family:
    return _FAMILIES[axis & 3]


def _tests_strings(node: Node) -> bool:
    """Whether a value test can be true of a string: not `contains(a, 5)`, which needs a list."""
    return not (isinstance(node, Call) and node.name == "contains") or isinstance(
        node.arguments[1], str
    )


def kind_of(node: Node) -> int:
    """VALUE_TEST if one string decides the atom, LAZY if a comparison or call has to be made.

    A value test is true or false of every string.
    """
    if isinstance(node, Like):
        return VALUE_TEST
    if isinstance(node, Call) and node.name in ("endswith", "isa"):
        return VALUE_TEST
    if isinstance(node, Call) and node.name == "contains":
        return LAZY if isinstance(node.arguments[1], Attribute) else VALUE_TEST
    return LAZY


def _positive(node: Node) -> Node:
    if isinstance(node, Like) and node.negated:
        return Like(node.attribute, node.kind, node.pattern)
    if isinstance(node, AttributeComparison) and node.op == "!=":
        return AttributeComparison(node.left, "=", node.right)
    return node


def _prefix(pattern: str) -> tuple[str, bool] | None:
    """(text, whether anything may follow) if a `like` is an interval of strings, else None."""
    pieces = like_pieces(pattern)
    if len(pieces) > 2 or ANY in pieces[0] or (len(pieces) == 2 and pieces[1]):
        return None
    return pieces[0], len(pieces) == 2


def _successor(text: str) -> str | None:
    """The least string above every string that starts with `text`; None if there is none."""
    stripped = text.rstrip("\U0010ffff")
    if not stripped:
        return None
    last = ord(stripped[-1]) + 1
    return stripped[:-1] + chr(0xE000 if last == 0xD800 else last)
