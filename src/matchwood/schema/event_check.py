"""Events against a schema: the rules R1, R2 and R3 of the integrated event schema.

R1  An event names its types, one or more.
R2  It has every attribute that is mandatory in one of them. Its values are in the domain of the
    attribute, and there is at most one if the attribute is unique in all types that have it.
R3  It has no other attributes.

A null value counts as missing. In a schema without types, R1 asks nothing and no attribute is
mandatory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from matchwood.language.events import Event
from matchwood.language.predicate_truth import as_family
from matchwood.language.seen import LISTS
from matchwood.language.values import NULL, Family, Value
from matchwood.schema.definitions import Definitions, SchemaAttribute
from matchwood.schema.domains import shown
from matchwood.schema.errors import nearest
from matchwood.schema.types import EventView, Use


@dataclass(frozen=True)
class Violation:
    """Something that an event has but the schema does not allow, or lacks but must have.

    >>> print(Violation("R3", "colour", "no such attribute in offer"))
    R3, attribute 'colour': no such attribute in offer
    """

    rule: str  # R1, R2 or R3
    attribute: str
    reason: str

    def __str__(self) -> str:
        return f"{self.rule}, attribute {self.attribute!r}: {self.reason}"


def violations(
    schema: Definitions, event: Event, by_view: EventView | None = None
) -> Iterator[Violation]:
    """Everything about an event that breaks a rule; if its types are unknown, only that.

    An event that is checked by a view is of the types of the view, and has all its attributes.
    """
    if schema.types:
        named = _named(event, schema.event_type)
        if not named or any(name not in schema.types for name in named):
            yield from _wrong_types(schema, named)
            return
        if by_view is not None and set(named) != set(by_view.types):
            types = " and ".join(by_view.types)
            told = " and ".join(named)
            reason = f"the view is of {types}, and the event of {told}"
            yield Violation("R1", schema.event_type, reason)
            return
        view = schema.view(*named) if by_view is None else by_view
    else:
        view = schema.anything if by_view is None else by_view
    for name in view.mandatory if by_view is None else view.uses:
        if event[name] == NULL:
            needed = "mandatory" if name in view.mandatory else "part of the view"
            yield Violation("R2", name, f"it is {needed} {_in(view)}, and not there")
    for name in _attributes(event, view):
        if name == schema.event_type and schema.types:
            continue
        use = view.uses.get(name)
        if use is not None:
            yield from _values(schema.attributes[name], name, event, use, view)
        elif event[name] != NULL and not _is_object(event.raw[name], name, _spellings(event, view)):
            yield Violation("R3", name, f"no such attribute {_in(view)}{nearest(name, view.uses)}")


def _attributes(event: Event, view: EventView) -> Iterable[str]:
    """The names in an event, where an alias is the attribute that it is another name of."""
    if event.aliases is None:
        return event.raw
    found: dict[str, None] = {}
    for name in event.raw:
        known = [a for a in event.aliases.attributes_of(name) if a in view.uses]
        found |= dict.fromkeys(known if known and name not in view.uses else [name])
    return found


def _spellings(event: Event, view: EventView) -> Iterable[str]:
    """All names under which an event may have the attributes of a view."""
    if event.aliases is None:
        return view.uses
    return (name for use in view.uses for name in event.aliases.spellings(use))


def _wrong_types(schema: Definitions, named: tuple[str, ...]) -> Iterator[Violation]:
    """R1: an event names one known type or more."""
    name = schema.event_type
    if not named:
        yield Violation("R1", name, f"it names one type or more of {', '.join(schema.types)}")
    for type_name in named:
        if type_name not in schema.types:
            near = nearest(type_name, schema.types)
            yield Violation("R1", name, f"the schema has no event type {type_name!r}{near}")


def _named(event: Event, name: str) -> tuple[str, ...]:
    seen = event[name]
    if isinstance(seen, Value):
        return () if seen == NULL else (str(seen.value),)
    return tuple(sorted({str(value.value) for value in seen if value != NULL}))


def _values(
    attribute: SchemaAttribute, name: str, event: Event, use: Use, view: EventView
) -> Iterator[Violation]:
    """R2: values are in the domain, and there is at most one if the attribute is unique."""
    seen = event[name]
    if isinstance(seen, Value):
        if seen == NULL:
            return
        values: tuple[Value, ...] = (seen,)
    else:
        values = seen
        if not use.multiple and len(set(values)) != 1:
            yield Violation("R2", name, f"it has one value {_in(view)}, found {len(set(values))}")
            return
    if use.mandatory and not values:
        yield Violation("R2", name, f"it is mandatory {_in(view)}, and its list is empty")
    for value in values:
        compared = as_family(value, attribute.family)
        if compared is None:
            yield Violation("R2", name, f"expected {attribute.domain}, found {_shown(value)}")
            return
        outside = attribute.domain.outside(compared)
        if outside is not None:
            yield Violation("R2", name, outside)
            return


def _shown(value: Value) -> str:
    if value.family is None:
        return "null" if value == NULL else "an object, or what no rule can compare"
    assert value.value is not None
    text = shown(value.value)
    return f"{text}, a {value.family}" if value.family is not Family.STRING else text


def _in(view: EventView) -> str:
    return f"in {' and '.join(view.types)}" if view.types else "by the schema"


def _is_object(value: object, name: str, known: Iterable[str]) -> bool:
    """Whether a value is an object, or a list of objects, whose attributes are known."""
    if isinstance(value, LISTS):
        holds = all(isinstance(item, Mapping) for item in value)
    else:
        holds = isinstance(value, Mapping)
    return holds and any(other.startswith(name + ".") for other in known)
