"""Aliases: other names under which events have an attribute.

`SourceName` may be `Source Name` in one source of events and `Event.EventData.SourceName` in
another. Rules name the attribute once, and the names are resolved when events are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from matchwood.language.values import is_text

# Spellings, and attributes of spellings, that are remembered; then it starts again.
_KEPT = 65_536

# What aliases are given as: by attribute, one other name or several.
AliasForm = Mapping[str, str | Iterable[str]]


class Aliases:
    """The other names of attributes, in the order in which they are tried.

    A pattern ends with `*` and stands for all names that begin so: `{"*": "Event.EventData.*"}`
    says that every attribute may be found there too, under each of its names.

    >>> aliases = Aliases({"host": ["Host Name", "computer"], "*": "Event.*"})
    >>> aliases.spellings("host")
    ('host', 'Host Name', 'computer', 'Event.host', 'Event.Host Name', 'Event.computer')
    >>> aliases.attributes_of("Event.computer")
    ('host', 'computer')
    """

    __slots__ = ("_attributes", "_names", "_of_name", "_patterns", "_spellings")

    def __init__(self, form: AliasForm) -> None:
        given: object = form
        if not isinstance(given, Mapping):
            shown = type(given).__name__
            raise TypeError(f"aliases are a mapping of attributes to other names, found {shown}")
        self._names: dict[str, tuple[str, ...]] = {}
        self._patterns: list[tuple[str, str]] = []  # beginnings: of the attribute, of the spelling
        for attribute, names_given in form.items():
            names = _names_of(attribute, names_given)
            if _is_pattern(attribute):
                for name in names:
                    self._patterns.append((attribute[:-1], name[:-1]))
            else:
                self._names[attribute] = names
        self._of_name: dict[str, list[str]] = {}
        for attribute, names in self._names.items():
            for name in names:
                self._of_name.setdefault(name, []).append(attribute)
        self._spellings: dict[str, tuple[str, ...]] = {}
        self._attributes: dict[str, tuple[str, ...]] = {}

    def __bool__(self) -> bool:
        return bool(self._names or self._patterns)

    def __reduce__(self) -> tuple[object, ...]:
        return Aliases, (self.form(),)

    def form(self) -> dict[str, list[str]]:
        """The aliases as they are written in files."""
        form = {attribute: list(names) for attribute, names in self._names.items()}
        for beginning, other in self._patterns:
            form.setdefault(beginning + "*", []).append(other + "*")
        return form

    def spellings(self, attribute: str) -> tuple[str, ...]:
        """All names of an attribute, its own first; the first one that is there counts."""
        known = self._spellings.get(attribute)
        if known is None:
            own = (attribute, *self._names.get(attribute, ()))
            moved = [
                other + name[len(beginning) :]
                for beginning, other in self._patterns
                for name in own
                if name.startswith(beginning)
            ]
            known = tuple(dict.fromkeys((*own, *moved)))
            _remember(self._spellings, attribute, known)
        return known

    def attributes_of(self, name: str) -> tuple[str, ...]:
        """The attributes that a name may be another spelling of, without itself."""
        known = self._attributes.get(name)
        if known is None:
            found = list(self._of_name.get(name, ()))
            for beginning, other in self._patterns:
                if name.startswith(other):
                    base = beginning + name[len(other) :]
                    found += [*self._of_name.get(base, ()), base]
            known = tuple(each for each in dict.fromkeys(found) if each != name)
            _remember(self._attributes, name, known)
        return known


def aliases_of(aliases: Aliases | AliasForm | None) -> Aliases | None:
    """Aliases as they are given; None if there are none."""
    made = aliases if isinstance(aliases, Aliases) or aliases is None else Aliases(aliases)
    return made or None


def _names_of(attribute: object, given: object) -> tuple[str, ...]:
    """The other names of an attribute; a ValueError if they cannot be that."""
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, Iterable) or isinstance(given, bytes | Mapping):
        raise TypeError(
            f"the aliases of {attribute!r} are a name or several, found {type(given).__name__}"
        )
    names = tuple(given)
    for name in (attribute, *names):
        if not isinstance(name, str):
            raise TypeError(f"an alias is a string, found {type(name).__name__} for {attribute!r}")
        if not is_text(name):
            raise ValueError(f"an alias is valid Unicode, found {name!r}")
        if "*" in name[:-1]:
            raise ValueError(f"`*` stands only at the end of an alias, found {name!r}")
        if _is_pattern(name) != _is_pattern(str(attribute)):
            raise ValueError(
                f"the alias {name!r} of {attribute!r}: either both end with `*`, or neither does"
            )
    return names


def _is_pattern(name: str) -> bool:
    return name.endswith("*")


def _remember(known: dict[str, tuple[str, ...]], name: str, names: tuple[str, ...]) -> None:
    if len(known) >= _KEPT:
        known.clear()
    known[name] = names
