"""Lazy atoms of the events of a batch: comparisons of two attributes, and `contains` of them.

Codes do not decide such an atom. It is evaluated on the columns of its own attributes, whatever
else the events have: for all events of a batch, or only for the one that asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from matchwood.index.build.index_form import evaluated_whole
from matchwood.kernels.array_types import UInt8Array
from matchwood.language.bindings import Truth
from matchwood.language.events import Event
from matchwood.language.predicate_truth import compare_attributes
from matchwood.language.seen import Seen, see
from matchwood.language.tree import AttributeComparison, Call, Node
from matchwood.language.values import NULL, Family, Value
from matchwood.match.event.everywhere import FoundEverywhere
from matchwood.match.event.lazy_atoms import STATE, LazyAtoms
from matchwood.match.event.literal_kernels import UNDEFINED_SEEN

if TYPE_CHECKING:
    from matchwood.match.batch.codes.column_comparisons import TypedColumn

_STRING = Family.STRING

# The truth that a state stands for.
_TRUTH = {state: truth for truth, state in STATE.items()}


class AskedColumn:
    """The values that the events of a batch have of one attribute, in the forms that are needed.

    `array` is an Arrow array of them, if there is one that means the same; `read` gives them as
    they were given.
    """

    def __init__(self, name: str, array: Any | None, read: Callable[[], Sequence[object]]) -> None:
        self._name = name
        self._array = array
        self._read = read
        self._given: Sequence[object] | None = None
        self._seen: list[Seen] | None = None
        self._typed: TypedColumn | None = None

    def given(self) -> Sequence[object]:
        """The values as they were given."""
        if self._given is None:
            self._given = self._read()
        return self._given

    def seen(self) -> list[Seen]:
        """What predicates see of the values."""
        if self._seen is None:
            self._seen = [see(self._name, value) for value in self.given()]
        return self._seen

    def typed(self) -> TypedColumn | None:
        """The values of one type, which are compared all at once; None if they are not."""
        if self._typed is None and self._array is not None:
            from matchwood.match.batch.codes.column_comparisons import typed_column

            self._typed = typed_column(self._array)
            if self._typed is None:
                self._array = None
        return self._typed


class LazyColumns:
    """The lazy atoms of a segment for the events of one batch; one thread uses it."""

    def __init__(
        self,
        atoms: LazyAtoms,
        events: int,
        column: Callable[[str], AskedColumn | None],
        row: Callable[[int], Event],
    ) -> None:
        """`column` gives the values of an attribute (None if no event has it), `row` an event."""
        self._atoms = atoms
        self._events = events
        self._column = column
        self._row = row
        self._columns: dict[str, AskedColumn | None] = {}
        self._states: dict[int, UInt8Array] = {}
        self._everywhere: dict[int, FoundEverywhere] = {}  # by event

    def states(self, number: int) -> UInt8Array:
        """The state of an atom for each event of the batch."""
        states = self._states.get(number)
        if states is None:
            states = self._states[number] = self._evaluated(number)
        return states

    def _evaluated(self, number: int) -> UInt8Array:
        if not self._is_everywhere(number):
            return self._evaluate(self._atoms.node(number))
        found = (self._found(event).truth(number) for event in range(self._events))
        return np.array([STATE[truth] for truth in found], np.uint8)

    def _is_everywhere(self, number: int) -> bool:
        everywhere = self._atoms.everywhere
        return everywhere is not None and number in everywhere.numbers

    def _found(self, event: int) -> FoundEverywhere:
        found = self._everywhere.get(event)
        if found is None:
            assert self._atoms.everywhere is not None
            found = self._everywhere[event] = self._atoms.everywhere.found(self._row(event))
        return found

    def truth(self, event: int, number: int) -> Truth:
        """Whether an atom is true of one event; others are looked at only if that costs little."""
        states = self._states.get(number)
        if states is None and self._is_everywhere(number):
            return self._found(event).truth(number)
        node = self._atoms.node(number)
        if states is None and isinstance(node, AttributeComparison) and not evaluated_whole(node):
            columns = [self._of(name) for name in (node.left, node.right)]
            if all(column is None or column.typed() is not None for column in columns):
                states = self.states(number)
        return self._at(node, event) if states is None else _TRUTH[int(states[event])]

    def _of(self, name: str) -> AskedColumn | None:
        if name not in self._columns:
            self._columns[name] = self._column(name)
        return self._columns[name]

    def _seen(self, name: str, event: int) -> Seen:
        column = self._of(name)
        return NULL if column is None else column.seen()[event]

    def _evaluate(self, node: Node) -> UInt8Array:
        undefined = np.full(self._events, UNDEFINED_SEEN, np.uint8)
        if evaluated_whole(node):
            states = [STATE[self._at(node, event)] for event in range(self._events)]
            return np.array(states, np.uint8)
        columns = [self._of(name) for name in node.attributes]
        if isinstance(node, AttributeComparison):
            left, right = self._of(node.left), self._of(node.right)
            if left is None or right is None:
                return undefined
            typed = left.typed(), right.typed()
            if typed[0] is not None and typed[1] is not None:
                from matchwood.match.batch.codes.column_comparisons import compare_columns

                return compare_columns(typed[0], node.op, typed[1])
            return compare_values(left.seen(), node.op, right.seen())
        if any(column is None for column in columns):
            return undefined  # a call with an argument that is not there
        if _is_contains(node):
            whole, part = (column.typed() for column in columns if column is not None)
            if whole is not None and part is not None and whole.family is part.family is _STRING:
                return _contain(whole.values.to_pylist(), part.values.to_pylist())
        return np.array([STATE[self._at(node, event)] for event in range(self._events)], np.uint8)

    def _at(self, node: Node, event: int) -> Truth:
        """Whether an atom is true of one event, from the values of its attributes."""
        if evaluated_whole(node):
            return self._atoms.evaluate(node, self._row(event))
        if isinstance(node, AttributeComparison):
            left, right = self._seen(node.left, event), self._seen(node.right, event)
            return compare_attributes(left, node.op, right)
        names = node.attributes
        seen = [self._seen(name, event) for name in names]
        if NULL in seen:
            return None
        if _is_contains(node):
            whole, part = seen
            if isinstance(whole, Value) and isinstance(part, Value):
                if whole.family is not _STRING or part.family is not _STRING:
                    return None
                return str(part.value) in str(whole.value)
        alone = Event({})
        for name in names:
            column = self._of(name)
            if column is not None:
                alone.raw[name] = column.given()[event]
        return self._atoms.evaluate(node, alone)


def _is_contains(node: Node) -> bool:
    """Whether a node is `contains` of two attributes."""
    return isinstance(node, Call) and node.name == "contains" and len(node.attributes) == 2


def _contain(whole: list[str | None], part: list[str | None]) -> UInt8Array:
    """The state of `contains(whole, part)` for columns of strings."""
    states = [
        UNDEFINED_SEEN if text is None or sought is None else STATE[sought in text]
        for text, sought in zip(whole, part, strict=True)
    ]
    return np.array(states, np.uint8)


def compare_values(left: Sequence[Seen], op: str, right: Sequence[Seen]) -> UInt8Array:
    """The state of `left op right` for each event, from what predicates see of it."""
    pairs = zip(left, right, strict=True)
    return np.array([STATE[compare_attributes(one, op, other)] for one, other in pairs], np.uint8)
