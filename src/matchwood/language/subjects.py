"""What predicates see of `lower(a)` and `*`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Protocol

from matchwood.language.errors import EventError, RuleError
from matchwood.language.seen import LISTS, MAX_VALUES, Seen, see
from matchwood.language.tree.subjects import Element, Everything, Lowered
from matchwood.language.values import NULL, OPAQUE, Family, Value, is_text, listed


class Attributes(Protocol):
    """What is needed of an event: its attributes, and all of its values."""

    @property
    def raw(self) -> dict[str, object]: ...

    def __getitem__(self, attribute: str) -> Seen: ...

    def values(self) -> Iterator[Value]: ...


def seen_of(subject: str, event: Attributes) -> Seen:
    """What predicates see of a subject that is no attribute."""
    if isinstance(subject, Lowered):
        return lowered_values(event[subject.base])
    if isinstance(subject, Everything):
        return tuple(event.values()) or NULL
    assert isinstance(subject, Element)
    raise RuleError("'it' stands for an element: use it inside any(…) or every(…)")


# Lower case


def lower_case(text: str) -> str:
    """Each code point replaced by its simple lower-case mapping, which keeps the length.

    >>> lower_case("STRASSE ÉÄ İ")
    'strasse éä i'
    """
    if text.isascii():
        return text.lower()
    return "".join(map(_lower_character, text))


@lru_cache(maxsize=65536)
def _lower_character(character: str) -> str:
    lower = character.lower()
    # U+0130 is the one code point whose full mapping is longer; its simple mapping is `i`, with
    # which the full one starts.
    return lower[0]


def lowered_values(seen: Seen) -> Seen:
    """What predicates see of `lower(a)`, given what they see of `a`."""
    if isinstance(seen, Value):
        return _lowered_value(seen)
    return tuple(map(_lowered_value, seen))


def _lowered_value(value: Value) -> Value:
    if value.family is Family.STRING:
        return Value(Family.STRING, lower_case(str(value.value)))
    return value if value == NULL else OPAQUE


# All values


def values_in(event: Attributes) -> Iterator[Value]:
    """All values of the attributes of an event at any depth, without nulls.

    The attributes of objects, and of objects in lists, are attributes of the event themselves.
    """
    for name, value in event.raw.items():
        if isinstance(value, Mapping):
            continue
        if not isinstance(value, LISTS):
            single = see(name, value)  # under this name, which may be an alias of others
            assert isinstance(single, Value)
            if single != NULL:
                yield single
            continue
        for item in value:
            if isinstance(item, Mapping):
                continue
            yield from flat_values(name, item)


def strings_in(event: Attributes) -> tuple[set[str], bool]:
    """The strings among the values of an event at any depth, and whether it has any value."""
    strings: set[str] = set()
    has_values = False
    for name, value in event.raw.items():
        kind = type(value)
        if isinstance(value, str) and kind is str and (value.isascii() or is_text(value)):
            strings.add(value)
            has_values = True
        elif kind is int or kind is bool:
            has_values = True
        elif value is not None and not isinstance(value, Mapping):
            items = value if isinstance(value, LISTS) else (value,)
            for item in items:
                if not isinstance(item, Mapping):  # its attributes are those of the event
                    for inner in flat_values(name, item):
                        has_values = True
                        if inner.family is Family.STRING:
                            strings.add(str(inner.value))
    return strings, has_values


def flat_values(name: str, item: object) -> Iterator[Value]:
    """The values of a single value, or of a list or an object at any depth, without nulls."""
    for inner in _flat(item):
        seen = see(name, inner)
        assert isinstance(seen, Value)
        if seen != NULL:
            yield seen


def _flat(item: object) -> Iterator[object]:
    """The single values of a list in a list, at any depth."""
    todo = [item]
    count = 0
    while todo:
        inner = listed(todo.pop())
        count += 1
        if count > MAX_VALUES:
            raise EventError(f"an event has at most {MAX_VALUES:,} values")
        if isinstance(inner, Mapping):
            todo.extend(inner.values())
        elif isinstance(inner, LISTS):
            todo.extend(inner)
        else:
            yield inner
