"""Le Subscribe's own language over its algorithms (Fabret et al. 2000, §2.3 and §5).

A subscription is a conjunction of `X θ y`, of `contains(X, y)`, which asks for a value among those
of an attribute, and of `isa(X, kind)` over hierarchical domains, for which `X <= kind` or
`X < kind` may be written: there, both mean "is a kind of". The algorithms compare codes, so each of
these becomes a predicate with one attribute and one comparison, and an event gets the attributes
that such predicates ask for:

    contains(tags, 'old')                 "tags has 'old'" = 1
    isa(category, 'table')                "category by kind" between 3 and 7
    contains(event_type, 'antiques')
        and price < 5                     "price of antiques" < 5, and the first as above

- *Hierarchies* are numbered in preorder, so that a kind and all kinds below it are one interval.
- *Several event types.* An attribute that several types have is concatenated with the name of the
  type (§5), in rules that ask for a type and in events, once for each type of theirs. Neon, whose
  operations belong to an event type, has it for all attributes. A rule that asks for no type is
  about events of all types.
- *Views.* An event is checked against the schema, or against a view of it, before it is matched.
- *One binding.* "An event instance e matches a subscription s if e provides a binding for every
  attribute occurring in s and all predicates of s are true with respect to this binding": an event
  is matched once for each choice of one value of each attribute that has several. So `price > 5 and
  price < 20` is not true of the prices 3 and 25, which it is in matchwood's own language.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from math import prod
from typing import Any

from matchwood.lab.papers.le_subscribe.neon import Neon
from matchwood.lab.papers.le_subscribe.quarantining import Quarantining
from matchwood.lab.papers.shared.protocol import Algorithm, Id, Rule, Rules, Unsupported
from matchwood.language import parse
from matchwood.language.errors import EventError
from matchwood.language.tree import And, Between, Call, Comparison, In, Node
from matchwood.language.tree.arithmetic import Attribute
from matchwood.schema import Schema
from matchwood.schema.hierarchy import Hierarchy
from matchwood.schema.types import EventView

# The most bindings of one event.
MOST_BINDINGS = 4096


class Subscriptions:
    """Rules of Le Subscribe's language over one of its algorithms.

    >>> schema = Schema.from_dict(
    ...     {
    ...         "attributes": {"price": "number", "kind": "goods"},
    ...         "hierarchies": {"goods": {"dining table": "table", "chair": "furniture"}},
    ...         "types": {
    ...             "antiques": {"price": "mandatory multiple"},
    ...             "furniture": {"price": "mandatory", "kind": "mandatory"},
    ...         },
    ...     }
    ... )
    >>> rules = Subscriptions(
    ...     schema,
    ...     {
    ...         1: "contains(event_type, 'antiques') and kind <= 'table'",
    ...         2: "contains(event_type, 'furniture') and price > 5 and price < 20",
    ...     },
    ... )
    >>> event = {"event_type": ["antiques", "furniture"], "kind": "dining table"}
    >>> rules.match({**event, "price": [3, 25]}), rules.match({**event, "price": [3, 7]})
    ([1], [1, 2])
    """

    def __init__(
        self, schema: Schema, rules: Rules = (), kind: type[Algorithm] = Quarantining
    ) -> None:
        self.schema = schema
        uses = [name for uses in schema.types.values() for name in uses]
        everything = issubclass(kind, Neon)
        self._concatenated = {name for name in uses if everything or uses.count(name) > 1}
        self._orders = {
            name: _preorder(attribute.hierarchy)
            for name, attribute in schema.attributes.items()
            if attribute.hierarchy is not None
        }
        self.algorithm = kind({rule_id: self._plain(rule) for rule_id, rule in dict(rules).items()})

    def add(self, rule_id: Id, rule: Rule) -> None:
        self.algorithm.add(rule_id, self._plain(rule))

    def remove(self, rule_id: Id) -> None:
        self.algorithm.remove(rule_id)

    def match(self, event: Mapping[str, object], view: EventView | None = None) -> list[Id]:
        """The ids of the rules that an event satisfies; an EventError if it breaks R1, R2 or R3."""
        self.schema.admit_event(event, view)
        found: dict[Id, None] = {}
        for bound in self._bindings(event):
            found |= dict.fromkeys(self.algorithm.match(bound))
        return list(found)

    def _plain(self, rule: Rule) -> Node:
        """A rule as a conjunction of comparisons of the attributes that events are given."""
        tree = parse(rule)
        parts = [
            self.schema.spell_out(self._is_a_kind_of(part))
            for part in (tree.operands if isinstance(tree, And) else (tree,))
        ]
        types = [value for name, value in map(_contained, parts) if name == self.schema.event_type]
        plain = [self._plain_predicate(part, types) for part in parts]
        return And(plain) if len(plain) > 1 else plain[0]

    def _is_a_kind_of(self, part: Node) -> Node:
        """`<` over a hierarchy as `<=`, which is the same there."""
        if isinstance(part, Comparison) and part.op == "<" and part.attribute in self._orders:
            return Comparison(part.attribute, "<=", part.value)
        return part

    def _plain_predicate(self, part: Node, types: list[Any]) -> Node:
        name, value = _contained(part)
        if name:
            return Comparison(_has(name, value), "=", 1)
        if isinstance(part, Call) and part.name == "isa":
            attribute, kind = part.arguments
            assert isinstance(attribute, Attribute)
            order = self._orders.get(attribute.name, {})
            if kind not in order:
                raise Unsupported(f"{kind!r} is no kind of the hierarchy of {attribute.name!r}")
            return Between(
                self._named(_by_kind(attribute.name), attribute.name, types), *order[kind]
            )
        if isinstance(part, Comparison) and part.op != "!=":
            return Comparison(
                self._named(part.attribute, part.attribute, types), part.op, part.value
            )
        if isinstance(part, In) and not part.negated:  # what an order of its own is spelled out as
            return In(self._named(part.attribute, part.attribute, types), part.values)
        raise Unsupported(
            f"{part} is no elementary predicate: expected a comparison, contains or isa"
        )

    def _named(self, name: str, attribute: str, types: list[Any]) -> str:
        """A name with the first type that a rule asks for and that has the attribute."""
        if attribute in self._concatenated:
            for kind in types:
                if attribute in self.schema.types.get(kind, ()):
                    return _of(name, kind)
        return name

    def _bindings(self, event: Mapping[str, object]) -> Iterator[dict[str, object]]:
        """An event for each choice of one value of each attribute, with the attributes of rules."""
        values = {name: _values(value) for name, value in event.items()}
        contained = {_has(name, one): 1 for name, some in values.items() for one in some}
        types = values.pop(self.schema.event_type, [])
        choices = {name: some for name, some in values.items() if some}
        count = prod(map(len, choices.values()))
        if count > MOST_BINDINGS:
            raise EventError(
                f"the event has {count:,} bindings, expected at most {MOST_BINDINGS:,}"
            )
        for chosen in product(*choices.values()):
            bound: dict[str, object] = dict(contained)
            for name, value in zip(choices, chosen, strict=True):
                given = {name: value}
                order = self._orders.get(name, {})
                if value in order:
                    given[_by_kind(name)] = order[value][0]
                bound |= given
                if name in self._concatenated:
                    bound |= {
                        _of(each, kind): one
                        for each, one in given.items()
                        for kind in types
                        if name in self.schema.types.get(kind, ())
                    }
            yield bound


def _contained(part: Node) -> tuple[str, Any]:
    """The attribute and the value of a `contains`; "" of any other predicate."""
    if isinstance(part, Call) and part.name == "contains":
        attribute, value = part.arguments
        if isinstance(attribute, Attribute) and not isinstance(value, Attribute):
            return attribute.name, value
    return "", None


def _values(value: object) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _preorder(hierarchy: Hierarchy) -> dict[Any, tuple[int, int]]:
    """By kind, its number and that of the last kind below it."""
    children: dict[str, list[str]] = {}
    for child, parent in hierarchy.parents.items():
        children.setdefault(parent, []).append(child)
    order: dict[Any, tuple[int, int]] = {}
    number = 0

    def visit(kinds: Iterable[str]) -> None:
        nonlocal number
        for kind in kinds:
            first = number
            number += 1
            visit(children.get(kind, []))
            order[kind] = (first, number - 1)

    visit(sorted(hierarchy.nodes - set(hierarchy.parents)))
    return order


def _has(attribute: str, value: object) -> str:
    return f"{attribute} has {value!r}"


def _by_kind(attribute: str) -> str:
    return f"{attribute} by kind"


def _of(attribute: str, kind: object) -> str:
    return f"{attribute} of {kind}"
