"""The truth of one predicate over one attribute, or of a comparison of two."""

from __future__ import annotations

from collections.abc import Callable

from matchwood.language.bindings import Truth
from matchwood.language.errors import RuleError
from matchwood.language.events import Event
from matchwood.language.lists import ListValues
from matchwood.language.named_lists import NamedLists, ValueList
from matchwood.language.seen import Seen
from matchwood.language.strings import ilike, like, rlike
from matchwood.language.tree import Between, Comparison, In, InList, Like
from matchwood.language.values import Family, Literal, Value, holds, read_time


def positive_form(node: Comparison | Between | In | Like, seen: Event) -> Truth:
    """The truth of a predicate without its `not`.

    A list satisfies it if any of its values does; for a list it is never undefined.
    """
    value = seen[node.attribute]
    if isinstance(value, Value):
        return of_single(node, value)
    values = elements_of(seen, node.attribute)
    if isinstance(node, In):
        return any(
            not values.of(family).members.isdisjoint(literals)
            for family, literals in node.by_family().items()
        )
    ordered = values.of(node.family)
    if isinstance(node, Like):
        return any(PATTERNS[node.kind](text, node.pattern) for text in ordered.values)
    return ordered.satisfies(node)


def of_single(node: Comparison | Between | In | Like, value: Value) -> Truth:
    """The truth of a predicate without its `not`, for one value."""
    if isinstance(node, In):
        return is_one_of(value, node)
    compared = as_family(value, node.family)
    if compared is None:
        return None
    match node:
        case Comparison():
            return holds(compared, "=" if node.negated else node.op, node.value)
        case Between():
            return holds(compared, ">=", node.low) and holds(compared, "<=", node.high)
        case Like():
            return PATTERNS[node.kind](str(compared), node.pattern)


def is_one_of(value: Value, node: In) -> Truth:
    """Whether a value is one of the literals of its family; undefined if there are none.

    A string is looked for among the times as well, read as one.
    """
    if node.family is not None:
        compared = as_family(value, node.family)
        return None if compared is None else compared in node.values
    truths = []
    for family, literals in node.by_family().items():
        compared = as_family(value, family)
        if compared is not None:
            truths.append(compared in literals)
    return any(truths) if truths else None


def in_list(node: InList, seen: Event, lists: NamedLists | None) -> Truth:
    """Whether a value is in a list with a name; of a list, whether any of its values is."""
    known = known_list(node.name, lists)
    value = seen[node.attribute]
    if isinstance(value, Value):
        return known.holds(value)
    return known.holds_any(elements_of(seen, node.attribute))


def known_list(name: str, lists: NamedLists | None) -> ValueList:
    """The list of this name; a RuleError if there is none."""
    known = None if lists is None else lists.get(name)
    if known is None:
        raise RuleError(f"no list is named {name!r}")
    return known


def held_in(known: ValueList, seen: Seen) -> Truth:
    """Whether a list with a name has a value, or any value of a list."""
    return known.holds(seen) if isinstance(seen, Value) else known.holds_any(ListValues(seen))


PATTERNS: dict[str, Callable[[str, str], bool]] = {"like": like, "ilike": ilike, "rlike": rlike}


def elements_of(seen: Event, attribute: str) -> ListValues:
    """The sorted values of a list, which are sorted when they are first needed."""
    elements = seen.elements.get(attribute)
    if elements is None:
        values = seen[attribute]
        assert not isinstance(values, Value)
        elements = seen.elements[attribute] = ListValues(values)
    return elements


def as_family(value: Value, family: Family) -> Literal | None:
    """The value if it is of the family, with strings read as times for times; else None."""
    if value.family is family:
        return value.value
    if family is Family.TIME and value.family is Family.STRING:
        return read_time(str(value.value))
    return None


def compare_attributes(left: Seen, op: str, right: Seen) -> Truth:
    """A comparison of two attributes, undefined if one is a list or they are of two families."""
    if not isinstance(left, Value) or not isinstance(right, Value):
        return None
    if left.family is None or left.family is not right.family:
        return None
    return holds(left.value, op, right.value)
