"""The list of one field of a pattern: what its value may be, or that it has none."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from matchwood.imports.connectives import all_of, any_of
from matchwood.imports.differences import ADDRESSES, FIRST_ROUNDED, LARGE_NUMBERS, NULLS
from matchwood.imports.event_patterns.spellings import (
    ignoring_case,
    of_wildcards,
    string_of,
    verbatim,
)
from matchwood.imports.float_numbers import number_of
from matchwood.imports.imported import Inexpressible
from matchwood.language.builder import Attr, it
from matchwood.language.tree import Comparison, Node

# A test of a value, given the attribute.
ValueTest = Callable[[Attr], Node]


@dataclass
class FieldTests:
    """What one field may be: it passes if one of these holds."""

    absent: bool = False  # that it has no value
    null: bool = False  # that its value is null
    literals: list[Any] = field(default_factory=list)
    patterns: dict[str, list[str]] = field(default_factory=dict)  # by like, ilike and rlike
    others: list[ValueTest] = field(default_factory=list)
    differs: set[str] = field(default_factory=set)  # for which kinds of events

    @property
    def of_values(self) -> bool:
        """Whether a value can pass."""
        return bool(self.literals or self.patterns or self.others)

    def without_absent(self) -> FieldTests:
        return replace(self, absent=False, null=False)

    def rule(self, subject: Attr) -> Node:
        """The rule that an attribute, or an element, passes."""
        parts = []
        if self.literals:
            parts.append(_one_of(subject, self.literals))
        for kind, patterns in self.patterns.items():
            parts.append(_like_one_of(subject, kind, patterns))
        parts.extend(test(subject) for test in self.others)
        if self.absent:
            parts.append(has_value(subject).is_not_true())
        if self.null:  # of a list; a value that is null counts as missing
            parts.append(subject.any(it.is_null()))
        return any_of(parts)


def has_value(subject: Attr) -> Node:
    """Whether an attribute has a leaf: objects, empty lists and null are none."""
    return subject.like("%") | (subject <= 0) | (subject > 0) | subject.isin(True, False)


def field_tests(values: Any, place: str) -> FieldTests:
    """The tests in the list of a field."""
    if not isinstance(values, list):
        raise Inexpressible("a field has an object or a list of values", place)
    if not values:
        raise Inexpressible("a list of values has one or more, found none", place)
    tests = FieldTests()
    for number, value in enumerate(values):
        _add(tests, value, f"{place}[{number}]")
    if tests.null and not tests.absent:
        raise Inexpressible(
            'null alone cannot be told from a missing attribute; beside {"exists": false} it can',
            place,
        )
    return tests


def _add(tests: FieldTests, value: Any, place: str) -> None:
    if value is None:
        tests.null = True
    elif isinstance(value, bool):
        tests.literals.append(value)
    elif isinstance(value, int | Decimal):
        tests.literals.append(value if isinstance(value, int) else number_of(value, place))
    elif isinstance(value, str):
        _add_text(tests, value, place)
    elif isinstance(value, dict) and len(value) == 1:
        (word,) = value
        if word not in _COMPARISONS:
            raise Inexpressible(f"no comparison is called {word!r}", place)
        _COMPARISONS[word](tests, value[word], f"{place}.{word}")
    else:
        raise Inexpressible("expected a value, or an object with one comparison", place)


def _add_text(tests: FieldTests, text: str, place: str) -> None:
    """A string that spells an address of IPv6 stands for all spellings of this address."""
    if ":" not in text or "." in text or "%" in text:
        tests.literals.append(text)
        return
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        tests.literals.append(text)
        return
    _add_network(tests, ipaddress.IPv6Network(address), place)


def _add_network(
    tests: FieldTests, network: ipaddress.IPv4Network | ipaddress.IPv6Network, place: str
) -> None:
    mapped = ipaddress.IPv6Network("::ffff:0:0/96")
    if isinstance(network, ipaddress.IPv6Network) and network.overlaps(mapped):
        raise Inexpressible("addresses of IPv4 within IPv6 are compared as those of IPv4", place)
    tests.differs.add(ADDRESSES)
    tests.others.append(lambda subject: subject.in_network(str(network)))


def _exactly(tests: FieldTests, value: Any, place: str) -> None:
    tests.literals.append(string_of(value, place))


def _prefix(tests: FieldTests, value: Any, place: str) -> None:
    if isinstance(value, dict):
        kind, pattern = ignoring_case(_inner_text(value, place), place, end=False)
        tests.patterns.setdefault(kind, []).append(pattern)
    else:
        prefix = verbatim(string_of(value, place)) + "%"
        tests.patterns.setdefault("like", []).append(prefix)


def _suffix(tests: FieldTests, value: Any, place: str) -> None:
    if isinstance(value, dict):
        kind, pattern = ignoring_case(_inner_text(value, place), place, start=False)
        tests.patterns.setdefault(kind, []).append(pattern)
    else:
        suffix = "%" + verbatim(string_of(value, place))
        tests.patterns.setdefault("like", []).append(suffix)


def _inner_text(value: dict[str, Any], place: str) -> str:
    if list(value) != ["equals-ignore-case"]:
        raise Inexpressible("expected a string or an object with equals-ignore-case", place)
    return string_of(value["equals-ignore-case"], f"{place}.equals-ignore-case")


def _ignoring_case(tests: FieldTests, value: Any, place: str) -> None:
    kind, pattern = ignoring_case(string_of(value, place), place)
    tests.patterns.setdefault(kind, []).append(pattern)


def _wildcard(tests: FieldTests, value: Any, place: str) -> None:
    tests.patterns.setdefault("like", []).append(of_wildcards(string_of(value, place), place))


def _exists(tests: FieldTests, value: Any, place: str) -> None:
    if not isinstance(value, bool):
        raise Inexpressible("expected true or false", place)
    tests.differs.add(NULLS)
    if value:
        tests.others.append(has_value)
    else:
        tests.absent = True


def _cidr(tests: FieldTests, value: Any, place: str) -> None:
    text = string_of(value, place)
    if "/" not in text:
        raise Inexpressible(f"expected a network such as '10.0.0.0/8', found {text!r}", place)
    try:
        network = ipaddress.ip_network(text, strict=False)
    except ValueError as error:
        raise Inexpressible(str(error), place) from None
    _add_network(tests, network, place)


def _numeric(tests: FieldTests, value: Any, place: str) -> None:
    if not isinstance(value, list) or len(value) not in (2, 4):
        raise Inexpressible("expected a comparison and a number, or two of each", place)
    op, bound = value[0], number_of(value[1], f"{place}[1]")
    if len(value) == 2:
        if op not in ("=", "<", "<=", ">", ">="):
            raise Inexpressible(f"expected =, <, <=, > or >=, found {op!r}", place)
        if op == "=":
            tests.literals.append(bound)
        else:
            tests.others.append(lambda subject: Comparison(subject.name, op, bound))
            _note_rounded(tests, {op: bound})
        return
    upper_op, upper = value[2], number_of(value[3], f"{place}[3]")
    if op not in (">", ">=") or upper_op not in ("<", "<="):
        raise Inexpressible("a range is written with > or >=, then with < or <=", place)
    if bound >= upper:
        raise Inexpressible("the lower bound of a range is less than the upper one", place)
    _note_rounded(tests, {op: bound, upper_op: upper})
    if (op, upper_op) == (">=", "<="):
        tests.others.append(lambda subject: subject.between(bound, upper))
    else:  # the same value of a list, which `a > 0 and a < 5` does not ask
        within = Comparison(it.name, op, bound) & Comparison(it.name, upper_op, upper)
        tests.others.append(lambda subject: subject.any(within))


def _note_rounded(tests: FieldTests, bounds: dict[str, Any]) -> None:
    """An integer that no float of 64 bits holds is in no range of event-ruler."""
    lower = bounds.get(">", bounds.get(">=", -math.inf))
    upper = bounds.get("<", bounds.get("<=", math.inf))
    if lower < -FIRST_ROUNDED or upper > FIRST_ROUNDED:
        tests.differs.add(LARGE_NUMBERS)


def _anything_but(tests: FieldTests, value: Any, place: str) -> None:
    """Some value that is none of these; numbers and booleans are no strings, so they pass."""
    tests.differs.add(NULLS)
    if isinstance(value, dict):
        refused = _patterns_refused(value, place)
    else:
        refused = _values_refused(value, place)
    tests.others.append(lambda subject: subject.any(refused))


def _values_refused(value: Any, place: str) -> Node:
    values = value if isinstance(value, list) else [value]
    if values and all(isinstance(each, str) for each in values):
        return any_of([_one_of(it, values, negated=True), *_no_string()])
    if values and all(
        isinstance(each, int | Decimal) and not isinstance(each, bool) for each in values
    ):
        numbers = [number_of(each, place) for each in values]
        return any_of([_one_of(it, numbers, negated=True), it.like("%"), it.isin(True, False)])
    raise Inexpressible("expected strings or numbers, not both", place)


def _patterns_refused(value: dict[str, Any], place: str) -> Node:
    if len(value) != 1:
        raise Inexpressible("expected one comparison", place)
    ((word, inner),) = value.items()
    place = f"{place}.{word}"
    if word not in ("prefix", "suffix", "wildcard", "equals-ignore-case"):
        raise Inexpressible(f"anything-but takes no {word!r}", place)
    texts = [string_of(each, place) for each in (inner if isinstance(inner, list) else [inner])]
    if not texts or (word in ("prefix", "suffix") and "" in texts):
        raise Inexpressible("expected one string or more, none of them empty", place)
    listed = FieldTests()
    for text in texts:
        _COMPARISONS[word](listed, text, place)
    likes = [
        _like_one_of(it, kind, patterns, negated=True) for kind, patterns in listed.patterns.items()
    ]
    return any_of([all_of(likes), *_no_string()])


def _no_string() -> list[Node]:
    """What numbers and booleans pass, one or the other."""
    return [it <= 0, it > 0, it.isin(True, False)]


def _one_of(subject: Attr, values: Sequence[Any], negated: bool = False) -> Node:
    distinct = list({(type(value), value): value for value in values}.values())
    if len(distinct) == 1:
        return Comparison(subject.name, "!=" if negated else "=", distinct[0])
    return subject.not_in(*distinct) if negated else subject.isin(*distinct)


def _like_one_of(subject: Attr, kind: str, patterns: Sequence[str], negated: bool = False) -> Node:
    distinct = list(dict.fromkeys(patterns))
    if len(distinct) > 1:
        many: Node = getattr(subject, f"{kind}_any")(*distinct)
        return ~many if negated else many
    one: Node = getattr(subject, f"not_{kind}" if negated else kind)(distinct[0])
    return one


_COMPARISONS: dict[str, Callable[[FieldTests, Any, str], None]] = {
    "exactly": _exactly,
    "prefix": _prefix,
    "suffix": _suffix,
    "wildcard": _wildcard,
    "equals-ignore-case": _ignoring_case,
    "anything-but": _anything_but,
    "numeric": _numeric,
    "exists": _exists,
    "cidr": _cidr,
}
