"""What a matcher is made of: parts, pending rules, and snapshots of both."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.forking import is_left_held, renew_in_children
from matchwood.index.file import IndexFileError
from matchwood.index.segment import Segment
from matchwood.language.calls import BUILT_IN, check_operator
from matchwood.language.errors import RuleError
from matchwood.language.evaluation import Hierarchies, Operator, refuse_orders
from matchwood.language.text import parse
from matchwood.language.tree import Call, Node, walk
from matchwood.language.variables import joined
from matchwood.match.batch import BatchMatcher
from matchwood.match.costly import Costly, CostlyRule
from matchwood.match.single import ALL, SegmentMatcher
from matchwood.operators.residue import is_costly

Keep = NDArray[np.uint8]
Context = tuple[Mapping[str, Operator], Hierarchies | None]


class Details(NamedTuple):
    """What belongs to a rule."""

    id: Any
    rule: Any  # as it was given: text, or the JSON form
    tags: frozenset[str]
    priority: float


def objects(values: Sequence[Any]) -> NDArray[Any]:
    """An array of Python objects, through which no garbage collection goes as through a list."""
    array = np.empty(len(values), object)
    array[:] = values
    return array


class Columns:
    """The details of many rules by ordinal: ids and rules, and what only some of them have."""

    def __init__(
        self,
        ids: NDArray[Any] | Sequence[str],
        rules: NDArray[Any] | Sequence[Any],
        tags: Mapping[int, frozenset[str]],
        priority: NDArray[np.float64] | None,
        integers: bool = False,
    ) -> None:
        self._ids = ids  # an array, or packed strings that become one when first needed
        self._integers = integers  # the packed strings are integers
        self.rules = rules
        self.tags = tags
        self.priority = priority
        self._arrow_ids: Any = None

    @classmethod
    def of(cls, details: Sequence[Details]) -> Columns:
        numbers = bool(details) and isinstance(details[0].id, int)
        try:
            ids = np.array([d.id for d in details], np.int64 if numbers else object)
        except OverflowError:
            ids = np.array([d.id for d in details], object)
        tags = {i: d.tags for i, d in enumerate(details) if d.tags}
        priority = None
        if any(d.priority for d in details):
            priority = np.array([d.priority for d in details], np.float64)
        return cls(ids, objects([d.rule for d in details]), tags, priority)

    @classmethod
    def joined(
        cls,
        columns: Sequence[Columns],
        chosen: Sequence[NDArray[np.int64]],
        rules: Sequence[Any],
        order: NDArray[np.int64],
    ) -> Columns:
        """Some rules of each of several columns, one after the other, then put into an order."""
        ids = [some.ids[ordinals] for some, ordinals in zip(columns, chosen, strict=True)]
        new_place = np.empty(len(order), np.int64)
        new_place[order] = np.arange(len(order))
        tags: dict[int, frozenset[str]] = {}
        priority: NDArray[np.float64] | None = None
        first = 0
        for some, ordinals in zip(columns, chosen, strict=True):
            if some.tags:
                for i, ordinal in enumerate(ordinals.tolist(), first):
                    if ordinal in some.tags:
                        tags[int(new_place[i])] = some.tags[ordinal]
            if some.priority is not None:
                if priority is None:
                    priority = np.zeros(len(order))
                priority[new_place[first : first + len(ordinals)]] = some.priority[ordinals]
            first += len(ordinals)
        return cls(np.concatenate(ids)[order], objects(rules)[order], tags, priority)

    @property
    def ids(self) -> NDArray[Any]:
        if not isinstance(self._ids, np.ndarray):
            strings = self._ids[:]
            found: Sequence[Any] = strings
            if self._integers:
                try:
                    found = [int(text) for text in strings]
                except ValueError:
                    raise IndexFileError("holds an id that is no integer") from None
            self._ids = np.array(found, object)
        return self._ids

    @property
    def arrow_ids(self) -> Any:
        """The ids as an Arrow array, made once: every batch refers to them."""
        if self._arrow_ids is None:
            import pyarrow as pa

            self._arrow_ids = pa.array(self.ids)
        return self._arrow_ids

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, ordinal: int) -> Details:
        priority = 0.0 if self.priority is None else float(self.priority[ordinal])
        rule_id = self.ids[ordinal]
        plain = int(rule_id) if self.ids.dtype == np.int64 else rule_id
        return Details(plain, self.rules[ordinal], self.tags.get(ordinal, frozenset()), priority)

    def __iter__(self) -> Iterator[Details]:
        return (self[ordinal] for ordinal in range(len(self)))


class Ready:
    """What it takes to ask a segment, made when it is first asked, and shared by its copies."""

    def __init__(self, segment: Segment, context: Context) -> None:
        self._segment = segment
        self._context = context
        self._lock = threading.RLock()  # Python's cached_property has one lock for all instances
        self._matcher: SegmentMatcher | None = None
        self._batch: BatchMatcher | None = None
        self.known_costly: Costly | None = None
        renew_in_children(self)

    def after_fork(self) -> None:
        if is_left_held(self._lock):
            self._lock = threading.RLock()

    @property
    def matcher(self) -> SegmentMatcher:
        made = self._matcher
        if made is None:
            with self._lock:
                made = self._matcher
                if made is None:
                    made = self._matcher = SegmentMatcher(self._segment, *self._context)
        return made

    @property
    def batch(self) -> BatchMatcher:
        made = self._batch
        if made is None:
            with self._lock:
                made = self._batch
                if made is None:
                    made = self._batch = BatchMatcher(self.matcher)
        return made

    @property
    def bytes(self) -> int:
        """Of what was made of the segment because it pays."""
        known = self._matcher
        return 0 if known is None else known.ways.bytes

    def costly(self, details: Columns) -> Costly:
        """What finds the rules that call operators."""
        if self.known_costly is None:
            with self._lock:
                if self.known_costly is None:
                    rules = rules_of(details, self._segment.costly)
                    schema = self._context[1]
                    self.known_costly = Costly(
                        self._segment, rules, lambda i: details[i].id, schema
                    )
        return self.known_costly


def rules_of(details: Columns, ordinals: NDArray[Any]) -> list[Any]:
    """Some rules, as they were given."""
    given = details.rules
    array = given if isinstance(given, np.ndarray) else objects(given[:])
    return list(array[ordinals])


class Part:
    """A segment, the details of its rules, and which of them are gone."""

    def __init__(
        self,
        segment: Segment,
        details: Columns,
        context: Context,
        number: int = 0,
        alive: Keep = ALL,
        shared: Ready | None = None,
    ) -> None:
        self.segment = segment
        self.details = details
        self.context = context
        self.number = number
        self.alive = alive  # empty: all are
        self.live = int(alive.sum()) if len(alive) else len(details)
        self._ready = shared if shared is not None else Ready(segment, context)
        self._selected: dict[frozenset[str], Keep] = {}
        self.has_costly = len(segment.costly) > 0

    @property
    def costly(self) -> Costly:
        return self._ready.costly(self.details)

    @property
    def known_costly(self) -> Costly | None:
        """The same, if it is there already."""
        return self._ready.known_costly

    def prepare(self) -> Part:
        """Do what the first event would have to wait for, where rules call operators."""
        if self.has_costly:
            _ = self.costly
        return self

    @property
    def matcher(self) -> SegmentMatcher:
        return self._ready.matcher

    @property
    def batch(self) -> BatchMatcher:
        return self._ready.batch

    @property
    def bytes(self) -> int:
        """Bytes of the index, and of the cells that were built for it."""
        return self.segment.bytes + self._ready.bytes

    def _copy(self, number: int, alive: Keep) -> Part:
        return Part(self.segment, self.details, self.context, number, alive, self._ready)

    def asking(self, context: Context) -> Part:
        """A copy that asks other operators, or another schema."""
        return Part(self.segment, self.details, context, self.number, self.alive)

    def numbered(self, number: int) -> Part:
        return self._copy(number, self.alive)

    def without(self, ordinals: Iterable[int]) -> Part:
        """A copy in which these rules are gone: readers of this one are not disturbed."""
        alive = self.alive.copy() if len(self.alive) else np.ones(len(self.details), np.uint8)
        alive[list(ordinals)] = 0
        return self._copy(self.number, alive)

    @property
    def dead(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.alive == 0)

    def live_ordinals(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.alive) if len(self.alive) else np.arange(len(self.details))

    def gone(self, ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each of these rules is gone."""
        return self.alive[ordinals] == 0 if len(self.alive) else np.zeros(len(ordinals), np.bool_)

    def rules(self, ordinals: NDArray[np.int64]) -> list[Any]:
        """These rules, as they were given."""
        return rules_of(self.details, ordinals)

    def live_details(self) -> Iterator[Details]:
        for ordinal, one in enumerate(self.details):
            if not len(self.alive) or self.alive[ordinal]:
                yield one

    def keep(self, wanted: frozenset[str] | None) -> Keep:
        """Which rules to report: those that are not gone and have one of the wanted tags."""
        if wanted is None:
            return self.alive
        keep = self._selected.get(wanted)
        if keep is None:
            keep = np.zeros(len(self.details), np.uint8)
            chosen = [ordinal for ordinal, tags in self.details.tags.items() if tags & wanted]
            keep[chosen] = 1
            if len(self.alive):
                keep &= self.alive
            if len(self._selected) >= 64:
                self._selected.clear()
            self._selected[wanted] = keep
        return keep


class Pending(NamedTuple):
    """A rule that is in no segment yet."""

    tree: Node
    details: Details
    costly: CostlyRule | None = None  # where it calls operators

    @classmethod
    def of(cls, tree: Node, details: Details) -> Pending:
        return cls(tree, details, CostlyRule.of(tree, details.id) if is_costly(tree) else None)


class Snapshot(NamedTuple):
    """All that a reader needs, never changed."""

    parts: tuple[Part, ...]  # largest first
    pending: tuple[Pending, ...]

    @property
    def rules(self) -> int:
        """How many there are."""
        return sum(part.live for part in self.parts) + len(self.pending)

    def details(self) -> Iterator[Details]:
        """Those of all rules."""
        for part in self.parts:
            yield from part.live_details()
        for one in self.pending:
            yield one.details


EMPTY = Snapshot((), ())


def may_compare_otherwise(rules: Sequence[Any], schema: Hierarchies | None) -> list[int]:
    """The places of the rules that may name an attribute with an order of its own.

    Most texts show that they do not: however a name is written, what it has before a dot, a
    backquote or a space is in the text.
    """
    names = getattr(schema, "own_orders", ())
    if not names:
        return []
    signs = [re.split(r"[.`\s]", name)[0] for name in names]
    return [
        place
        for place, rule in enumerate(rules)
        if not isinstance(rule, str) or any(sign in rule for sign in signs)
    ]


def check_orders(part: Part, schema: Hierarchies | None) -> None:
    """Refuse the rules of a part that compare what has an order of its own in the schema."""
    if getattr(schema, "own_orders", None):
        rules = part.rules(part.live_ordinals())
        for place in may_compare_otherwise(rules, schema):
            refuse_orders(parse(rules[place]), schema)


def check_calls(
    tree: Node,
    operators: Mapping[str, Operator],
    schema: Hierarchies | None,
    text: str | None = None,
) -> None:
    """Refuse calls that nothing could answer, variables where they may not stand, and orders that
    are not those of the schema."""
    joined(tree, text)
    refuse_orders(tree, schema, text)
    for node in walk(tree):
        if not isinstance(node, Call):
            continue
        if node.name == "isa":
            attribute = node.attributes[0]
            if schema is None:
                raise RuleError(f"{node} needs a schema with a hierarchy for {attribute!r}")
            schema.is_a(attribute, str(node.arguments[1]), str(node.arguments[1]))
        elif node.name not in BUILT_IN:
            check_operator(node.name, operators)
            check = getattr(operators[node.name], "check", None)
            if check is not None:
                check(node)
