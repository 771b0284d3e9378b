"""Rules against domains."""

import pytest

from matchwood import RuleError, Schema, parse
from schema.auctions import SCHEMA


@pytest.mark.parametrize(
    ("rule", "kind", "says"),
    [
        ("material = 'tin'", "domain", "expected one of 'oak', 'pine', found 'tin'"),
        ("material != 'oka'", "domain", "did you mean 'oak'?"),
        ("material in ('oak', 'tin')", "domain", "found 'tin'"),
        ("not (price > 5 or material = 'tin')", "domain", "found 'tin'"),
        ("rating > 7", "domain", "expected a number from 0 to 5, found 7"),
        ("rating between 1 and 9", "domain", "found 9"),
        ("furniture_category = 'tabel'", "domain", "did you mean 'table'?"),
        ("size = 3", "domain", "one of 10, 2, 33"),
        ("contains(event_type, 'antics')", "domain", "never contains 'antics'"),
        ("event_type = 'antics'", "domain", "did you mean 'antiques'?"),
        ("material < 'pine'", "order", "the values of 'material' have no order"),
        ("material < price", "family", "'material' is a string and 'price' a number"),
        ("material < seller.name", "order", "'material' is not compared with other attributes"),
        ("period > period", "order", "which attributes do not share"),
        ("period < 'XVII'", "order", "write period in ('XVI')"),
        ("period between 'XVII' and 'XVIII'", "order", "write period in ('XVII', 'XVIII')"),
        ("period < 'XVI'", "order", "no value of 'period' is < 'XVI' in its order"),
        ("furniture_category <= 'table'", "order", "write isa(furniture_category, 'table')"),
        ("furniture_category < 'table'", "order", "in ('dining table', 'picnic table')"),
        ("lower(period) < 'xvii'", "order", "which lower(period) does not have: compare 'period'"),
        ("lower(material) between 'a' and 'b'", "order", "the values of 'material' have no order"),
        ("isa(furniture_category, 'tabel')", "hierarchy", "no node 'tabel'"),
    ],
)
def test_refused(rule: str, kind: str, says: str) -> None:
    (problem,) = SCHEMA.check(rule)
    assert problem.kind == kind
    assert says in problem.reason
    with pytest.raises(RuleError):
        SCHEMA.admit(rule)


@pytest.mark.parametrize(
    "rule",
    [
        "material = 'oak' and rating >= 5 and rating < 0",
        "size < 33 and size in (10, 2)",
        "material like 'o%' and startswith(material, 'x')",
        "contains(event_type, 'antiques') and event_type = 'lot'",
        "furniture_category in ('table', 'chair')",
        "price < quantity and listed > date '2026-01-01'",
        "period is null",
        "material = period",
        "lower(period) = 'xvii'",
    ],
)
def test_accepted(rule: str) -> None:
    assert SCHEMA.check(rule) == []
    assert SCHEMA.admit(rule) == parse(rule)


def test_an_attribute_that_no_type_has() -> None:
    schema = Schema.from_dict({"attributes": {"a": "number"}, "types": {"t": {}}})
    (problem,) = schema.check("a = 1")
    assert (problem.kind, problem.attribute) == ("unknown-attribute", "a")


ORDERS = Schema.from_dict(
    {
        "attributes": {
            "items.price": "number",
            "items.size": {"values": ["small", "medium", "large"], "order": "listed"},
            "items.parts.weight": "number",
            "scores": "list of number",
        }
    }
)


@pytest.mark.parametrize(
    ("rule", "kind", "attribute", "says"),
    [
        ("any(items, prise > 3)", "unknown-attribute", "items.prise", "did you mean 'items.pri"),
        ("any(item, true)", "unknown-attribute", "item", "no attribute 'item'"),
        ("every(items, price = 'x')", "family", "items.price", "'price' is asked for as a string"),
        ("any(scores, it = 'x')", "family", "scores", "is a list of number by the schema"),
        ("any(items, size = 'tiny')", "domain", "items.size", "found 'tiny'"),
        ("any(items, size > 'small')", "order", "items.size", "in ('medium', 'large')"),
        (
            "any(items, any(parts, wait = 1))",
            "unknown-attribute",
            "items.parts.wait",
            "no attribute",
        ),
        ("any(items, isa(size, 'a'))", "hierarchy", "items.size", "no hierarchy"),
    ],
)
def test_refused_inside_elements(rule: str, kind: str, attribute: str, says: str) -> None:
    (problem,) = ORDERS.check(rule)
    assert (problem.kind, problem.attribute) == (kind, attribute)
    assert says in problem.reason
    with pytest.raises(RuleError, match="line 1, column"):
        ORDERS.admit(rule)


@pytest.mark.parametrize(
    "rule",
    [
        "any(items, price > 3 and size in ('small'))",
        "every(items, any(parts, weight > 1))",
        "any(scores, it between 3 and 5)",
    ],
)
def test_accepted_inside_elements(rule: str) -> None:
    assert ORDERS.check(rule) == []
