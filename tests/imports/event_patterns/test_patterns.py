"""A pattern as a rule is true of the events that the pattern matches."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from imports.event_patterns import naive_event_ruler
from matchwood.imports import Inexpressible
from matchwood.imports.differences import (
    ADDRESSES,
    DOTTED_NAMES,
    LARGE_NUMBERS,
    NESTED_LISTS,
    NULLS,
)
from matchwood.imports.event_patterns.patterns import rule_of_pattern, rule_of_policy
from matchwood.imports.json_documents import read_json
from matchwood.lab.workloads.random_patterns import RandomPatterns
from matchwood.language import evaluate, parse

DETAIL = frozenset({("detail",)})


def imported(pattern: dict[str, Any]) -> str:
    return str(rule_of_pattern(read_json(json.dumps(pattern)), DETAIL))


def test_random_patterns_match_as_event_ruler() -> None:
    matched = 0
    for seed in range(600):
        drawn = RandomPatterns(seed)
        pattern = drawn.pattern()
        rule = parse(imported(pattern))
        for _ in range(10):
            event = drawn.event()
            expected = naive_event_ruler.matches(pattern, event)
            assert (evaluate(rule, event) is True) == expected, (pattern, event, str(rule))
            matched += expected
    assert matched > 300


# Whether an event has what it takes to be of a kind.
OF_KIND: dict[str, Callable[[str, Any], bool]] = {
    NULLS: lambda name, value: value is None,
    NESTED_LISTS: lambda name, value: (
        isinstance(value, list) and any(isinstance(each, list) for each in value)
    ),
    LARGE_NUMBERS: lambda name, value: isinstance(value, int) and abs(value) > 2**53,
    ADDRESSES: lambda name, value: isinstance(value, str | int),
    DOTTED_NAMES: lambda name, value: "." in name,
}


def test_a_rule_names_the_events_of_which_it_answers_otherwise() -> None:
    found = set()
    for seed in range(800):
        drawn = RandomPatterns(seed, unusual=True)
        pattern = drawn.pattern()
        differs: set[str] = set()
        rule = parse(str(rule_of_pattern(read_json(json.dumps(pattern)), DETAIL, differs)))
        for _ in range(5):
            event = drawn.event()
            expected = naive_event_ruler.matches(pattern, event)
            if (evaluate(rule, event) is True) != expected:
                parts = list(parts_of(event))
                reasons = {kind for kind in differs if any(OF_KIND[kind](*each) for each in parts)}
                assert reasons, (pattern, event, str(rule), differs)
                found |= reasons
    assert found >= {NULLS, NESTED_LISTS, DOTTED_NAMES}


def parts_of(value: Any) -> Iterator[tuple[str, Any]]:
    """All values of an event with the names that they have there."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name, inner
            yield from parts_of(inner)
    for each in value if isinstance(value, list) else ():
        yield "", each
        yield from parts_of(each)


@pytest.mark.parametrize(
    ("pattern", "kinds"),
    [
        ({"a": ["x", 5, True, {"prefix": "y"}, {"wildcard": "*"}]}, set()),
        ({"a": [{"exists": True}]}, {NULLS}),
        ({"a": [{"exists": False}]}, {NULLS}),
        ({"a": [{"anything-but": "x"}]}, {NULLS}),
        ({"a": [{"numeric": [">", 5]}]}, {LARGE_NUMBERS}),
        ({"a": [{"numeric": [">", 5, "<", 1e9]}]}, set()),
        ({"a": [{"numeric": ["=", 5]}]}, set()),
        ({"a": [{"cidr": "10.0.0.0/8"}]}, {ADDRESSES}),
        ({"a": ["2001:db8::1"]}, {ADDRESSES}),
        ({"o": {"a": [1], "b": [2]}}, {DOTTED_NAMES}),
        ({"o": {"a": [1]}, "p": {"a": [2]}}, set()),
        ({"detail": {"a": [1], "b": [2]}}, set()),
        ({"$or": [{"o": {"a": [1]}}, {"o": {"b": [1]}}]}, set()),
    ],
)
def test_kinds_of_events(pattern: Any, kinds: set[str]) -> None:
    differs: set[str] = set()
    rule_of_pattern(read_json(json.dumps(pattern)), DETAIL, differs)
    assert differs == kinds | {NESTED_LISTS}


def test_an_integer_that_is_no_float_is_in_no_range_of_event_ruler() -> None:
    pattern, event = {"a": [{"numeric": [">", 5]}]}, {"a": 2**53 + 1}
    assert not naive_event_ruler.matches(pattern, event)
    assert evaluate(parse(imported(pattern)), event) is True


def test_attributes_of_messages_are_not_nested() -> None:
    differs: set[str] = set()
    rule_of_policy({"a.b": [{"exists": True}], "a.c": [1]}, differs)
    assert differs == {NULLS}


MATCHING: list[tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]] = [
    # Strings are compared with case, and with no value of another type.
    ({"a": ["x", 5, True]}, [{"a": "x"}, {"a": 5.0}, {"a": True}], [{"a": "X"}, {"a": 1}]),
    ({"a": ["true", "5"]}, [{"a": "true"}, {"a": "5"}], [{"a": True}, {"a": 5}]),
    # A list passes if one of its values does; an empty list has no value.
    ({"a": ["x"]}, [{"a": ["y", "x"]}], [{"a": []}, {"a": ["xy"]}, {"a": {"b": "x"}}]),
    ({"a": [{"anything-but": "x"}]}, [{"a": ["x", "y"]}, {"a": False}], [{"a": ["x"]}, {}]),
    ({"a": [{"anything-but": ["x", "y"]}]}, [{"a": "z"}, {"a": ["x", "z"]}], [{"a": ["x", "y"]}]),
    ({"a": [{"anything-but": [5]}]}, [{"a": "5"}, {"a": 6}, {"a": True}], [{"a": 5.0}, {"a": []}]),
    ({"a": [{"anything-but": {"prefix": "x"}}]}, [{"a": "yx"}, {"a": 5}], [{"a": "xy"}, {}]),
    # A range is of one value.
    ({"a": [{"numeric": [">", 0, "<", 5]}]}, [{"a": [9, 3]}], [{"a": [-1, 9]}, {"a": "3"}]),
    ({"a": [{"numeric": [">=", 0, "<=", 5]}]}, [{"a": [9, 5]}, {"a": 0}], [{"a": [-1, 9]}]),
    ({"a": [3.018e2]}, [{"a": 301.8}], [{"a": 302}, {"a": "301.8"}]),
    # Case: the sign for Kelvin is no k.
    ({"a": [{"equals-ignore-case": "task"}]}, [{"a": "TaSK"}], [{"a": "tas\u212a"}]),
    ({"a": [{"prefix": {"equals-ignore-case": "a%"}}]}, [{"a": "A%b"}], [{"a": "ab"}]),
    ({"a": [{"suffix": {"equals-ignore-case": "ß"}}]}, [{"a": "xß"}, {"a": "SS"}], [{"a": "s"}]),
    ({"a": [{"wildcard": "a*\\*"}]}, [{"a": "ab*"}, {"a": "a*"}], [{"a": "ab"}, {"a": "xa*"}]),
    ({"a": [{"cidr": "10.1.2.3/8"}]}, [{"a": ["x", "10.9.9.9"]}], [{"a": "11.0.0.0"}]),
    ({"a": ["2001:db8::1"]}, [{"a": "2001:DB8:0::1"}], [{"a": "2001:db8::2"}]),
    # Only leaves exist.
    ({"a": [{"exists": True}]}, [{"a": ""}, {"a": [0]}], [{}, {"a": []}, {"a": {"b": 1}}]),
    ({"a": [{"exists": False}]}, [{}, {"a": []}, {"a": {"b": 1}}], [{"a": ""}, {"a": [0]}]),
    ({"a": [{"exists": False}, "x"]}, [{}, {"a": "x"}], [{"a": "y"}]),
    ({"a": [None, {"exists": False}]}, [{}, {"a": None}, {"a": [None, "x"]}], [{"a": "x"}]),
    # Fields of the objects of a list are those of one object.
    (
        {"p": {"a": [1], "b": [2]}},
        [{"p": {"a": 1, "b": 2}}, {"p": [{"a": 9}, {"a": 1, "b": [3, 2]}]}],
        [{"p": [{"a": 1}, {"b": 2}]}, {"p": []}, {}],
    ),
    (
        {"p": {"a": [1], "b": [{"exists": False}]}},
        [{"p": [{"a": 1}, {"b": 1}]}],
        [{"p": [{"a": 1, "b": 2}]}],
    ),
    # What is looked for before is looked for in all objects.
    (
        {"p": {"a": [{"exists": False}], "b": [1]}},
        [{"p": [{"b": 1}]}],
        [{"p": [{"b": 1}, {"a": 1}]}],
    ),
    (
        {"p": {"q": {"a": [1], "b": [2]}, "c": [3]}},
        [{"p": [{"c": 3, "q": [{}, {"a": 1, "b": 2}]}]}],
        [{"p": [{"c": 3, "q": [{"a": 1}]}, {"q": {"a": 1, "b": 2}}]}],
    ),
    # `$or` takes in what stands before; what stands last counts.
    (
        {"a": [1], "$or": [{"b": [2]}, {"c": [3]}]},
        [{"a": 1, "b": 2}, {"a": 1, "c": 3}],
        [{"a": 1}, {"b": 2}],
    ),
    ({"a": [1], "$or": [{"a": [2]}, {"b": [3]}]}, [{"a": 2}, {"a": 1, "b": 3}], [{"a": 1}]),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "passing", "failing"), MATCHING)
def test_patterns(pattern: Any, passing: list[Any], failing: list[Any]) -> None:
    rule = parse(imported(pattern))
    for event in passing:
        assert evaluate(rule, event) is True, (str(rule), event)
        assert naive_event_ruler.matches(pattern, event) or None in event.get("a", ())
    for event in failing:
        assert evaluate(rule, event) is not True, (str(rule), event)
        assert not naive_event_ruler.matches(pattern, event)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (
            {"source": ["aws.ec2"], "detail-type": ["Stop"], "detail": {"a": ["x"], "b": ["y"]}},
            "`detail-type` = 'Stop' and detail.a = 'x' and detail.b = 'y' and source = 'aws.ec2'",
        ),
        (
            {"detail": {"o": {"a": ["x", "y"], "b": [{"prefix": "50%"}, {"suffix": "z"}]}}},
            "any(detail.o, a in ('x', 'y') and b like any ('50\\%%', '%z'))",
        ),
        (
            {"a": [1], "$or": [{"b": [{"numeric": ["<", 2.50]}]}, {"c": [3]}]},
            "a = 1 and (b < 2.5 or c = 3)",
        ),
        ({"a": [{"equals-ignore-case": "win"}]}, "a ilike 'win'"),
    ],
)
def test_text(pattern: Any, text: str) -> None:
    assert imported(pattern) == text


REFUSED: list[tuple[Any, str]] = [
    ({"a": [None]}, "a: null alone cannot be told"),
    ({"a": [None, "x"]}, "a: null alone cannot be told"),
    ({"p": {"a": [None, {"exists": False}], "b": [1]}}, "p.a: null cannot be told"),
    ({"a": []}, "a: a list of values has one or more"),
    ({"a": "x"}, "a: a field has an object or a list"),
    ({"a": {}}, "a: an object has one field or more"),
    ([1], "a pattern is an object"),
    ({}, "an object has one field or more"),
    ({"a": ["x", {"regex": "x"}]}, "a[1]: no comparison is called 'regex'"),
    ({"a": [{"prefix": "x", "suffix": "y"}]}, "a[0]: expected a value, or an object with one"),
    ({"a": [{"prefix": 5}]}, "a[0].prefix: expected a string, found 5"),
    ({"a": [{"prefix": {"suffix": "x"}}]}, "a[0].prefix: expected a string or an object"),
    ({"a": [{"suffix": {}}]}, "a[0].suffix: expected a string or an object"),
    ({"a": [{"wildcard": "a**"}]}, "a[0].wildcard: two wildcards follow each other"),
    ({"a": [{"wildcard": "a\\b"}]}, "a[0].wildcard: a backslash stands before"),
    ({"a": [{"equals-ignore-case": "😀"}]}, "beyond U+FFFF"),
    ({"a": [{"exists": "yes"}]}, "a[0].exists: expected true or false"),
    ({"a": [{"cidr": "10.0.0.0"}]}, "a[0].cidr: expected a network"),
    ({"a": [{"cidr": "10.0.0.0/99"}]}, "a[0].cidr: "),
    ({"a": ["::ffff:a00:1"]}, "addresses of IPv4 within IPv6"),
    ({"a": [{"numeric": [">", 5, "<", 5]}]}, "the lower bound of a range is less"),
    ({"a": [{"numeric": ["<", 5, ">", 1]}]}, "a range is written with"),
    ({"a": [{"numeric": ["!", 5]}]}, "expected =, <"),
    ({"a": [{"numeric": [">"]}]}, "expected a comparison and a number"),
    ({"a": [{"numeric": [">", "5"]}]}, "a[0].numeric[1]: expected a number"),
    ({"a": [{"numeric": [">", 9007199254740993]}]}, "no float of 64 bits is 9007199254740993"),
    ({"a": [{"numeric": [">", 10**400]}]}, "no float of 64 bits"),
    ({"a": [{"anything-but": []}]}, "expected strings or numbers"),
    ({"a": [{"anything-but": ["x", 5]}]}, "expected strings or numbers"),
    ({"a": [{"anything-but": [True]}]}, "expected strings or numbers"),
    ({"a": [{"anything-but": {"prefix": ""}}]}, "none of them empty"),
    ({"a": [{"anything-but": {"numeric": ["=", 5]}}]}, "anything-but takes no 'numeric'"),
    ({"a": [{"anything-but": {"prefix": "x", "suffix": "y"}}]}, "expected one comparison"),
    ({"$or": [{"a": [1]}]}, "$or: $or takes a list of two"),
    ({"$or": [{"a": [1]}, 5]}, "$or[1]: expected an object"),
    ({"$or": [{"a": [1]}, {"p": {"b": []}}]}, "$or[1]: p.b: a list of values"),
    ({"$or": [{"prefix": ["x"]}, {"b": [1]}]}, "no field in $or is called 'prefix'"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "reason"), REFUSED)
def test_what_is_not_imported(pattern: Any, reason: str) -> None:
    with pytest.raises(Inexpressible) as refused:
        rule_of_pattern(read_json(json.dumps(pattern)))
    assert reason in str(refused.value)


def test_branches_and_combinations_are_limited() -> None:
    branches = {"$or": [{"a": [1]}, {"b": [1]}]}
    deep: dict[str, Any] = {"x": [1]}
    for number in range(10):
        deep = {f"o{number}": {**branches, **deep}}
    with pytest.raises(Inexpressible, match=r"more than 1,000 combinations of \$or"):
        rule_of_pattern(deep)
    many = {"p": {f"a{i}": [{"exists": False}, 1] for i in range(7)}}
    with pytest.raises(Inexpressible, match="more than 64 combinations"):
        rule_of_pattern(many)


def test_a_message_without_attributes_passes_no_policy() -> None:
    rule = rule_of_policy({"a.b": [{"exists": False}, "x"]})
    assert evaluate(rule, {"c": 1}) is True
    assert evaluate(rule, {"a.b": "x"}) is True
    assert evaluate(rule, {"a.b": "y"}) is not True
    assert evaluate(rule, {}) is not True
