"""The rules that came nearest to matching an event, and the predicates that they lacked."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from matchwood.language import parse
from matchwood.language.evaluation import evaluate
from matchwood.language.events import Event
from matchwood.language.joins import joined
from matchwood.language.tree import And, AtLeast, Node, Not, Or, TruthTest, fold
from matchwood.match.parts.context import Context
from matchwood.match.parts.part import Part
from matchwood.match.parts.pending import PendingRule
from matchwood.match.parts.rule_columns import RuleDetails
from matchwood.match.search.rule_distances import candidates
from matchwood.rewrite import normalise

# Rules of a part up to which all of them are compared with the event.
_ALL = 5_000

# Rules of a larger part that are compared at least: those nearest by the index.
_FEWEST = 256


class NearMiss(NamedTuple):
    """A rule that did not match, and the predicates that it lacked."""

    id: Any
    lacked: list[str]

    def __str__(self) -> str:
        return f"{self.id}: lacked {', '.join(self.lacked)}"


def near_misses(
    parts: Sequence[Part],
    pending: Sequence[PendingRule],
    event: Mapping[str, object] | Event,
    n: int,
    context: Context,
) -> list[NearMiss]:
    """The n rules with the fewest predicates that would have to become true.

    Of a large part only the rules that are nearest by the index are compared; the index assumes
    that every list, pattern and call is lacking.
    """
    seen = event if isinstance(event, Event) else Event(event, context.aliases)
    if n <= 0:
        return []
    heap: list[tuple[int, int, Any, list[str]]] = []
    details = [details for part in parts for details in _candidates(part, seen, n)]
    details += [rule.details for rule in pending]
    for order, (rule_id, rule, *_) in enumerate(details):
        lacked = lacking(parse(rule), seen, context)
        if not lacked:
            continue
        item = (-len(lacked), -order, rule_id, lacked)
        if len(heap) < n:
            heapq.heappush(heap, item)
        elif item > heap[0]:
            heapq.heapreplace(heap, item)
    return [NearMiss(rule_id, lacked) for _, _, rule_id, lacked in sorted(heap, reverse=True)]


def _candidates(part: Part, seen: Event, n: int) -> Iterator[RuleDetails]:
    if len(part.details) <= _ALL:
        return part.live_details()
    chosen = candidates(part.matcher, seen, part.alive, max(_FEWEST, 8 * n))
    return (part.details[ordinal] for ordinal in chosen)


def lacking(tree: Node, seen: Event, context: Context) -> list[str]:
    """The fewest predicates that keep a rule from being true; empty if it is true."""
    asked = {name: getattr(context, name) for name in ("operators", "schema", "lists")}

    def lacks(node: Node, operands: Sequence[list[str]]) -> list[str]:
        if isinstance(node, And):
            return [text for operand in operands for text in operand]
        if isinstance(node, Or):
            return min(operands, key=len)
        if isinstance(node, AtLeast):
            nearest = sorted(operands, key=len)[: node.count]
            return [text for operand in nearest for text in operand]
        if isinstance(node, TruthTest) and operands:
            return operands[0]
        truth = evaluate(node, seen, **asked)
        return [] if truth is True else [str(node)]

    return fold_positive(normalise(joined(tree)), lacks)


def fold_positive(tree: Node, function: Any) -> list[str]:
    """`fold` that treats negations, parities and other tests of truth as one predicate each."""

    def step(node: Node, operands: Sequence[list[str]]) -> list[str]:
        is_true = isinstance(node, TruthTest) and node.truth == "true" and not node.negated
        if is_true or isinstance(node, And | Or | AtLeast) or not node.operands:
            return list(function(node, operands))
        return list(function(node, ()))

    return fold(tree, step) if not isinstance(tree, Not) else list(function(tree, ()))
