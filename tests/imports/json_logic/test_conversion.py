"""An expression of JSONLogic as a rule is true of the data of which the expression is truthy."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from imports.json_logic import naive_json_logic
from matchwood.imports import Inexpressible
from matchwood.imports.differences import (
    EMPTY_STRINGS,
    LARGE_NUMBERS,
    LISTS,
    MISSING_STRINGS,
    NULLS,
    NUMBER_STRINGS,
    RARE_CHARACTERS,
    ROUNDED_SUMS,
)
from matchwood.imports.json_documents import read_json
from matchwood.imports.json_logic.conversion import rule_of_logic
from matchwood.lab.workloads.random_logic import RandomLogic, TypedLogic
from matchwood.language import evaluate, parse


def converted(logic: Any, typed: bool = False) -> str:
    return str(rule_of_logic(read_json(json.dumps(logic)), typed))


@pytest.mark.parametrize(("drawn", "typed"), [(RandomLogic, False), (TypedLogic, True)])
def test_random_expressions(drawn: Any, typed: bool) -> None:
    true = 0
    for seed in range(400):
        chosen = drawn(seed)
        logic = chosen.logic()
        rule = parse(converted(logic, typed))
        for _ in range(10):
            data = chosen.data()
            expected = naive_json_logic.truthy(naive_json_logic.apply(logic, data))
            assert (evaluate(rule, data) is True) == expected, (logic, data, str(rule))
            true += expected
    assert 800 < true < 3_200


BOTH_LARGE = {"a": 2**53, "b": 2**53 + 1}

# Whether an event has what it takes to be of a kind.
OF_KIND: dict[str, Callable[[Any], bool]] = {
    NULLS: lambda value: value is None,
    LISTS: lambda value: isinstance(value, list | dict),
    LARGE_NUMBERS: lambda value: isinstance(value, int) and abs(value) > 2**53,
    NUMBER_STRINGS: lambda value: (
        isinstance(value, str) and len(value) > 1 and "-" not in value[:1]
    ),
    ROUNDED_SUMS: lambda value: isinstance(value, int | float) and value not in (0, 1, 2, 5, -3),
    RARE_CHARACTERS: lambda value: value == "\U0001f600",
    MISSING_STRINGS: lambda value: value == "-5",
    EMPTY_STRINGS: lambda value: value == "",
}


@pytest.mark.parametrize(("drawn", "typed"), [(RandomLogic, False), (TypedLogic, True)])
def test_a_rule_names_the_events_of_which_it_answers_otherwise(drawn: Any, typed: bool) -> None:
    found = set()
    for seed in range(300):
        chosen = drawn(seed, unusual=True)
        logic = chosen.logic()
        differs: set[str] = set()
        rule = parse(str(rule_of_logic(read_json(json.dumps(logic)), typed, differs)))
        for _ in range(10):
            data = chosen.data()
            expected = naive_json_logic.truthy(naive_json_logic.apply(logic, data))
            if (evaluate(rule, data) is True) != expected:
                values = list(values_in(data))
                reasons = {kind for kind in differs if any(map(OF_KIND[kind], values))}
                assert reasons, (logic, data, str(rule), differs)
                found |= reasons
    seen = {ROUNDED_SUMS, LISTS} if typed else {NULLS, LISTS, LARGE_NUMBERS, NUMBER_STRINGS}
    assert found >= seen


def values_in(value: Any) -> Iterator[Any]:
    """All values of an event, at any depth, but the event itself."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in inner:
        yield each
        yield from values_in(each)


@pytest.mark.parametrize(
    ("logic", "typed", "kinds", "data"),
    [
        ({"==": [{"var": ["a", 5]}, 5]}, False, {NULLS, LISTS, NUMBER_STRINGS}, {"a": None}),
        ({"==": [{"var": "a"}, 100]}, False, {LISTS, NUMBER_STRINGS}, {"a": "1e2"}),
        ({"<": [{"var": "a"}, 100]}, False, {LISTS, NUMBER_STRINGS}, {"a": "0x10"}),
        ({"===": [{"var": "a"}, "x"]}, False, {LISTS}, {"a": ["x"]}),
        ({"<": [{"var": "a"}, "x"]}, False, {LISTS}, {"a": ["z", "b"]}),
        ({"in": [{"var": "a"}, ["x", "y"]]}, False, {LISTS}, {"a": ["x"]}),
        ({"===": [{"var": "a.b"}, 1]}, True, {LISTS}, {"a": [{"b": 1}]}),
        ({"===": [{"var": "a"}, 2**53]}, True, {LARGE_NUMBERS}, {"a": 2**53 + 1}),
        ({"===": [{"var": "a"}, {"var": "b"}]}, False, {LARGE_NUMBERS}, BOTH_LARGE),
        (
            {"==": [{"+": [{"var": "a"}, {"var": "b"}]}, 0.3]},
            True,
            {ROUNDED_SUMS},
            {"a": 0.1, "b": 0.2},
        ),
        (
            {"<": [{"var": "a"}, {"var": "b"}]},
            True,
            {LARGE_NUMBERS, MISSING_STRINGS, RARE_CHARACTERS},
            {"a": "\U0001f600", "b": "\uffff"},
        ),
        (
            {"<": [{"var": "a"}, {"var": "b"}]},
            True,
            {LARGE_NUMBERS, MISSING_STRINGS, RARE_CHARACTERS},
            {"a": "-5"},
        ),
        (
            {"in": [{"var": "a"}, {"var": "b"}]},
            True,
            {NULLS, EMPTY_STRINGS, LARGE_NUMBERS},
            {"a": "", "b": ""},
        ),
        ({"in": [None, {"var": "a"}]}, True, {NULLS}, {"a": [None]}),
        ({"!": {"var": "a"}}, True, {LISTS}, {"a": [0]}),
        ({"missing": ["a"]}, True, {LISTS}, {"a": [""]}),
        # What is converted exactly differs of no event.
        ({"!!": {"var": "a"}}, False, set(), None),
        ({"some": [{"var": "a"}, {"in": ["x", {"var": "b"}]}]}, False, set(), None),
        ({"==": [{"var": "a"}, "x"]}, True, set(), None),
        ({">": [{"var": "a"}, 5]}, True, set(), None),
    ],
)  # fmt: skip
def test_kinds_of_events(logic: Any, typed: bool, kinds: set[str], data: Any) -> None:
    differs: set[str] = set()
    rule = parse(str(rule_of_logic(read_json(json.dumps(logic)), typed, differs)))
    assert differs == kinds
    if data is not None:
        expected = naive_json_logic.truthy(naive_json_logic.apply(logic, data))
        assert (evaluate(rule, data) is True) != expected


# An expression, data of which it is truthy, and data of which it is not.
TRUTHS: list[tuple[Any, list[Any], list[Any]]] = [
    # A missing attribute is null, and null is 0 to an order, and equal to nothing else.
    ({"<": [{"var": "a"}, 18]}, [{}, {"a": "17"}, {"a": True}], [{"a": 18}, {"a": "x"}]),
    ({">=": [{"var": "a"}, 0]}, [{}, {"a": ""}, {"a": False}], [{"a": "-1"}]),
    ({"==": [{"var": "a"}, 0]}, [{"a": ""}, {"a": "0.0"}, {"a": False}], [{}, {"a": "x"}]),
    ({"==": [{"var": "a"}, None]}, [{}, {"a": None}], [{"a": 0}, {"a": False}]),
    ({"!=": [{"var": "a"}, 5]}, [{}, {"a": 4}, {"a": "x"}], [{"a": 5}, {"a": "5"}]),
    ({"==": [{"var": "a"}, 1]}, [{"a": "1"}, {"a": "01.0"}, {"a": True}], [{"a": "11"}]),
    ({"==": [{"var": "a"}, "1"]}, [{"a": 1}, {"a": "1"}, {"a": True}], [{"a": "1.0"}]),
    ({"==": [{"var": "a"}, True]}, [{"a": 1}, {"a": "1"}, {"a": True}], [{"a": "true"}, {}]),
    ({"===": [{"var": "a"}, 1]}, [{"a": 1.0}], [{"a": "1"}, {"a": True}, {}]),
    ({"!==": [{"var": "a"}, "x"]}, [{"a": 1}, {}], [{"a": "x"}]),
    ({"===": [{"var": "a"}, {"var": "b"}]}, [{}, {"a": 1, "b": 1}], [{"a": 1}, {"a": 1, "b": "1"}]),
    ({"<": [1, {"var": "a"}, 10]}, [{"a": 5}, {"a": "5"}], [{"a": 1}, {"a": 10}, {}]),
    ({"<": [{"var": "a"}, "m"]}, [{"a": "b"}], [{"a": "z"}, {"a": 5}, {}]),
    # What is truthy: a list is if it is not empty, whatever is in it.
    ({"var": "a"}, [{"a": "0"}, {"a": [0]}, {"a": {}}], [{"a": []}, {"a": ""}, {}]),
    ({"!": {"var": "a"}}, [{}, {"a": False}, {"a": []}], [{"a": "false"}, {"a": [""]}]),
    ({"!!": [{"var": "a.b"}]}, [{"a": {"b": 1}}], [{"a": {}}, {}]),
    ({"var": ["a", 1]}, [{}, {"a": 2}], [{"a": 0}]),
    ({"<": [{"var": ["a", 50]}, 18]}, [{"a": 17}], [{}, {"a": 18}]),
    # Values of `and`, `or` and `if`.
    ({"==": [{"or": [{"var": "a"}, "z"]}, "z"]}, [{}, {"a": ""}, {"a": "z"}], [{"a": "x"}]),
    ({"===": [{"and": [{"var": "a"}, 5]}, 0]}, [{"a": 0}], [{"a": 1}, {}, {"a": ""}]),
    (
        {"===": [{"if": [{"var": "a"}, 1, {"var": "b"}, 2]}, 2]},
        [{"b": 1}, {"a": 0, "b": "x"}],
        [{"a": 1}, {}],
    ),
    ({"if": [{"var": "a"}, {"var": "b"}]}, [{"a": 1, "b": 1}], [{"a": 1}, {"b": 1}]),
    ({"==": [{"!": [{"var": "a"}]}, False]}, [{"a": 1}], [{}, {"a": 0}]),
    # Lists and strings.
    ({"in": [{"var": "a"}, ["x", 5, None]]}, [{"a": "x"}, {"a": 5}, {}], [{"a": "5"}]),
    ({"in": ["x", {"var": "a"}]}, [{"a": "axb"}, {"a": ["x"]}], [{"a": ["xy"]}, {"a": 5}, {}]),
    ({"in": [5, {"var": "a"}]}, [{"a": "a5"}, {"a": [5]}], [{"a": ["5"]}, {"a": 5}]),
    ({"in": [None, {"var": "a"}]}, [{"a": [None]}, {"a": "null"}], [{"a": None}, {"a": []}]),
    ({"in": ["x", "axb"]}, [{}], []),
    ({"some": [{"var": "a"}, {">": [{"var": "b"}, 1]}]}, [{"a": [{}, {"b": 2}]}], [{"a": 2}]),
    ({"all": [{"var": "a"}, {">": [{"var": ""}, 1]}]}, [{"a": [2, "3"]}], [{"a": []}, {"a": [1]}]),
    ({"none": [{"var": "a"}, {"==": [{"var": ""}, 1]}]}, [{"a": []}, {}, {"a": 1}], [{"a": [1]}]),
    (
        {"some": [{"var": "a"}, {"some": [{"var": "b"}, {"===": [{"var": ""}, 1]}]}]},
        [{"a": [{"b": [2]}, {"b": [1]}]}],
        [{"a": [{"b": 1}]}],
    ),
    ({"missing": ["a", "b"]}, [{"a": 1}, {"a": 1, "b": ""}, {}], [{"a": 0, "b": [""]}]),
    ({"missing": "a"}, [{}], [{"a": 1}]),
    ({"missing_some": [1, ["a", "b"]]}, [{}], [{"a": 1}, {"b": 1}]),
    ({"missing_some": [5, ["a", "b"]]}, [{"a": 1}], [{"a": 1, "b": 1}]),
    ({"missing_some": [0, ["a", "b"]]}, [], [{}]),
    (True, [{}], []),
    ([], [], [{}]),
    ({}, [{}], []),
]  # fmt: skip


@pytest.mark.parametrize(("logic", "truthy", "falsy"), TRUTHS)
def test_truths(logic: Any, truthy: list[Any], falsy: list[Any]) -> None:
    rule = parse(converted(logic))
    for data, expected in [(each, True) for each in truthy] + [(each, False) for each in falsy]:
        assert naive_json_logic.truthy(naive_json_logic.apply(logic, data)) is expected
        assert (evaluate(rule, data) is True) is expected, (str(rule), data)


@pytest.mark.parametrize(
    ("logic", "text"),
    [
        ({"<": [{"var": "temp"}, 110]}, "temp < 110 or temp is null"),
        ({">": [{"var": "temp"}, 110]}, "temp > 110"),
        ({"==": [{"var": "pie.filling"}, "apple"]}, "pie.filling = 'apple'"),
        ({"in": [{"var": "x"}, ["a", "b"]]}, "x in ('a', 'b')"),
        ({"!=": [{"var": "x"}, 1]}, "(x = 1) is not true"),
        ({">": [{"+": [{"var": "a"}, {"var": "b"}]}, 10]}, "a + b > 10"),
        ({">": [{"-": [{"var": "a"}, 1]}, 10]}, "a - 1 > 10"),
        ({"in": [{"var": "x"}, {"var": "tags"}]}, "contains(tags, x)"),
        ({"some": [{"var": "l"}, {">": [{"var": "p"}, 5]}]}, "any(l, p > 5)"),
    ],
)
def test_text_of_typed_rules(logic: Any, text: str) -> None:
    assert converted(logic, typed=True) == text


REFUSED: list[tuple[Any, str]] = [
    ({"map": [{"var": "a"}, 1]}, "map: the rule language has no such value"),
    ({"==": [{"cat": ["a", "b"]}, "ab"]}, "==[0].cat: the rule language has no such value"),
    ({"==": [{"missing": ["a"]}, []]}, "==[0].missing: the rule language has no such value"),
    ({"and": [True, {"near": [1]}]}, "and[1].near: no operator is called 'near'"),
    ({"<": [{"var": "a"}, {"var": "b"}]}, "<: a comparison of two attributes converts strings"),
    ({">": [{"+": [{"var": "a"}, 1]}, 2]}, ">[0].+: a sum converts strings"),
    ({"in": [{"var": "a"}, {"var": "b"}]}, "in: a search in a string converts"),
    ({"in": [{"var": "a"}, "abc"]}, "in: the parts of a string that is no attribute"),
    ({"in": ["", {"var": "a"}]}, "in: an empty string is in every string but an empty one"),
    ({"in": [1e30, {"var": "a"}]}, "in: JavaScript writes"),
    ({"in": [1]}, "in: expected two expressions, found 1"),
    ({"in": [1, [{"var": "a"}]]}, "in[1][0]: a list, an object or an expression"),
    ({"var": "a.0"}, "var: 'a.0' asks for a part of a list or a string"),
    ({"var": "a.length"}, "var: 'a.length' asks for a part of a list or a string"),
    ({"var": 1}, "var: expected the name of an attribute, found 1"),
    ({"var": ""}, "var: all data together have no name"),
    ({"var": {"var": "a"}}, "var: expected the name of an attribute"),
    ({"==": [1]}, "==: expected two expressions, found 1"),
    ({"==": [{"var": "a"}, [1]]}, "==[1]: a list, an object or an expression"),
    ({"==": [{"var": "a"}, 9007199254740993]}, "==[1]: no float of 64 bits is"),
    ({"<": [{"var": "a"}, "\U0001f600"]}, "<: JavaScript orders such characters"),
    ({"<": [{"var": "a"}, "Infinity"]}, "<: a comparison with infinity"),
    ({"<": [{"var": "a"}, 1e60]}, "<: a number of more than 40 digits"),
    ({"some": [[1, 2], {"var": ""}]}, "some: expected a var and an expression"),
    ({"some": [{"var": ["a", [1]]}, True]}, "some[0]: a default that is no empty list"),
    ({"missing_some": [1, "a"]}, "missing_some: expected a number and a list of names"),
    ({"missing_some": [0.5, ["a"]]}, "missing_some: expected a whole number"),
    ({"and": []}, "and: expected one expression or more"),
    ({"==": [{"or": []}, 1]}, "==[0].or: expected one expression or more"),
]


@pytest.mark.parametrize(("logic", "reason"), REFUSED)
def test_what_is_not_converted(logic: Any, reason: str) -> None:
    with pytest.raises(Inexpressible) as refused:
        converted(logic)
    assert str(refused.value).startswith(reason)


@pytest.mark.parametrize(
    ("logic", "reason"),
    [
        ({">": [{"/": [{"var": "a"}, {"var": "b"}]}, 2]}, "a quotient by an attribute"),
        ({">": [{"-": [1, 2, 3]}, 2]}, "- takes two numbers, found 3"),
        ({">": [{"+": [{"var": "a"}, "1"]}, 2]}, "a sum is made of numbers and attributes"),
        ({"in": [{"+": [{"var": "a"}, 1]}, {"var": "b"}]}, "a sum is in no list"),
        ({"==": [{"or": [{"var": c} for c in side] + [1]} for side in ("abcdefgh", "ABCDEFG")]},
         "more than 64 cases"),
    ],
)  # fmt: skip
def test_what_is_not_converted_with_types_either(logic: Any, reason: str) -> None:
    with pytest.raises(Inexpressible) as refused:
        converted(logic, typed=True)
    assert reason in str(refused.value)


def test_sums_of_literals_are_those_of_floats() -> None:
    third = {"/": [1, 3]}
    assert converted({"==": [{"*": [third, 3]}, 1]}, typed=True) == "true"
    assert converted({"==": [{"+": [0.1, 0.2]}, 0.3]}, typed=True) == "false"
    assert converted({">": [{"*": [1e300, 1e300]}, 1]}, typed=True) == "false"
