"""How event types use attributes, and views over several types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Use:
    """How a type uses an attribute: whether it is mandatory, and may have several values.

    >>> print(Use(mandatory=True) | Use(multiple=True))
    mandatory multiple
    """

    mandatory: bool = False
    multiple: bool = False

    def __or__(self, other: Use) -> Use:
        """The use by events of two types: mandatory wins over optional, multiple over unique."""
        return Use(self.mandatory or other.mandatory, self.multiple or other.multiple)

    def __str__(self) -> str:
        return " ".join(
            ("mandatory" if self.mandatory else "optional", *["multiple"] * self.multiple)
        )


@dataclass(frozen=True)
class EventView:
    """The attributes of events that are of all these types at once.

    >>> view = EventView(("offer",), {"price": Use(mandatory=True), "tags": Use(multiple=True)})
    >>> sorted(view.mandatory), sorted(view.unique)
    (['price'], ['price'])
    """

    types: tuple[str, ...]
    uses: Mapping[str, Use]

    mandatory: frozenset[str] = field(
        init=False, repr=False, compare=False
    )  # attributes that an event must have
    unique: frozenset[str] = field(
        init=False, repr=False, compare=False
    )  # attributes with at most one value

    def __post_init__(self) -> None:
        mandatory = frozenset(name for name, use in self.uses.items() if use.mandatory)
        unique = frozenset(name for name, use in self.uses.items() if not use.multiple)
        object.__setattr__(self, "mandatory", mandatory)
        object.__setattr__(self, "unique", unique)

    def __hash__(self) -> int:
        return hash(self.types)


def together(types: Iterable[tuple[str, Mapping[str, Use]]]) -> EventView:
    """The view over some types, with the attributes of all of them."""
    names: list[str] = []
    uses: dict[str, Use] = {}
    for name, type_uses in types:
        names.append(name)
        for attribute, use in type_uses.items():
            uses[attribute] = uses[attribute] | use if attribute in uses else use
    return EventView(tuple(names), uses)
