"""What a schema defines: domains, attributes, event types, and views over several types.

`Schema` extends the definitions with everything that can be done with them. The modules that check
rules and events, or write a schema down, need only the definitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from matchwood.language.tree import IT
from matchwood.language.values import Family
from matchwood.schema.domains import Domain, Enumerated, Hierarchical
from matchwood.schema.errors import SchemaError, nearest
from matchwood.schema.hierarchy import Hierarchy
from matchwood.schema.types import EventView, Use, together

# The attribute that names the types of an event, unless the schema chooses another.
EVENT_TYPE = "event_type"

# Views that are kept for the next event of the same types: of more combinations, most occur once.
_MAX_VIEWS = 1_000


@dataclass(frozen=True)
class SchemaAttribute:
    """What an attribute holds: values of a domain, or lists of them if `is_list`.

    >>> from matchwood.schema import Range
    >>> print(SchemaAttribute(Range(0, 5), is_list=True))
    list of number
    """

    domain: Domain
    is_list: bool = False
    of: str | None = None  # the name of the domain, if it has one

    @property
    def family(self) -> Family:
        return self.domain.family

    @property
    def hierarchy(self) -> Hierarchy | None:
        return self.domain.hierarchy if isinstance(self.domain, Hierarchical) else None

    def __str__(self) -> str:
        return f"list of {self.family}" if self.is_list else str(self.family)


class Definitions:
    """The domains, attributes and types of events, which never change once they are made."""

    def __init__(
        self,
        attributes: Mapping[str, SchemaAttribute],
        *,
        domains: Mapping[str, Domain] | None = None,
        types: Mapping[str, Mapping[str, Use]] | None = None,
        event_type: str = EVENT_TYPE,
    ) -> None:
        self.domains = dict(domains or {})
        self.declared = dict(attributes)  # without the attribute that names the types
        self.types = {name: dict(uses) for name, uses in (types or {}).items()}
        self.event_type = event_type
        self.attributes = dict(attributes)
        if self.types:
            if event_type in self.attributes:
                raise SchemaError(f"attributes.{event_type}: it names the types, leave it out")
            self.attributes[event_type] = SchemaAttribute(Enumerated(list(self.types)), True)
        self._check_types()
        # Attributes that rules may not compare with `<`: code points are not their order.
        self.own_orders = frozenset(
            name for name, attribute in self.attributes.items() if attribute.domain.has_own_order
        )
        self.used = frozenset(name for uses in self.types.values() for name in uses)
        all_uses = {name: Use(multiple=a.is_list) for name, a in self.declared.items()}
        self.anything = EventView((), all_uses)
        self._views: dict[tuple[str, ...], EventView] = {}

    def inside(self, path: str | None) -> Definitions:
        """What the schema says of the elements of a list, by the names they have in rules.

        >>> from matchwood import Schema
        >>> schema = Schema.from_dict({"attributes": {"items.price": "number"}})
        >>> sorted(schema.inside("items").attributes)
        ['price']
        """
        if path is None:
            return self
        prefix = path + "."
        elements: dict[str, SchemaAttribute] = {
            name.removeprefix(prefix): attribute
            for name, attribute in self.attributes.items()
            if name.startswith(prefix)
        }
        if path in self.attributes:
            elements[IT] = self.attributes[path]
        return Definitions(elements)

    def view(self, *types: str, without: Iterable[str] = ()) -> EventView:
        """The attributes of events that are of all these types, without some optional ones.

        >>> from matchwood import Schema
        >>> schema = Schema.from_dict(
        ...     {
        ...         "attributes": {"price": "number", "colour": "string"},
        ...         "types": {"offer": {"price": "mandatory"}, "lamp": {"colour": "optional"}},
        ...     }
        ... )
        >>> sorted(schema.view("offer", "lamp").uses)
        ['colour', 'price']
        """
        view = self._views.get(types)  # events name their types sorted, and each once
        key = types if view is not None else tuple(sorted(set(types)))
        view = view or self._views.get(key)
        if view is None:
            for name in key:
                if name not in self.types:
                    raise SchemaError(f"no event type {name!r}{nearest(name, self.types)}")
            view = together((name, self.types[name]) for name in key)
            if len(self._views) < _MAX_VIEWS:
                self._views[key] = view
        left_out = set(without)
        for name in left_out:
            if name not in view.uses:
                raise SchemaError(f"the view has no attribute {name!r}{nearest(name, view.uses)}")
            if view.uses[name].mandatory:
                raise SchemaError(f"{name!r} is mandatory: no view is without it")
        kept = {name: use for name, use in view.uses.items() if name not in left_out}
        return replace(view, uses=kept) if left_out else view

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
