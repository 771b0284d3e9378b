"""What stands in the place of an attribute: `lower(a)`, `*` and `it`.

Each is a string, so that predicates hold it as they hold the name of an attribute, but it is equal
to no name: an event may have an attribute that is called `*`, `it` or `lower(a)`.
"""

from __future__ import annotations

from typing import ClassVar, Final


class Derived(str):
    """The subject of a predicate that is no attribute of the event."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self), str.__hash__(self)))


class Everything(Derived):
    """`*`: the list of all values of an event."""

    __slots__ = ()
    word: ClassVar[str] = "*"

    def __reduce__(self) -> tuple[object, ...]:
        return Everything, (self.word,)


class Element(Derived):
    """`it`: the element itself, inside `any(…)` and `every(…)`."""

    __slots__ = ()
    word: ClassVar[str] = "it"

    def __reduce__(self) -> tuple[object, ...]:
        return Element, (self.word,)


class Lowered(Derived):
    """`lower(a)`: the value of an attribute in lower case."""

    __slots__ = ("base",)
    base: str

    def __new__(cls, base: str) -> Lowered:
        made = super().__new__(cls, f"lower({base})")
        made.base = base
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lowered) and self.base == other.base

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((Lowered, self.base))

    def __reduce__(self) -> tuple[object, ...]:
        return Lowered, (self.base,)


EVERYTHING: Final = Everything(Everything.word)
IT: Final = Element(Element.word)


def lowered(subject: str) -> Lowered:
    """`lower(subject)`; lower case twice is lower case once."""
    return subject if isinstance(subject, Lowered) else Lowered(subject)


def unlowered(subject: str) -> str:
    """What a subject is about, without regard to case.

    >>> unlowered("a"), unlowered(Lowered("a"))
    ('a', 'a')
    """
    return subject.base if isinstance(subject, Lowered) else subject


def named(subject: str) -> tuple[str, ...]:
    """The attributes of the event that a subject reads, as far as they have names.

    >>> named("a"), named(Lowered("a")), named(EVERYTHING)
    (('a',), ('a',), ())
    """
    if isinstance(subject, Lowered):
        return named(subject.base)
    return () if isinstance(subject, Derived) else (subject,)
