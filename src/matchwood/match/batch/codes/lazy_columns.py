"""Lazy atoms of the events of a batch: comparisons of attributes and sums, and what is whole.

Codes do not decide such an atom. It is evaluated on the columns of its own attributes, whatever
else the events have: for all events of a batch, or only for the one that asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from matchwood.index.build.index_form import evaluated_whole
from matchwood.kernels.array_types import UInt8Array
from matchwood.language.bindings import Truth, compare_sides
from matchwood.language.evaluation import TRUTHS, negation
from matchwood.language.events import Event
from matchwood.language.predicate_truth import compare_attributes, held_in
from matchwood.language.seen import Seen, see
from matchwood.language.subjects import lowered_values
from matchwood.language.tree import (
    AttributeComparison,
    Call,
    Elements,
    InList,
    Node,
    SumComparison,
    TruthTest,
)
from matchwood.language.tree.elements import reads_everything
from matchwood.language.tree.subjects import Lowered
from matchwood.language.values import NULL, Family, Value
from matchwood.match.event.element_index import ElementStates, KnownElements
from matchwood.match.event.lazy_atoms import STATE, TRUTH, LazyAtoms
from matchwood.match.event.literal_kernels import FALSE_SEEN, TRUE_SEEN, UNDEFINED_SEEN

if TYPE_CHECKING:
    from matchwood.match.batch.codes.column_comparisons import TypedColumn

_STRING = Family.STRING


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
            self._typed = self._typed_column(self._array)
            if self._typed is None:
                self._array = None
        return self._typed

    def _typed_column(self, array: Any) -> TypedColumn | None:
        from matchwood.match.batch.codes.column_comparisons import typed_column

        return typed_column(array)

    def lowered(self) -> AskedColumn:
        """The values in lower case."""
        return _LoweredColumn(self._name, self._array, self.given)


class _LoweredColumn(AskedColumn):
    """The values of an attribute in lower case; `array` and `read` give them as they are."""

    def seen(self) -> list[Seen]:
        if self._seen is None:
            self._seen = list(map(lowered_values, super().seen()))
        return self._seen

    def _typed_column(self, array: Any) -> TypedColumn | None:
        from matchwood.match.batch.codes.column_codes import lower_column

        return super()._typed_column(lower_column(array))


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
        self._states: dict[Node, UInt8Array] = {}
        self._known_of_event: dict[int, KnownElements] = {}
        self._answers: dict[str, ElementStates] = {}  # of all events, by path

    def states(self, number: int) -> UInt8Array:
        """The state of an atom for each event of the batch."""
        return self._states_of(self._atoms.node(number))

    def _states_of(self, node: Node) -> UInt8Array:
        states = self._states.get(node)
        if states is None:
            states = self._states[node] = self._evaluate(node)
        return states

    def truth(self, event: int, number: int) -> Truth:
        """Whether an atom is true of one event; others are looked at only if that costs little."""
        node = self._atoms.node(number)
        states = self._states.get(node)
        compared = node.operands[0] if isinstance(node, TruthTest) else node
        if states is None and isinstance(compared, AttributeComparison | SumComparison):
            columns = [self._of(name) for name in compared.subjects]
            if all(column is None or column.typed() is not None for column in columns):
                states = self._states_of(node)
        return self._at(node, event) if states is None else TRUTH[int(states[event])]

    def _of(self, name: str) -> AskedColumn | None:
        if name not in self._columns:
            if isinstance(name, Lowered):
                base = self._of(name.base)
                self._columns[name] = None if base is None else base.lowered()
            else:
                self._columns[name] = self._column(name)
        return self._columns[name]

    def _seen(self, name: str, event: int) -> Seen:
        column = self._of(name)
        return NULL if column is None else column.seen()[event]

    def _evaluate(self, node: Node) -> UInt8Array:
        undefined = np.full(self._events, UNDEFINED_SEEN, np.uint8)
        if isinstance(node, TruthTest) and not node.operands[0].operands:
            asked = self._states_of(node.operands[0]) == STATE[TRUTHS[node.truth]]
            return np.where(asked != node.negated, TRUE_SEEN, FALSE_SEEN).astype(np.uint8)
        if isinstance(node, Elements):
            return self._elements_states(node)
        if isinstance(node, SumComparison):
            return self._sum_states(node)
        if isinstance(node, InList) and not reads_everything(node):
            return self._list_states(node)
        if evaluated_whole(node) or reads_everything(node):
            states = [STATE[self._at(node, event)] for event in range(self._events)]
            return np.array(states, np.uint8)
        columns = [self._of(name) for name in node.subjects]
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

    def _sum_states(self, node: SumComparison) -> UInt8Array:
        states = np.full(self._events, UNDEFINED_SEEN, np.uint8)
        columns = {name: column for name in node.subjects if (column := self._of(name)) is not None}
        if len(columns) < len(set(node.subjects)):
            return states
        rows: Sequence[int] = range(self._events)
        typed = {name: kept for name in columns if (kept := columns[name].typed()) is not None}
        if len(typed) == len(columns):
            from matchwood.match.batch.codes.column_sums import compare_sums

            states, open_rows = compare_sums(node, typed, self._events)
            rows = open_rows.tolist()
        for event in rows:
            seen = {name: see(name, column.given()[event]) for name, column in columns.items()}
            states[event] = STATE[compare_sides(node.left, node.op, node.right, {}, seen)]
        return states

    def _list_states(self, node: InList) -> UInt8Array:
        """Each distinct string is looked up once, and every value of another kind."""
        column, values = self._of(node.attribute), self._atoms.list_of(node)
        if column is None:
            return np.full(self._events, UNDEFINED_SEEN, np.uint8)
        typed = column.typed()
        if typed is None or typed.family is not _STRING:
            return _list_of_states(node, (held_in(values, seen) for seen in column.seen()))
        encoded = typed.values.dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        known = _list_of_states(node, (values.holds(Value(_STRING, text)) for text in texts))
        none = len(texts)
        places = encoded.indices.fill_null(none).to_numpy(zero_copy_only=False)
        states: UInt8Array = np.append(known, np.uint8(UNDEFINED_SEEN))[places]
        return states

    def _elements_states(self, node: Elements) -> UInt8Array:
        path, elements = node.attribute, self._atoms.elements
        answers = self._answers.get(path)
        if answers is None:
            rows = map(self._row, range(self._events))
            answers = self._answers[path] = elements.answers_of_many(path, rows)
        states: UInt8Array = elements.state(node, answers)
        return states

    def _at(self, node: Node, event: int) -> Truth:
        """Whether an atom is true of one event, from the values of its attributes."""
        if evaluated_whole(node) or reads_everything(node):
            known = self._known_of_event.setdefault(event, {})
            return self._atoms.evaluate(node, self._row(event), known)
        if isinstance(node, AttributeComparison):
            left, right = self._seen(node.left, event), self._seen(node.right, event)
            return compare_attributes(left, node.op, right)
        seen = [self._seen(name, event) for name in node.subjects]
        if NULL in seen:
            return None
        if _is_contains(node):
            whole, part = seen
            if isinstance(whole, Value) and isinstance(part, Value):
                if whole.family is not _STRING or part.family is not _STRING:
                    return None
                return str(part.value) in str(whole.value)
        alone = Event({})
        for name in node.attributes:
            column = self._of(name)
            if column is not None:
                alone.raw[name] = column.given()[event]
        return self._atoms.evaluate(node, alone, {})


def _list_of_states(node: InList, truths: Iterable[Truth]) -> UInt8Array:
    """The states of truths that a list with a name has told, for the predicate or its negation."""
    if node.negated:
        truths = map(negation, truths)
    return np.array([STATE[truth] for truth in truths], np.uint8)


def _is_contains(node: Node) -> bool:
    """Whether a node is `contains` of two attributes."""
    return isinstance(node, Call) and node.name == "contains" and len(node.subjects) == 2


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
