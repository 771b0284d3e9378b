"""A conjunction of fields as a rule: fields in the objects of one list are asked of one object.

event-ruler visits fields by name. A field that is missing is looked for only in the objects that
fields before it were found in, and in all objects of lists in which there were none before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from matchwood.imports.connectives import all_of, any_of
from matchwood.imports.event_patterns.comparisons import FieldTests
from matchwood.imports.imported import Inexpressible
from matchwood.language.builder import attr
from matchwood.language.tree import Node

# Combinations of fields in one list that may each be missing or have a value.
MAX_COMBINATIONS = 64


@dataclass(frozen=True)
class PatternField:
    """A field of a pattern: its path, and what it may be."""

    path: tuple[str, ...]
    tests: FieldTests

    @property
    def order(self) -> bytes:
        """Where event-ruler visits it: in the order of Java's strings."""
        return ".".join(self.path).encode("utf-16-be", "surrogatepass")

    def rule(self, depth: int) -> Node:
        """The rule about the field in an object that is so deep in the event."""
        return self.tests.rule(attr(".".join(self.path[depth:])))


def shares_objects(
    paths: Iterable[tuple[str, ...]], never_lists: frozenset[tuple[str, ...]]
) -> bool:
    """Whether several fields are in what may be a list of objects."""
    seen: set[tuple[str, ...]] = set()
    for path in paths:
        around = {path[:length] for length in range(1, len(path))} - never_lists
        if around & seen:
            return True
        seen |= around
    return False


def conditions(
    fields: Iterable[PatternField], never_lists: frozenset[tuple[str, ...]]
) -> list[Node]:
    """The rules that hold together where all fields are as they should be.

    `never_lists` are paths at which an event never has a list.
    """
    return list(_conditions(sorted(fields, key=lambda each: each.order), 0, 0, never_lists))


def _conditions(
    fields: Sequence[PatternField], depth: int, shared: int, never_lists: frozenset[tuple[str, ...]]
) -> Iterator[Node]:
    """The rules about fields in an object `depth` deep, of whose path `shared` parts are equal."""
    groups: dict[str, list[PatternField]] = {}
    for each in fields:
        groups.setdefault(each.path[shared], []).append(each)
    for group in groups.values():
        common = _common_length(group, shared + 1)
        inside = [each for each in group if len(each.path) > common]
        yield from (each.rule(depth) for each in group if len(each.path) == common)
        if len(inside) == 1:
            yield inside[0].rule(depth)
        elif inside and inside[0].path[:common] in never_lists:
            yield from _conditions(inside, depth, common, never_lists)
        elif inside:
            yield from _in_one_object(inside, depth, common, never_lists)


def _common_length(fields: Sequence[PatternField], at_least: int) -> int:
    shortest = min(len(each.path) for each in fields)
    first = fields[0].path
    for length in range(at_least, shortest):
        if any(each.path[length] != first[length] for each in fields):
            return length
    return shortest


def _in_one_object(
    fields: Sequence[PatternField], depth: int, common: int, never_lists: frozenset[tuple[str, ...]]
) -> Iterator[Node]:
    """The rule about several fields in what may be a list of objects."""
    for each in fields:
        if each.tests.null:
            path = ".".join(each.path[:common])
            raise Inexpressible(
                f"null cannot be told from a missing attribute in {path}, which may be a list",
                ".".join(each.path),
            )
    combinations = list(product(*map(_missing_or_not, fields)))
    if len(combinations) > MAX_COMBINATIONS:
        raise Inexpressible(
            f"more than {MAX_COMBINATIONS} combinations of fields that may be missing",
            ".".join(fields[0].path[:common]),
        )
    rules = [
        all_of(_of_one_object(combination, depth, common, never_lists))
        for combination in combinations
    ]
    yield any_of(rules)


def _missing_or_not(each: PatternField) -> list[PatternField]:
    """The field that is missing, and the field that has a value, as far as it may be either."""
    if not (each.tests.absent and each.tests.of_values):
        return [each]
    return [
        replace(each, tests=FieldTests(absent=True)),
        replace(each, tests=each.tests.without_absent()),
    ]


def _of_one_object(
    fields: Sequence[PatternField], depth: int, common: int, never_lists: frozenset[tuple[str, ...]]
) -> Iterator[Node]:
    """The rules about fields each of which is either missing or has a value."""
    found = next((i for i, each in enumerate(fields) if not each.tests.absent), len(fields))
    yield from (each.rule(depth) for each in fields[:found])
    rest = fields[found:]
    if len(rest) == 1:
        yield rest[0].rule(depth)
    elif rest:
        inner = all_of(_conditions(rest, common, common, never_lists))
        yield attr(".".join(rest[0].path[depth:common])).any(inner)
