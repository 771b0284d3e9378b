"""Lists with names: the values that `in list 'tor'` looks up, which change without the rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from matchwood.language.errors import RuleError
from matchwood.language.lists import ListValues
from matchwood.language.tree import Elements, InList, Node, walk
from matchwood.language.values import Family, Literal, Value, family_of, literal, read_time

# Values of one list.
MAX_LISTED = 10_000_000


class ValueList(Protocol):
    """What `in list` asks of a list; other stores of values than `NamedList` may answer."""

    def holds(self, value: Value) -> bool | None:
        """Whether a single value is in the list; None if it has none of its family."""

    def holds_any(self, values: ListValues) -> bool:
        """Whether any value of a list in an event is in this list."""


# By name; a rule that names another one is refused.
NamedLists = Mapping[str, ValueList]


class NamedList:
    """An immutable set of values of any families.

    >>> from matchwood.language.values import read
    >>> tor = NamedList(["10.0.0.1", 5])
    >>> [tor.holds(read(value)) for value in ("10.0.0.1", "x", 5, True)]
    [True, False, True, None]
    """

    __slots__ = ("_families", "size")

    def __init__(self, values: Iterable[object]) -> None:
        if isinstance(values, str | bytes | Mapping):
            raise RuleError(f"a list has values, found one {type(values).__name__}")
        # By family; a dict of ten million keys takes less memory than a set, and keeps their order.
        families: dict[Family, dict[Literal, None]] = {}
        for number, value in enumerate(values):
            if number >= MAX_LISTED:
                raise RuleError(f"a list has at most {MAX_LISTED:,} values")
            canonical = literal(value)
            families.setdefault(family_of(canonical), {})[canonical] = None
        self._families = families
        self.size = sum(map(len, families.values()))

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Literal]:
        for members in self._families.values():
            yield from members

    def holds(self, value: Value) -> bool | None:
        """Whether a single value is in the list; None if it has none of its family."""
        family = value.family
        if family is None:
            return None
        members = self._families.get(family)
        found = None if members is None else value.value in members
        if family is Family.STRING and not found and Family.TIME in self._families:
            moment = read_time(str(value.value))
            if moment is not None:
                return moment in self._families[Family.TIME]
        return found

    def holds_any(self, values: ListValues) -> bool:
        """Whether any value of a list in an event is in this list."""
        return any(
            not members.keys().isdisjoint(values.of(family).members)
            for family, members in self._families.items()
        )


# What stands for a list that has been removed.
_REMOVED = NamedList(())


class LiveLists(dict[str, ValueList]):
    """Lists that change while rules look them up, by their names.

    Matchers that are given the same object share its lists. A list is removed when no rule names
    it any more; whoever still matches with rules of before finds it empty.

    >>> lists = LiveLists(tor=NamedList(["10.0.0.1"]))
    >>> del lists["tor"]
    >>> "tor" in lists, len(lists.get("tor")), lists.get("other")
    (False, 0, None)
    """

    __slots__ = ("_removed",)

    def __init__(self, *given: Any, **named: ValueList) -> None:
        super().__init__(*given, **named)
        self._removed: set[str] = set()

    def __delitem__(self, name: str) -> None:
        self._removed.add(name)  # first: others may look it up meanwhile
        super().__delitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """The list of this name, an empty one if it was removed."""
        return super().get(name, _REMOVED if name in self._removed else default)

    def become(self, others: Mapping[str, ValueList]) -> None:
        """Have the lists of another mapping, and no others."""
        self.update(others)
        for name in set(self) - set(others):
            del self[name]


def list_named(name: object, values: object) -> ValueList:
    """The list of a name, which must be a string; see `list_of`."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a list is a string, found {type(name).__name__}")
    return list_of(values)


def list_of(values: object) -> ValueList:
    """A list as rules look it up: one that is ready, or made of values."""
    if hasattr(values, "holds_any"):
        return values  # type: ignore[return-value]
    return NamedList(values)  # type: ignore[arg-type]


def live_lists(lists: Mapping[str, Any] | None) -> LiveLists:
    """Lists that may change: those that are given, if they are such lists already."""
    if isinstance(lists, LiveLists):
        return lists
    return LiveLists({name: list_named(name, values) for name, values in (lists or {}).items()})


def lists_named(tree: Node) -> set[str]:
    """The names of the lists that a rule names, inside elements too.

    >>> from matchwood.language import parse
    >>> sorted(lists_named(parse("ip in list 'tor' and any(s, it not in list 'x')")))
    ['tor', 'x']
    """
    names: set[str] = set()
    todo = [tree]
    while todo:
        for node in walk(todo.pop()):
            if isinstance(node, InList):
                names.add(node.name)
            elif isinstance(node, Elements):
                todo.append(node.rule)
    return names


def check_lists(tree: Node, lists: NamedLists) -> None:
    """Raise a RuleError if a rule names a list that is not there."""
    for name in sorted(lists_named(tree)):
        if name not in lists:
            known = ", ".join(map(repr, sorted(lists))) or "none"
            raise RuleError(
                f"no list is named {name!r}; there are {known}: give a list of this name, or "
                "correct the rule"
            )
