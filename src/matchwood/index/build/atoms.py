"""Distinct predicates (atoms), collected one by one or, over plain integers, many at once.

`slots` has the attributes and constants that they are about, and `atom_codes` makes arrays of them
once all are known.
"""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.atom_codes import AtomArrays, AtomColumns, code_atoms, small_integer
from matchwood.index.build.index_form import (
    is_value_test,
    positive_literal,
    predicate_of,
    tested_value,
)
from matchwood.index.build.integer_predicate_kernels import number_integer_atoms
from matchwood.index.build.slots import (
    Slot,
    address_key,
    axis_without_family,
    has_family,
    pack_axis,
)
from matchwood.index.build.truth_atoms import with_tests
from matchwood.kernels.array_types import Int64Array
from matchwood.kernels.predicate_codes import (
    BETWEEN,
    EQ,
    GE,
    IN,
    IS_NULL,
    IS_OPAQUE,
    PREDICATES,
    PREFIX,
)
from matchwood.kernels.programs import pack_literal
from matchwood.kernels.records import LAZY, MISSING, VALUE_TEST
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
    TruthTest,
    attributes_in,
)
from matchwood.language.tree.arithmetic import Attribute
from matchwood.language.tree.calls import Network, network
from matchwood.language.values import Family, Literal
from matchwood.language.wildcards import ANY

# What says which set of codes a predicate is: its operator, axis and values.
Ordered = tuple[int, int, tuple[Literal, ...]]


class AtomTable:
    """Collects atoms and constants, then makes arrays of them.

    Atoms over plain integers that came many at once are entered into `_known` only when another one
    comes that may be the same.
    """

    def __init__(self) -> None:
        self.slots: list[Slot] = []
        self._slot_of: dict[tuple[str, bool], int] = {}
        self._known: dict[object, int] = {}
        self._op = array("q")
        self._axis = array("q")  # see `pack_axis` and `axis_without_family`
        self._start = array("q", [0])  # bounds of the values of each atom
        self._integers = array("q")  # values that are small integers, and 0 in place of others
        self._others: dict[int, Literal] = {}
        self._unlisted = range(0)  # atoms that are not in `_known` yet
        self._compared: set[int] = set()  # axes that need codes though no constant is on them
        self._tests: dict[int, str] = {}  # atom → the truth of its predicate that it tests
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
        if isinstance(node, TruthTest):
            return self._tested(node)
        if isinstance(node, AttributeComparison):
            negated = int(node.op == "!=")
        ordered = self._ordered(node)
        atom = self._opaque(node) if ordered is None else self._number(*ordered)
        return int(pack_literal(atom, negated))

    def _tested(self, node: TruthTest) -> int:
        """The literal of a test of truth of one predicate."""
        test, inner = node.truth, node.operands[0]
        ordered = self._ordered(inner)
        is_isa = isinstance(inner, Call) and inner.name == "isa"
        if test == "unknown" and is_value_test(inner) and not is_isa:  # its hierarchy is checked
            ordered = IN, self._axis_of_strings(inner), ()
        if ordered is None:
            return int(pack_literal(self._opaque(node), node.negated))
        op, axis, values = ordered
        if test == "unknown":
            op, values = IN, ()  # it depends on the family alone
            if has_family(axis):
                self._compared.add(axis)
        # That it is false is the negation of an atom that is true wherever it is not.
        return int(
            pack_literal(self._number(op, axis, values, test), (test == "false") != node.negated)
        )

    def _ordered(self, node: Node) -> Ordered | None:
        """The operator, axis and values of a predicate that is a set of codes, or else None."""
        match node:
            case Comparison():
                op = EQ if node.op == "!=" else PREDICATES.index(node.op)
                return self.ordered(node.attribute, op, node.family, (node.value,))
            case Between():
                values = (node.low, node.high)
                return self.ordered(node.attribute, BETWEEN, node.family, values)
            case In(family=Family() as family):
                return self.ordered(node.attribute, IN, family, node.values)
            case IsNull():
                return IS_NULL, axis_without_family(self.slot(node.attribute)), ()
            case Like(kind="like") if (prefix := _prefix(node.pattern)) is not None:
                return self._starting(node.attribute, *prefix)
            case Call(name="startswith", arguments=(Attribute() as subject, str() as part)):
                return self._starting(subject.name, part, True)
            case Call(name="in_network", arguments=(Attribute() as subject, str() as text)):
                return self._within(subject.name, network(text))
        return None

    def integers(
        self, axis: Int64Array, op: Int64Array, bounds: Int64Array, values: Int64Array
    ) -> Int64Array:
        """The atoms of predicates over plain integers, -1 where `axis` is below zero.

        The values of a list are sorted and distinct. The arrays are those that
        `read_integer_predicates` returns.
        """
        if len(self):
            return self._integers_one_by_one(axis, op, bounds, values)
        numbers: Int64Array
        numbers, chosen = number_integer_atoms(axis, op, bounds, values)
        counts = np.diff(bounds)[chosen]
        first = np.cumsum(counts) - counts
        places = np.repeat(bounds[:-1][chosen] - first, counts) + np.arange(counts.sum())
        self._op.frombytes(op[chosen].tobytes())
        self._axis.frombytes(axis[chosen].tobytes())
        self._start.frombytes(np.cumsum(counts).tobytes())
        self._integers.frombytes(values[places].tobytes())
        self._unlisted = range(len(chosen))
        return numbers

    def _integers_one_by_one(
        self, axis: Int64Array, op: Int64Array, bounds: Int64Array, values: Int64Array
    ) -> Int64Array:
        numbers = np.full(len(axis), -1, np.int64)
        ends, listed = bounds.tolist(), values.tolist()
        for i in np.flatnonzero(axis >= 0).tolist():
            mine = tuple(listed[ends[i] : ends[i + 1]])
            numbers[i] = self._number(int(op[i]), int(axis[i]), mine)
        return numbers

    def _list_integers(self) -> None:
        """Enter into `_known` the atoms that are not there yet."""
        for number in self._unlisted:
            values = tuple(self._integers[self._start[number] : self._start[number + 1]])
            self._known[self._op[number], self._axis[number], values] = number
        self._unlisted = range(0)

    def _new(self, op: int, axis: int) -> int:
        """The number of a new atom, which has no values yet."""
        self._op.append(op)
        self._axis.append(axis)
        self._start.append(len(self._integers))
        return len(self._op) - 1

    def ordered(
        self, attribute: str, op: int, family: Family, values: tuple[Literal, ...]
    ) -> Ordered:
        """What says which interval, or which set, of values a predicate is true of."""
        if op == IN:
            values = tuple(sorted(set(values)))
            op = EQ if len(values) == 1 else IN
        return op, pack_axis(self.slot(attribute, family is Family.TIME), family), values

    def _number(self, op: int, axis: int, values: tuple[Literal, ...], test: str = "") -> int:
        """The atom of a predicate that is a set of codes, or of a test of its truth."""
        # The axis holds the family, so 1 and true differ.
        key = (op, axis, values, test) if test else (op, axis, values)
        if self._unlisted and all(value == 0 or small_integer(value) for value in values):
            self._list_integers()
        number = self._known.get(key)
        if number is None:
            number = self._known[key] = self._new(op, axis)
            if test:
                self._tests[number] = test
            for value in values:
                if not small_integer(value):
                    self._others[len(self._integers)] = value
                self._integers.append(value if small_integer(value) else 0)
            self._start[-1] = len(self._integers)
        return number

    def _starting(self, attribute: str, text: str, open_end: bool) -> Ordered:
        if not open_end:
            return self.ordered(attribute, EQ, Family.STRING, (text,))
        after = _successor(text)
        if after is None:
            return self.ordered(attribute, GE, Family.STRING, (text,))
        return self.ordered(attribute, PREFIX, Family.STRING, (text, after))

    def _within(self, attribute: str, net: Network) -> Ordered:
        ends = (address_key(net.network_address), address_key(net.broadcast_address))
        return BETWEEN, pack_axis(self.slot(attribute, True), Family.STRING), ends

    def _axis_of_strings(self, node: Node) -> int:
        """The axis of the values that decide a value test: strings, or those of lists alone."""
        slot = self.slot(predicate_of(node).subjects[0])
        if not _tests_strings(node):
            return axis_without_family(slot)
        axis = pack_axis(slot, Family.STRING)
        self._compared.add(axis)
        return axis

    def _opaque(self, node: Node) -> int:
        """An atom that codes alone do not decide; its slot is that of its (first) attribute."""
        positive = positive_literal(node)
        number = self._known.get(positive)
        if number is None:
            if kind_of(node) == VALUE_TEST:
                axis = self._axis_of_strings(node)
            else:
                named = node.attributes or sorted(attributes_in(node)) or ("",)
                first, *_ = map(self.slot, named)
                axis = axis_without_family(first)
            number = self._known[positive] = self._new(IS_OPAQUE, axis)
            self.opaque[number] = positive
        return number

    def seal(self) -> tuple[AtomArrays, NDArray[np.int32], list[Node]]:
        """The arrays, the new number of each atom, and the predicates of opaque atoms in order."""
        collected = (self._op, self._axis, self._start, self._integers)
        op, axis, start, integers = (np.array(column, np.int64) for column in collected)
        columns = AtomColumns(op, axis, start, integers, self._others)
        order, arrays = code_atoms(columns, self.slots, self._compared)
        codes = np.array([slot.codes for slot in self.slots], np.int64)
        arrays = with_tests(arrays, [self._tests.get(int(atom)) for atom in order], codes)
        renumbered = np.empty(len(order), np.int32)
        renumbered[order] = np.arange(len(order), dtype=np.int32)
        nodes = [self.opaque[int(atom)] for atom in order[arrays.opaque >= 0]]
        arrays.kind[arrays.opaque >= 0] = [kind_of(node) for node in nodes]
        for atom, node in zip(np.flatnonzero(arrays.opaque >= 0).tolist(), nodes, strict=True):
            if tested_value(node) is not None:  # it is false of whatever it is not true of
                arrays.family_low[atom] = MISSING
                arrays.family_high[atom] = codes[arrays.slot[atom]] - 1
        return arrays, renumbered, nodes


def _tests_strings(node: Node) -> bool:
    """Whether a value test can be true of a string: not `contains(a, 5)`, which needs a list."""
    node = predicate_of(node)
    return not (isinstance(node, Call) and node.name == "contains") or isinstance(
        node.arguments[1], str
    )


def kind_of(node: Node) -> int:
    """VALUE_TEST if one string decides the atom, LAZY if a comparison or call has to be made.

    A value test is true or false of every string.
    """
    return VALUE_TEST if is_value_test(predicate_of(node)) else LAZY


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
