"""The names of an event as attributes of a segment, where attributes have aliases.

Events of one source have the same names in the same order. So what their names mean is worked out
once for each such order, and events that spell no attribute two ways are encoded as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from matchwood.language.aliases import Aliases

# Orders of names that are remembered; then it starts again.
_KEPT = 1024

# Types of values of which a rule sees nothing but the value itself.
_PLAIN = frozenset((str, int, bool, float, type(None)))


class Spelt(NamedTuple):
    """What the names of an event mean."""

    is_own: bool  # each name is no more than itself
    is_simple: bool  # no attribute has two names in the event
    kept: tuple[tuple[str, str], ...]  # (name, attribute) where the attribute has one name only
    several: tuple[tuple[str, tuple[str, ...]], ...]  # an attribute with its names, the first wins
    names: tuple[str, ...]  # of `several`
    also: tuple[tuple[str, str], ...]  # those of `kept` with one of these names


class SpelledNames:
    """The names under which events have the attributes that rules ask for. Threads share it."""

    def __init__(self, aliases: Aliases, asked: Mapping[str, Any]) -> None:
        self._aliases = aliases
        self._asked = asked
        self._known: dict[tuple[str, ...], Spelt] = {}
        self._others = {
            name
            for attribute in asked
            if type(attribute) is str
            for name in aliases.spellings(attribute)
            if name != attribute
        }

    def has_others(self, event: dict[str, object]) -> bool:
        """Whether an event has any name that is not the attribute's own; this takes no time."""
        return not event.keys().isdisjoint(self._others)

    def attributes_of(self, name: str) -> tuple[str, ...]:
        """The attributes that rules ask for which this is a name of, itself first."""
        others = tuple(a for a in self._aliases.attributes_of(name) if a in self._asked)
        return (name, *others) if name in self._asked else others

    def spelt(self, event: Mapping[str, object]) -> Spelt:
        """What the names of an event mean."""
        names = tuple(event)
        known = self._known.get(names)
        if known is None:
            known = self._spelt(names)
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[names] = known
        return known

    def _spelt(self, names: tuple[str, ...]) -> Spelt:
        found: dict[str, list[str]] = {}
        kept: list[tuple[str, str]] = []
        for name in names:
            attributes = self.attributes_of(name) if type(name) is str else ()
            for attribute in attributes:
                found.setdefault(attribute, []).append(name)
            if not attributes:
                kept.append((name, name))  # no rule asks for it, but it must be valid
        several = []
        for attribute, given in found.items():
            if len(given) == 1:
                kept.append((given[0], attribute))
            else:
                order = self._aliases.spellings(attribute)
                several.append((attribute, tuple(sorted(given, key=order.index))))
        is_own = not several and all(name == attribute for name, attribute in kept)
        of_several = dict.fromkeys(name for _, given in several for name in given)
        also = tuple((name, attribute) for name, attribute in kept if name in of_several)
        return Spelt(is_own, not several, tuple(kept), tuple(several), tuple(of_several), also)

    def parted(
        self, event: dict[str, object], spelt: Spelt
    ) -> tuple[dict[str, object], dict[str, object]]:
        """The event without the names of what is spelled in several ways, and these attributes.

        A TypeError if one of their values is not plain.
        """
        rest = event.copy()
        for name in spelt.names:
            if type(rest.pop(name)) not in _PLAIN:
                raise _not_plain(name)
        attributes = {attribute: event[name] for name, attribute in spelt.also}
        attributes.update((a, _first(event, names)) for a, names in spelt.several)
        return rest, attributes

    def renamed(self, event: dict[str, object]) -> dict[str, object]:
        """The event with the names of attributes; a TypeError if one of several is not plain."""
        spelt = self.spelt(event)
        if spelt.is_own:
            return event
        attributes = {attribute: event[name] for name, attribute in spelt.kept}
        for name in spelt.names:
            if type(event[name]) not in _PLAIN:
                raise _not_plain(name)
        for attribute, names in spelt.several:
            attributes[attribute] = _first(event, names)
        return attributes


def _not_plain(name: str) -> TypeError:
    return TypeError(f"{name!r} is not plain, and so has to be read")


def _first(event: Mapping[str, object], names: tuple[str, ...]) -> object:
    """The first value of several names that is neither null nor NaN."""
    for name in names:
        value = event[name]
        if value is not None and value == value:
            return value
    return None
