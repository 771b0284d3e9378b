"""`Schema`: the integrated event schema. What events may be, and what rules may ask of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from matchwood.language.errors import EventError
from matchwood.language.events import Event
from matchwood.language.text import parse
from matchwood.language.tree import Node
from matchwood.language.values import Family
from matchwood.schema import file, form
from matchwood.schema.domains import FAMILIES, Domain, Enumerated, Hierarchical, Plain
from matchwood.schema.errors import SchemaError, nearest
from matchwood.schema.events import Violation, violations
from matchwood.schema.hierarchy import Hierarchy
from matchwood.schema.rules import (
    Problem,
    error_at,
    has_own_order,
    hierarchy_of,
    problems_in,
    refuse_orders,
    spelled_out,
)
from matchwood.schema.types import Use, View, together

EVENT_TYPE = "event_type"


@dataclass(frozen=True)
class Attribute:
    """What an attribute holds: values of a domain, lists of them where `is_list`."""

    domain: Domain
    is_list: bool = False
    of: str | None = None  # the name of the domain, where it has one

    @property
    def family(self) -> Family:
        return self.domain.family

    @property
    def hierarchy(self) -> Hierarchy | None:
        return self.domain.hierarchy if isinstance(self.domain, Hierarchical) else None

    def __str__(self) -> str:
        return f"list of {self.family}" if self.is_list else str(self.family)


class Schema:
    """The domains, attributes and types of events. It never changes: extensions are new ones.

    >>> schema = Schema.from_dict(
    ...     {
    ...         "attributes": {"price": "number", "category": "furniture"},
    ...         "hierarchies": {"furniture": {"dining table": "table", "table": "furniture"}},
    ...         "types": {"offer": {"price": "mandatory", "category": "optional"}},
    ...     }
    ... )
    >>> schema.is_a("category", "dining table", "table")
    True
    >>> [problem.reason for problem in schema.check("prise > 18")]
    ["the schema has no attribute 'prise', did you mean 'price'?"]
    >>> [str(violation) for violation in schema.check_event({"event_type": "offer"})]
    ["R2, attribute 'price': it is mandatory in offer, and not there"]
    """

    def __init__(
        self,
        attributes: Mapping[str, Attribute],
        *,
        domains: Mapping[str, Domain] | None = None,
        types: Mapping[str, Mapping[str, Use]] | None = None,
        event_type: str = EVENT_TYPE,
    ) -> None:
        self.domains = dict(domains or {})
        self.declared = dict(attributes)  # without the one that names the types
        self.types = {name: dict(uses) for name, uses in (types or {}).items()}
        self.event_type = event_type
        self.attributes = dict(attributes)
        if self.types:
            if event_type in self.attributes:
                raise SchemaError(f"attributes.{event_type}: it names the types, leave it out")
            self.attributes[event_type] = Attribute(Enumerated(list(self.types)), True)
        self._check_types()
        # attributes whose `<` rules may not ask for: by code point it is not what is meant
        self.own_orders = frozenset(
            name for name, known in self.attributes.items() if has_own_order(known.domain)
        )
        self.used = frozenset(name for uses in self.types.values() for name in uses)
        every = {name: Use(multiple=a.is_list) for name, a in self.declared.items()}
        self.anything = View((), every)
        self._views: dict[tuple[str, ...], View] = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Schema of {len(self.declared)} attributes and {len(self.types)} event types>"

    def __reduce__(self) -> tuple[object, ...]:
        return Schema.from_dict, (self.to_dict(),)

    # Forms

    @classmethod
    def from_dict(cls, given: object) -> Schema:
        """The schema of its dict form; a SchemaError says what is wrong with it."""
        return form.read(given)

    def to_dict(self) -> dict[str, Any]:
        """The dict form, which `from_dict` reads."""
        return form.write(self)

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """The schema in a TOML or JSON file."""
        return file.load(path)

    def save(self, path: str | Path) -> None:
        """Write a TOML or JSON file, in one step."""
        file.save(self, path)

    # Rules

    def is_a(self, attribute: str, value: str, kind: str) -> bool:
        """Whether `value` is the node `kind` of the attribute's hierarchy, or below it."""
        return hierarchy_of(self, attribute, kind).is_a(value, kind)

    def refuse_orders(self, tree: Node, text: str | None = None) -> None:
        """A RuleError where a rule compares by code point what has an order of its own."""
        if self.own_orders:
            refuse_orders(self, tree, text)

    def check(self, rule: object) -> list[Problem]:
        """What a rule says that does not fit the schema, each attribute once a kind."""
        return problems_in(self, parse(rule))

    def admit(self, rule: object) -> Node:
        """The tree of a rule that fits the schema; a RuleError says why it does not."""
        tree = parse(rule)
        for problem in problems_in(self, tree):
            text = rule if isinstance(rule, str) else None
            raise error_at(problem.reason, problem.attribute, text)
        return tree

    def spell_out(self, rule: object) -> Node:
        """The rule with `<` in the order of an enumeration or hierarchy written as `in`, `isa`.

        >>> schema = Schema.from_dict(
        ...     {
        ...         "attributes": {
        ...             "size": {"values": ["small", "medium", "large"], "order": "listed"}
        ...         }
        ...     }
        ... )
        >>> print(schema.spell_out("size > 'small' and price < 5"))
        size in ('medium', 'large') and price < 5
        """
        return spelled_out(self, parse(rule))

    # Events

    def view(self, *types: str, without: Iterable[str] = ()) -> View:
        """What events have that are of all these types, without some optional attributes."""
        view = self._views.get(types)  # as events name them: sorted, each once
        key = types if view is not None else tuple(sorted(set(types)))
        view = view or self._views.get(key)
        if view is None:
            for name in key:
                if name not in self.types:
                    raise SchemaError(f"no event type {name!r}{nearest(name, self.types)}")
            view = together((name, self.types[name]) for name in key)
            if len(self._views) < 1_000:  # of so many combinations most are made once
                self._views[key] = view
        left_out = set(without)
        for name in left_out:
            if name not in view.uses:
                raise SchemaError(f"the view has no attribute {name!r}{nearest(name, view.uses)}")
            if view.uses[name].mandatory:
                raise SchemaError(f"{name!r} is mandatory: no view is without it")
        kept = {name: use for name, use in view.uses.items() if name not in left_out}
        return replace(view, uses=kept) if left_out else view

    def check_event(self, event: Mapping[str, object] | Event) -> list[Violation]:
        """What breaks the rules R1, R2 and R3 in an event; an EventError where it is none."""
        return list(violations(self, event if isinstance(event, Event) else Event(event)))

    def admit_event(self, event: Mapping[str, object] | Event) -> Event:
        """The event, if it keeps to the schema; an EventError says why it does not."""
        seen = event if isinstance(event, Event) else Event(event)
        for violation in violations(self, seen):
            raise EventError(f"{violation.reason} ({violation.rule})", violation.attribute)
        return seen

    # The four ways in which publishers extend it

    def add_domain(self, name: str, domain: Domain) -> Schema:
        """A schema with one more domain."""
        if name in self.domains or name in FAMILIES:
            raise SchemaError(f"domains.{name}: it is there already, and what is there stays")
        return self._with(domains={**self.domains, name: domain})

    def add_attribute(self, name: str, domain: str, *, is_list: bool = False) -> Schema:
        """A schema with one more attribute, of a domain that it has."""
        if name in self.attributes or name == self.event_type:
            raise SchemaError(f"attributes.{name}: it is there already, and what is there stays")
        known = {**FAMILIES, **self.domains}
        if domain not in known:
            raise SchemaError(f"attributes.{name}: no domain {domain!r}{nearest(domain, known)}")
        of = None if isinstance(known[domain], Plain) and domain in FAMILIES else domain
        attribute = Attribute(known[domain], is_list, of)
        return self._with(attributes={**self.declared, name: attribute})

    def extend_type(self, name: str, attribute: str, *, multiple: bool = False) -> Schema:
        """A schema in which a type has one more attribute: optional, for others publish it too."""
        if name not in self.types:
            raise SchemaError(f"types.{name}: no such event type{nearest(name, self.types)}")
        if attribute in self.types[name]:
            raise SchemaError(f"types.{name}.{attribute}: it is there already, and stays as it is")
        uses = {**self.types[name], attribute: Use(multiple=multiple)}
        return self._with(types={**self.types, name: uses})

    def add_type(self, name: str, uses: Mapping[str, Use]) -> Schema:
        """A schema with one more event type."""
        if name in self.types:
            raise SchemaError(f"types.{name}: it is there already, and what is there stays")
        return self._with(types={**self.types, name: uses})

    def extend(self, given: object) -> Schema:
        """The schema with all that a dict form adds to it, by those four ways and no other.

        >>> schema = Schema.from_dict({"types": {"offer": {}}})
        >>> extended = schema.extend(
        ...     {"attributes": {"colour": "string"}, "types": {"offer": {"colour": "optional"}}}
        ... )
        >>> extended.types["offer"]["colour"].mandatory
        False
        """
        return form.extend(self, given)

    def _with(self, **changed: Any) -> Schema:
        parts = {
            "attributes": self.declared,
            "domains": self.domains,
            "types": self.types,
            "event_type": self.event_type,
            **changed,
        }
        return Schema(parts.pop("attributes"), **parts)

    def _check_types(self) -> None:
        for name, uses in self.types.items():
            for attribute, use in uses.items():
                where = f"types.{name}.{attribute}"
                known = self.declared.get(attribute)
                if known is None:
                    near = nearest(attribute, self.declared)
                    raise SchemaError(f"{where}: the schema has no such attribute{near}")
                if known.is_list and not use.multiple:
                    raise SchemaError(f"{where}: it is a {known}, so write 'multiple'")
