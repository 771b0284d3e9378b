"""Events: a mapping of names to values, as attributes with one name and one value each.

`{"a": {"b": 1}}` has the attributes `a` (an object) and `a.b`; `{"items": [{"price": 1},
{"price": 2}]}` has `items` and `items.price`, which is the list of all prices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any

from matchwood.language.aliases import Aliases
from matchwood.language.errors import EventError
from matchwood.language.seen import LISTS, MAX_VALUES, Seen, see
from matchwood.language.subjects import flat_values, seen_of, values_in
from matchwood.language.tree.subjects import Derived, Element
from matchwood.language.values import NULL, Value, is_text, listed

if TYPE_CHECKING:
    from matchwood.language.lists import ListValues

# An event as a caller hands it in.
EventMapping = Mapping[str, Any]

# Levels of objects and lists within each other.
MAX_DEPTH = 100

# Types of values that need no conversion.
_COMMON = frozenset((str, int, float, bool, type(None), dict, list))


class Event:
    """The attributes of an event; each is converted once, when it is first needed.

    With `aliases`, an attribute is the first of its spellings that is there and not null.
    """

    __slots__ = ("_inside", "_read", "aliases", "elements", "raw")

    def __init__(self, event: object, aliases: Aliases | None = None) -> None:
        self.raw = attributes_of(event)
        self.aliases = aliases
        self._read: dict[str, Seen] = {}
        self.elements: dict[str, ListValues] = {}  # what predicates see of lists (`lists`)
        self._inside: dict[str, list[Event] | None] = {}

    def __getitem__(self, attribute: str) -> Seen:
        """What predicates see: NULL if the attribute is missing, a tuple for a list."""
        seen = self._read.get(attribute)
        if seen is None:
            seen = self._read[attribute] = self._see(attribute)
        return seen

    def _see(self, attribute: str) -> Seen:
        if isinstance(attribute, Derived):
            return seen_of(attribute, self)
        return see(attribute, self.given(attribute))

    def values(self) -> Iterator[Value]:
        """All values of the event, at any depth."""
        return values_in(self)

    def inside(self, path: str) -> list[Event] | None:
        """The elements of a list as events; None if the path is missing or null.

        An object, or a single value, is a list of one.
        """
        if path not in self._inside:
            self._inside[path] = self._elements(path)
        return self._inside[path]

    def _elements(self, path: str) -> list[Event] | None:
        value = listed(self.given(path))
        if not isinstance(value, (Mapping, *LISTS)) and self[path] == NULL:
            return None
        items = value if isinstance(value, LISTS) else [value]
        try:
            return [self.element_event(item) for item in items]
        except EventError as error:
            raise EventError(error.reason, path) from error

    def element_event(self, item: object) -> Event:
        """An element of a list of this event, as an event."""
        return ElementEvent(item)

    def given(self, attribute: str) -> object:
        """The value of an attribute as it was given; None if it is missing."""
        if self.aliases is None:
            return self.named(attribute)
        for name in self.aliases.spellings(attribute):
            value = self.named(name)
            if value is not None and see(name, value) != NULL:
                return value
        return None

    def named(self, name: str) -> object:
        """The value that the event has under this very name; None if it has none."""
        return self.raw.get(name)


class ElementEvent(Event):
    """An element of a list, as the rules inside `any` and `every` see it."""

    __slots__ = ("_element",)

    def __init__(self, element: object) -> None:
        self._element = listed(element)
        super().__init__(self._element if isinstance(self._element, Mapping) else {})

    def _see(self, attribute: str) -> Seen:
        if isinstance(attribute, Element):
            return see("it", self._element)
        return super()._see(attribute)

    def values(self) -> Iterator[Value]:
        return (
            values_in(self)
            if isinstance(self._element, Mapping)
            else flat_values("it", self._element)
        )

    def given(self, attribute: str) -> object:
        return self._element if isinstance(attribute, Element) else super().given(attribute)


def attributes_of(event: object) -> dict[str, object]:
    """Every attribute of an event with its value as given; an EventError if it is malformed."""
    if not isinstance(event, Mapping):
        raise EventError(f"an event is a mapping of names to values, found {type(event).__name__}")
    attributes: dict[str, object] = {}
    _collect(event, "", attributes, 1, count())
    return attributes


def _collect(
    event: Mapping[object, object],
    prefix: str,
    into: dict[str, object],
    depth: int,
    values: Iterator[int],
) -> None:
    if depth > MAX_DEPTH:
        raise EventError(f"objects and lists nest at most {MAX_DEPTH} deep", prefix[:60])
    for key, value in event.items():
        if not isinstance(key, str):
            raise EventError(f"a name is a string, found {type(key).__name__}", prefix[:-1] or None)
        if not is_text(key):
            raise EventError("a name is not valid Unicode", prefix + repr(key))
        if next(values) >= MAX_VALUES:
            raise EventError(f"an event has at most {MAX_VALUES:,} values")
        name = prefix + key
        if type(value) not in _COMMON:
            value = listed(value)
        _put(into, name, value)
        if isinstance(value, Mapping):
            _collect(value, name + ".", into, depth + 1, values)
        elif isinstance(value, LISTS):
            for inner, all_of_it in _of_objects(value, name, depth + 1, values).items():
                _put(into, inner, all_of_it)


def _of_objects(items: object, name: str, depth: int, values: Iterator[int]) -> dict[str, object]:
    """The attributes of the objects in a list: each is one list, of the values in all objects."""
    gathered: dict[str, list[object]] = {}
    for item in items:  # type: ignore[attr-defined]
        if isinstance(item, Mapping):
            attributes: dict[str, object] = {}
            _collect(item, name + ".", attributes, depth + 1, values)
            for inner, value in attributes.items():
                gathering = gathered.setdefault(inner, [])
                gathering.extend(value) if isinstance(value, LISTS) else gathering.append(value)
    return dict(gathered)


def _put(into: dict[str, object], name: str, value: object) -> None:
    if name in into:
        raise EventError("the event spells it two ways", name)
    into[name] = value
