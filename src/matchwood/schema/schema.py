"""`Schema`: the integrated event schema. What events may be, and what rules may ask of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matchwood.language import parse
from matchwood.language.errors import EventError
from matchwood.language.events import Event
from matchwood.language.tree import Node
from matchwood.schema import dict_form, schema_file
from matchwood.schema.definitions import Definitions, SchemaAttribute
from matchwood.schema.domains import FAMILIES, Domain, Plain
from matchwood.schema.errors import SchemaError, nearest
from matchwood.schema.event_check import Violation, violations
from matchwood.schema.own_order import error_at, refuse_orders, spelled_out
from matchwood.schema.rule_check import RuleProblem, hierarchy_of, problems_in
from matchwood.schema.types import EventView, Use


class Schema(Definitions):
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

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Schema of {len(self.declared)} attributes and {len(self.types)} event types>"

    def __reduce__(self) -> tuple[object, ...]:
        return Schema.from_dict, (self.to_dict(),)

    # Forms

    @classmethod
    def from_dict(cls, form: object) -> Schema:
        """The schema of its dict form; a SchemaError says what is wrong with it.

        >>> Schema.from_dict({"attributes": {"age": "number"}})
        <Schema of 1 attributes and 0 event types>
        """
        return dict_form.read(form, cls)

    def to_dict(self) -> dict[str, Any]:
        """The dict form, which `from_dict` reads.

        >>> Schema.from_dict({"attributes": {"age": {"minimum": 0}}}).to_dict()
        {'attributes': {'age': {'minimum': 0}}}
        """
        return dict_form.write(self)

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """The schema in a TOML or JSON file.

        >>> _ = Path("people.toml").write_text('[attributes]\\nage = "number"')
        >>> Schema.load("people.toml")
        <Schema of 1 attributes and 0 event types>
        """
        form = schema_file.load(path)
        try:
            return cls.from_dict(form)
        except SchemaError as error:
            raise SchemaError(f"{path}: {error}") from None

    def save(self, path: str | Path) -> None:
        """Write a TOML or JSON file, in one step.

        >>> Schema.from_dict({"attributes": {"age": "number"}}).save("people.toml")
        >>> print(Path("people.toml").read_text().rstrip())
        [attributes]
        age = "number"
        """
        schema_file.save(self.to_dict(), path)

    # Rules

    def is_a(self, attribute: str, value: str, kind: str) -> bool:
        """Whether `value` is the node `kind` of the attribute's hierarchy, or below it.

        >>> form = {"attributes": {"item": "goods"}, "hierarchies": {"goods": {"lamp": "light"}}}
        >>> Schema.from_dict(form).is_a("item", "lamp", "light")
        True
        """
        return hierarchy_of(self, attribute, kind).is_a(value, kind)

    def refuse_orders(self, tree: Node, text: str | None = None) -> None:
        """Raise a RuleError if a rule compares by code point what has an order of its own.

        >>> size = {"values": ["small", "large"], "order": "listed"}
        >>> schema = Schema.from_dict({"attributes": {"size": size}})
        >>> schema.refuse_orders(parse("size < 'large'"))
        Traceback (most recent call last):
        ...
        matchwood.language.errors.RuleError: 'size' has an order of its own, ...
        """
        if self.own_orders:
            refuse_orders(self, tree, text)

    def check(self, rule: object) -> list[RuleProblem]:
        """What does not fit the schema in a rule: one problem per attribute and kind.

        >>> schema = Schema.from_dict({"attributes": {"age": "number"}})
        >>> [(problem.kind, problem.attribute) for problem in schema.check("age = 'old'")]
        [('family', 'age')]
        """
        return problems_in(self, parse(rule))

    def admit(self, rule: object) -> Node:
        """The tree of a rule that fits the schema; a RuleError says why it does not.

        >>> Schema.from_dict({"attributes": {"age": "number"}}).admit("age > 18")
        parse('age > 18')
        """
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

    def check_event(
        self, event: Mapping[str, object] | Event, view: EventView | None = None
    ) -> list[Violation]:
        """What breaks the rules R1, R2 and R3 in an event; an EventError if it is malformed.

        With a view, the event has to be of its types, and to have its attributes and no others.

        >>> schema = Schema.from_dict({"attributes": {"age": "number"}})
        >>> [str(violation) for violation in schema.check_event({"age": "old"})]
        ["R2, attribute 'age': expected a number, found 'old'"]
        """
        return list(violations(self, event if isinstance(event, Event) else Event(event), view))

    def admit_event(
        self, event: Mapping[str, object] | Event, view: EventView | None = None
    ) -> Event:
        """The event, if it keeps to the schema, or to a view of it; an EventError says why not.

        >>> schema = Schema.from_dict({"attributes": {"age": "number"}})
        >>> schema.admit_event({"age": 18}).raw
        {'age': 18}
        """
        seen = event if isinstance(event, Event) else Event(event)
        for violation in violations(self, seen, view):
            raise EventError(f"{violation.reason} ({violation.rule})", violation.attribute)
        return seen

    # The four ways in which publishers extend it

    def add_domain(self, name: str, domain: Domain) -> Schema:
        """A schema with one more domain.

        >>> from matchwood.schema import Range
        >>> schema = Schema({}).add_domain("rating", Range(0, 5)).add_attribute("stars", "rating")
        >>> schema.to_dict()["attributes"]
        {'stars': 'rating'}
        """
        if name in self.domains or name in FAMILIES:
            raise SchemaError(f"domains.{name}: it is there already, and what is there stays")
        return self._with(domains={**self.domains, name: domain})

    def add_attribute(self, name: str, domain: str, *, is_list: bool = False) -> Schema:
        """A schema with one more attribute, of a domain that the schema has.

        >>> Schema({}).add_attribute("tags", "string", is_list=True).to_dict()
        {'attributes': {'tags': 'list of string'}}
        """
        self._refuse_known(name, self.event_type)
        known = {**FAMILIES, **self.domains}
        if domain not in known:
            raise SchemaError(f"attributes.{name}: no domain {domain!r}{nearest(domain, known)}")
        domain_name = None if isinstance(known[domain], Plain) and domain in FAMILIES else domain
        attribute = SchemaAttribute(known[domain], is_list, domain_name)
        return self._with(attributes={**self.declared, name: attribute})

    def extend_type(self, name: str, attribute: str, *, multiple: bool = False) -> Schema:
        """A schema in which a type has one more attribute.

        The attribute is optional, because others publish events of the type without it.

        >>> form = {"attributes": {"price": "number"}, "types": {"offer": {}}}
        >>> Schema.from_dict(form).extend_type("offer", "price").to_dict()["types"]
        {'offer': {'price': 'optional'}}
        """
        if name not in self.types:
            raise SchemaError(f"types.{name}: no such event type{nearest(name, self.types)}")
        if attribute in self.types[name]:
            raise SchemaError(f"types.{name}.{attribute}: it is there already, and stays as it is")
        uses = {**self.types[name], attribute: Use(multiple=multiple)}
        return self._with(types={**self.types, name: uses})

    def add_type(self, name: str, uses: Mapping[str, Use]) -> Schema:
        """A schema with one more event type.

        >>> schema = Schema.from_dict({"attributes": {"price": "number"}})
        >>> schema.add_type("offer", {"price": Use(mandatory=True)}).to_dict()["types"]
        {'offer': {'price': 'mandatory'}}
        """
        if name in self.types:
            raise SchemaError(f"types.{name}: it is there already, and what is there stays")
        return self._with(types={**self.types, name: uses})

    def extend(self, form: object) -> Schema:
        """The schema with everything that a dict form adds to it, in those four ways only.

        >>> schema = Schema.from_dict({"types": {"offer": {}}})
        >>> extended = schema.extend(
        ...     {"attributes": {"colour": "string"}, "types": {"offer": {"colour": "optional"}}}
        ... )
        >>> extended.types["offer"]["colour"].mandatory
        False
        """
        added = dict_form.read_extension(form, self)
        schema = self
        for name, domain in added.domains.items():
            schema = schema.add_domain(name, domain)
        for name, attribute in added.attributes.items():
            self._refuse_known(name)
            schema = schema._with(attributes={**schema.declared, name: attribute})
        for name, uses in added.types.items():
            extends = schema._with_uses if name in schema.types else schema.add_type
            schema = extends(name, uses)
        return schema

    def _refuse_known(self, name: str, event_type: str | None = None) -> None:
        if name in self.attributes or name == event_type:
            raise SchemaError(f"attributes.{name}: it is there already, and what is there stays")

    def _with_uses(self, name: str, uses: Mapping[str, Use]) -> Schema:
        schema = self
        for attribute, use in uses.items():
            if use.mandatory:
                raise SchemaError(
                    f"types.{name}.{attribute}: a type that is there is extended by optional "
                    "attributes, as others publish events of it without this one"
                )
            schema = schema.extend_type(name, attribute, multiple=use.multiple)
        return schema

    def _with(self, **changed: Any) -> Schema:
        parts = {
            "attributes": self.declared,
            "domains": self.domains,
            "types": self.types,
            "event_type": self.event_type,
            **changed,
        }
        return Schema(parts.pop("attributes"), **parts)
