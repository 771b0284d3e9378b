"""Calls of operators inside `any` and `every`: one for each element, whatever rules ask for it."""

import random

import pyarrow as pa
import pytest

from matcher.expected import assert_right
from matchwood import Matcher, RuleError, operator, parse
from matchwood.language import evaluate, explain
from matchwood.operators import Operators
from matchwood.operators.residue import residue

RULES = {
    1: "any(items, dear(price) and sku = 'x')",
    2: "every(items, not dear(price) or sku = 'y')",
    3: "not any(items, dear(price))",
    4: "(any(items, dear(price)) and kind = 1) is not true",
    5: "any(items, dear(price) is unknown)",
    6: "kind = 2 and any(orders, any(items, dear(price)))",
    7: "any(scores, dear(it)) or dear(kind)",
    8: "at_least(2, any(items, dear(price)), kind = 1, dear(kind))",
    9: "kind = 2 and (any(items, dear(price)) xor dear(kind))",
    10: "any(items, like_first(price))",
}


def dear(price):
    if price == 3:
        raise ValueError("three")
    return None if price == 4 else price > 5


def like_first(event, price):
    """An operator that is given the element as its event."""
    return event.get("sku") == "x" and price > 1


def functions():
    return Operators.of({"dear": dear, "like_first": operator("like_first")(like_first)})


def event_of(source):
    def items():
        prices = [1, 3, 4, 6, 9, None, "x"]
        made = {"price": source.choice(prices), "sku": source.choice("xyz")}
        return {name: value for name, value in made.items() if source.random() < 0.9}

    event = {
        "items": source.choice([[], None, 5, items(), [items() for _ in range(3)]]),
        "orders": [{"items": [items()]} for _ in range(source.randrange(3))],
        "scores": [source.choice([1, 4, 8]) for _ in range(source.randrange(3))],
        "kind": source.randrange(10),
    }
    return {name: value for name, value in event.items() if source.random() < 0.8}


@pytest.mark.slow  # without compiled kernels
def test_all_strategies_agree_with_evaluate():
    source = random.Random(2)
    events = [event_of(source) for _ in range(60)]
    operators = functions()
    matcher = Matcher(RULES, operators=operators)
    right = assert_right(matcher, RULES, events, operators)  # pending
    assert {rule_id for _, rule_id in right} == set(RULES)
    matcher.compact()
    assert assert_right(matcher, RULES, events, operators) == right


def test_each_element_is_asked_about_once_and_only_if_a_rule_depends_on_it():
    made = []

    def counted(price):
        made.append(price)
        return price > 5

    rules = {n: f"kind = {n % 2} and any(items, counted(price) and sku = 's{n}')" for n in range(6)}
    matcher = Matcher(rules, operators={"counted": counted})
    matcher.compact()
    items = [{"price": price, "sku": "s3"} for price in (1, 7, 8)]
    assert matcher.match({"kind": 1, "items": items}) == [3]
    assert sorted(made) == [1, 7, 8]
    made.clear()
    assert matcher.match({"kind": 5, "items": items}) == []
    assert matcher.match({"kind": 1}) == []
    assert made == []
    table = matcher.match_batch(pa.table({"kind": [1, 0], "items": [items, items]}))
    assert table.to_pydict() == {"event": [0], "rule_id": [3]}


def test_failures_and_explanations_name_the_call(caplog):
    matcher = Matcher({1: "any(items, dear(price))"}, operators={"dear": dear})
    assert matcher.match({"items": [{"price": 3}, {"price": 9}]}) == [1]
    [failure] = matcher.operator_report().failures
    assert (failure.operator, failure.rules) == ("dear", [1])
    rule = parse("any(items, dear(price))")
    assert explain(rule, {"items": [{"price": 9}]}, operators={"dear": dear}).truth is True
    assert evaluate(rule, {"items": [{"price": 4}]}, operators={"dear": dear}) is None


def test_what_is_refused():
    with pytest.raises(RuleError, match="variables cannot be used inside 'any'"):
        parse("any(items, boats(image, ?n))")
    with pytest.raises(RuleError, match="no operator is registered as 'missing'"):
        Matcher({1: "any(items, missing(price))"})
    assert residue(parse("a = 1 and any(items, f(x))")).upper is not None


def test_elements_that_ask_no_operator_are_left_to_the_index(tmp_path):
    rules = {"r": "not any(items, price > 5) and any(items, one(price))"}
    operators = Operators.of({"one": lambda x: x == 1})
    events = [{"items": [{"price": 1}]}, {"items": [{"price": 1}, {"price": 6}]}, {}]
    matcher = Matcher(rules, operators=operators)
    assert assert_right(matcher, rules, events, operators) == {(0, "r")}
    matcher.compact()
    matcher.save(tmp_path / "rules.mw")
    loaded = Matcher.load(tmp_path / "rules.mw", operators=operators)
    assert assert_right(loaded, rules, events, operators) == {(0, "r")}


def test_elements_are_given_to_operators_as_they_are():
    given = []
    rule = "any(prices, dear(it)) and any(prices, known(lower(it)))"
    functions = {"dear": lambda p: given.append(p) or p * 1.2 > 10, "known": lambda p: p == "x"}
    event = {"prices": [20.5, "X"]}
    assert evaluate(parse(rule), event, operators=functions) is True
    assert Matcher({1: rule}, operators=functions).match(event) == [1]
    assert {type(value) for value in given} == {float, str}
