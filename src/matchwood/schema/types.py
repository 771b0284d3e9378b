"""Event types, and views over several of them: which attributes an event has, and how often."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Use:
    """How a type uses an attribute: must every event have it, may it have several values."""

    mandatory: bool = False
    multiple: bool = False

    def __or__(self, other: Use) -> Use:
        """Of two types: mandatory and multiple go before optional and unique."""
        return Use(self.mandatory or other.mandatory, self.multiple or other.multiple)

    def __str__(self) -> str:
        return " ".join(
            ("mandatory" if self.mandatory else "optional", *["multiple"] * self.multiple)
        )


@dataclass(frozen=True)
class View:
    """The attributes of events that are of all these types at once."""

    types: tuple[str, ...]
    uses: Mapping[str, Use]

    mandatory: frozenset[str] = field(init=False, repr=False, compare=False)  # must be there
    unique: frozenset[str] = field(init=False, repr=False, compare=False)  # one value at most

    def __post_init__(self) -> None:
        mandatory = frozenset(name for name, use in self.uses.items() if use.mandatory)
        unique = frozenset(name for name, use in self.uses.items() if not use.multiple)
        object.__setattr__(self, "mandatory", mandatory)
        object.__setattr__(self, "unique", unique)

    def __hash__(self) -> int:
        return hash(self.types)


def together(types: Iterable[tuple[str, Mapping[str, Use]]]) -> View:
    """The view over types that has all their attributes."""
    names: list[str] = []
    uses: dict[str, Use] = {}
    for name, held in types:
        names.append(name)
        for attribute, use in held.items():
            uses[attribute] = uses[attribute] | use if attribute in uses else use
    return View(tuple(names), uses)
