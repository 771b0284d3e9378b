"""Schemas: read with clear errors, asked by `isa`, checked against rules."""

import pytest

from matchwood import Matcher, RuleError, Schema, parse
from matchwood.language import evaluate
from matchwood.schema import SchemaError

FORM = {
    "attributes": {
        "age": "number",
        "born": "time",
        "tier": "string",
        "seen": "string",
        "vip": "boolean",
        "tags": "list of string",
        "category": {"hierarchy": "furniture"},
    },
    "hierarchies": {"furniture": {"dining table": "table", "table": "furniture"}},
}
SCHEMA = Schema.from_dict(FORM)


def test_isa_asks_the_hierarchy() -> None:
    rule = parse("isa(category, 'table')")
    for value, truth in [("dining table", True), ("table", True), ("furniture", False)]:
        assert evaluate(rule, {"category": value}, schema=SCHEMA) is truth
    assert evaluate(rule, {"category": "lamp"}, schema=SCHEMA) is False
    assert evaluate(rule, {"category": 5}, schema=SCHEMA) is None
    assert evaluate(rule, {"category": ["lamp", "dining table"]}, schema=SCHEMA) is True


def test_isa_in_lower_case() -> None:
    furniture = {"chair": "seat", "seat": "thing", "Sofa": "seat"}
    schema = Schema.from_dict(
        {"hierarchies": {"f": furniture}, "attributes": {"kind": "f", "items.kind": "f"}}
    )
    rules = {"a": "isa(lower(kind), 'seat')", "b": "any(items, isa(lower(kind), 'seat'))"}
    rules["c"] = "any(kind, isa(lower(it), 'seat'))"
    assert [schema.check(rule) for rule in rules.values()] == [[], [], []]
    m = Matcher(rules, schema=schema)
    for kind, true in (("CHAIR", True), ("chair", True), ("thing", False), ("Sofa", False)):
        event = {"kind": kind, "items": [{"kind": kind}]}
        assert m.match(event) == (["a", "b", "c"] if true else [])
        assert m.match_batch([event]).num_rows == (3 if true else 0)
        for rule in rules.values():
            assert evaluate(parse(rule), event, schema=schema) is true
    with pytest.raises(RuleError, match="the hierarchy of 'kind' has no node 'sofa'"):
        m["d"] = "isa(lower(kind), 'sofa')"


def test_isa_of_an_attribute_without_a_hierarchy() -> None:
    with pytest.raises(RuleError, match="no hierarchy for 'tier'"):
        SCHEMA.is_a("tier", "x", "x")


def test_isa_of_an_unknown_kind_names_the_nearest() -> None:
    with pytest.raises(RuleError, match=r"no node 'tabel', did you mean 'table'\?"):
        SCHEMA.is_a("category", "table", "tabel")


@pytest.mark.parametrize(
    ("rule", "kinds"),
    [
        ("age > 18 and tier = 'gold' and vip and born > date '2000-01-01'", []),
        ("seen > date '2000-01-01'", []),
        ("tags = 'x' and contains(tags, 'y')", []),
        ("age is null", []),
        ("isa(category, 'table')", []),
        ("Age > 18", ["unknown-attribute"]),
        ("age > '18'", ["family"]),
        ("age > '18' and age < '20'", ["family"]),
        ("born > '2000-01-01'", ["family"]),
        ("startswith(age, '1')", ["family"]),
        ("tier like 'g%' and age like '1%'", ["family"]),
        ("isa(tier, 'x')", ["hierarchy"]),
        ("isa(category, 'tabel')", ["hierarchy"]),
        ("price < budget", ["unknown-attribute", "unknown-attribute"]),
    ],
)
def test_check(rule: str, kinds: list[str]) -> None:
    assert [problem.kind for problem in SCHEMA.check(parse(rule))] == kinds


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ([], "a schema: expected names with values, found list"),
        ({"attribute": {}}, "a schema: expected domains or .* found 'attribute'"),
        ({"attributes": {"a": "int"}}, "attributes.a: expected one of number, string"),
        ({"attributes": {"a": {"hierarchy": "x"}}}, "no hierarchy 'x'"),
        ({"attributes": {"a": {"tree": "x"}}}, "expected minimum or maximum, found 'tree'"),
        ({"hierarchies": {"h": {"a": "b", "b": "c", "c": "a"}}}, "found a → b → c → a"),
        ({"hierarchies": {"h": {"a": "a"}}}, "found a → a"),
        ({"hierarchies": {"h": {"a": ["b", "c"]}}}, "'a' has 2 parents"),
        ({"hierarchies": {"h": {"a": 5}}}, "the parent of 'a' is a string, found int"),
    ],
)
def test_refused(form: object, says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        Schema.from_dict(form)
