"""What a matcher answers: matches, near misses, figures."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.language.evaluation import Hierarchies, Operator, evaluate
from matchwood.language.events import Event
from matchwood.language.text import parse
from matchwood.language.tree import And, Node, Not, Or, fold
from matchwood.language.variables import joined
from matchwood.match.nearest import candidates
from matchwood.match.parts import Details, Part, Snapshot
from matchwood.normalise import normalise
from matchwood.operators.deciding import Undecided

Ints = NDArray[np.int32]
_ALL = 5_000  # rules of a part that are all looked at for near misses
_LEAST = 256


class Matches:
    """The rules found for one event, part by part."""

    def __init__(self) -> None:
        self._parts: list[tuple[Part, Ints]] = []
        self._pending: list[Details] = []
        self.event: Undecided | None = None  # where operators were asked

    def add(self, part: Part, ordinals: Ints) -> None:
        self._parts.append((part, ordinals))

    def add_pending(self, details: Details) -> None:
        self._pending.append(details)

    def __len__(self) -> int:
        return sum(len(ordinals) for _, ordinals in self._parts) + len(self._pending)

    def ids(self) -> list[Any]:
        found: list[Any] = []
        for part, ordinals in self._parts:
            ids = part.details.ids[ordinals].tolist()
            found = ids if not found else found + ids
        found.extend(details.id for details in self._pending)
        return found

    def rules(self) -> dict[Any, Any]:
        """The rules by id, as they were given."""
        found = {details.id: details.rule for details in self._pending}
        for part, ordinals in self._parts:
            for ordinal in ordinals.tolist():
                details = part.details[ordinal]
                found[details.id] = details.rule
        return found

    def best(self, limit: int) -> list[Any]:
        """The ids of highest priority; ids are made only of those."""
        if limit < 0:
            raise ValueError(f"limit is 0 or more, found {limit}")
        candidates: list[tuple[float, int, Any]] = []
        for part, ordinals in self._parts:
            priority = part.details.priority
            if priority is None:
                chosen = ordinals[:limit]
                values = np.zeros(len(chosen))
            else:
                values = priority[ordinals]
                if len(values) > limit:
                    top = np.argpartition(-values, limit)[:limit]
                    ordinals, values = ordinals[top], values[top]
                chosen = ordinals
            ids = part.details.ids[chosen].tolist()
            candidates.extend(zip((-values).tolist(), range(len(ids)), ids, strict=True))
        candidates.extend((-d.priority, 0, d.id) for d in self._pending)
        best = heapq.nsmallest(limit, candidates, key=lambda c: c[0])
        return [rule_id for _, _, rule_id in best]


class Near(NamedTuple):
    """A rule that did not match, and the predicates that it lacked."""

    id: Any
    lacked: list[str]

    def __str__(self) -> str:
        return f"{self.id}: lacked {', '.join(self.lacked)}"


def nearest(
    snapshot: Snapshot,
    event: Mapping[str, object],
    n: int,
    operators: Mapping[str, Operator],
    schema: Hierarchies | None,
) -> list[Near]:
    """The rules with the fewest predicates that would have to become true.

    In a large part only those are looked at that are nearest by the index, which takes every
    list, pattern and call for lacking.
    """
    seen = Event(event)
    if n <= 0:
        return []
    heap: list[tuple[int, int, Any, list[str]]] = []
    details = [one for part in snapshot.parts for one in _near(part, seen, n)]
    for order, one in enumerate([*details, *(p.details for p in snapshot.pending)]):
        lacked = lacking(parse(one.rule), seen, operators, schema)
        if not lacked:
            continue
        item = (-len(lacked), -order, one.id, lacked)
        if len(heap) < n:
            heapq.heappush(heap, item)
        elif item > heap[0]:
            heapq.heapreplace(heap, item)
    return [Near(rule_id, lacked) for _, _, rule_id, lacked in sorted(heap, reverse=True)]


def _near(part: Part, seen: Event, n: int) -> Iterator[Details]:
    if len(part.details) <= _ALL:
        return part.live_details()
    chosen = candidates(part.matcher, seen, part.alive, max(_LEAST, 8 * n))
    return (part.details[ordinal] for ordinal in chosen)


def lacking(
    tree: Node, seen: Event, operators: Mapping[str, Operator], schema: Hierarchies | None
) -> list[str]:
    """The fewest predicates that keep a rule from being true; none where it is true."""

    def lacks(node: Node, operands: Sequence[list[str]]) -> list[str]:
        if isinstance(node, And):
            return [text for operand in operands for text in operand]
        if isinstance(node, Or):
            return min(operands, key=len)
        truth = evaluate(node, seen, operators=operators, schema=schema)
        return [] if truth is True else [str(node)]

    return fold_positive(normalise(joined(tree)), lacks)


def fold_positive(tree: Node, function: Any) -> list[str]:
    """`fold`, with negations and parities taken as one predicate each."""

    def step(node: Node, operands: Sequence[list[str]]) -> list[str]:
        if isinstance(node, And | Or) or not node.operands:
            return list(function(node, operands))
        return list(function(node, ()))

    return fold(tree, step) if not isinstance(tree, Not) else list(function(tree, ()))


@dataclass(frozen=True)
class Stats:
    """Figures of an index."""

    rules: int
    segments: int
    pending: int
    attributes: int
    predicates: int
    nodes: int
    sharing: float  # operands of all nodes and rules, over distinct predicates and nodes
    levels: int
    bytes: int
    bytes_a_rule: float

    @classmethod
    def of(cls, snapshot: Snapshot, rules: int) -> Stats:
        segments = [part.segment for part in snapshot.parts]
        predicates = sum(len(s.atoms.slot) for s in segments)
        nodes = sum(s.nodes for s in segments)
        uses = sum(len(s.tree.records) - s.nodes for s in segments) + rules
        size = sum(part.bytes for part in snapshot.parts)
        attributes = {slot.attribute for s in segments for slot in s.slots}
        return cls(
            rules,
            len(segments),
            len(snapshot.pending),
            len(attributes),
            predicates,
            nodes,
            round(uses / max(1, predicates + nodes), 2),
            max((len(s.tree.levels) for s in segments), default=1),
            size,
            round(size / max(1, rules), 1),
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        width = max(len(name) for name in self.to_dict())
        return "\n".join(f"{name:{width}}  {value:,}" for name, value in self.to_dict().items())

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"
