"""Orders of domains' own, spelled out as `in` and `isa`."""

import itertools

import pytest

from matchwood import Matcher, RuleError, Schema, parse
from matchwood.language import evaluate
from schema.auctions import SCHEMA

CONDITIONS = ["poor", "restored", "good", "mint"]
ABOVE = {
    "poor": {"restored", "good", "mint"},
    "restored": {"mint"},
    "good": {"mint"},
    "mint": set(),
}


@pytest.mark.parametrize(
    ("op", "value"), list(itertools.product(["<", "<=", ">", ">="], CONDITIONS))
)
def test_spelled_out_means_the_order(op: str, value: str) -> None:
    def holds(one: str) -> bool:
        less = value in ABOVE[one]
        more = one in ABOVE[value]
        return (less if op[0] == "<" else more) or (one == value and "=" in op)

    expected = [one for one in CONDITIONS if holds(one)]
    rule = f"price > 1 or not (condition {op} '{value}')"
    if not expected:
        with pytest.raises(RuleError, match=f"no value of 'condition' is {op} '{value}'"):
            SCHEMA.spell_out(rule)
        return
    tree = SCHEMA.spell_out(rule)
    assert SCHEMA.check(tree) == []
    matcher = Matcher({"r": tree}, schema=SCHEMA)
    for one in CONDITIONS:
        event = {"condition": one, "price": 0}
        assert evaluate(tree, event) is (one not in expected)
        assert bool(matcher.match(event)) is (one not in expected)


def test_spelled_out_hierarchies() -> None:
    below = SCHEMA.spell_out("furniture_category < 'furniture' xor furniture_category > 'table'")
    assert str(below) == (
        "furniture_category in ('chair', 'dining table', 'picnic table', 'table') xor "
        "furniture_category in ('furniture')"
    )
    assert str(SCHEMA.spell_out("furniture_category not between 'table' and 'furniture'")) == (
        "furniture_category not in ('table', 'furniture')"
    )
    with pytest.raises(RuleError, match="never has"):
        SCHEMA.spell_out("furniture_category < 'sofa'")


def test_lower_case_has_no_order_of_its_own() -> None:
    inside = Schema.from_dict({"attributes": {"size": {"values": ["s", "m"], "order": "listed"}}})
    with pytest.raises(RuleError, match="has an order of its own"):
        Matcher({"r": "any(size, lower(it) > 's')"}, schema=inside)
    for rule in ("lower(condition) >= 'good'", "lower(condition) not between 'good' and 'mint'"):
        with pytest.raises(RuleError, match="has an order of its own, which lower"):
            SCHEMA.spell_out(rule)
    for rule in ("lower(condition) = 'good'", "lower(condition) > 5"):  # of no order of its own
        assert str(SCHEMA.spell_out(rule)) == rule


def test_inside_elements() -> None:
    size = {"values": ["small", "medium", "large"], "order": "listed"}
    schema = Schema.from_dict({"attributes": {"items.size": size}})
    rule = "any(items, not (size > 'small'))"
    with pytest.raises(RuleError, match="'size' has an order of its own"):
        evaluate(parse(rule), {"items": [{"size": "small"}]}, schema=schema)
    with pytest.raises(RuleError, match="'size' has an order of its own"):
        Matcher({"r": rule}, schema=schema)
    tree = schema.spell_out(rule)
    assert str(tree) == "any(items, not size in ('medium', 'large'))"
    assert Matcher({"r": tree}, schema=schema).match({"items": [{"size": "small"}]}) == ["r"]


def test_hierarchies_inside_elements_are_needed_when_a_rule_is_set() -> None:
    with pytest.raises(RuleError, match=r"no hierarchy for .items\.size"):
        Matcher({"r": "any(items, isa(size, 'a'))"}, schema=SCHEMA)
    with pytest.raises(RuleError, match=r"a hierarchy for .items\.size"):
        Matcher({"r": "any(items, isa(size, 'a'))"})
