"""Dict forms of schemas, read and written."""

import json
import pickle
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matchwood import Schema
from matchwood.schema import Hierarchical, Hierarchy, SchemaAttribute, SchemaError
from matchwood.schema.schema_file import to_toml
from schema.auctions import FORM, SCHEMA


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"domains": {"d": {}}}, "domains.d: expected one of number"),
        ({"domains": {"d": {"values": []}}}, "domains.d: an enumerated domain has one value"),
        ({"domains": {"d": {"values": ["a", "a"]}}}, "domains.d: 'a' is there twice"),
        ({"domains": {"d": {"values": ["a", 1]}}}, "domains.d: .* a string and a number"),
        ({"domains": {"d": {"values": [True]}}}, "strings or numbers, found a boolean"),
        ({"domains": {"d": {"values": "ab"}}}, "domains.d.values: expected a list"),
        ({"domains": {"d": {"values": ["a"], "order": "up"}}}, "domains.d.order: expected"),
        ({"domains": {"d": {"values": ["a"], "order": [["b"]]}}}, "'b', which is not among"),
        (
            {"domains": {"d": {"values": ["a", "b"], "order": [["a", "b"], ["b", "a"]]}}},
            "domains.d: the order runs in a circle: 'a'",
        ),
        ({"domains": {"d": {"minimum": 5, "maximum": 1}}}, "minimum 5 is above the maximum 1"),
        ({"domains": {"d": {"minimum": "5"}}}, "domains.d.minimum: expected a number"),
        ({"domains": {"list of x": "number"}}, "reads as a list"),
        ({"domains": {"h": "number"}, "hierarchies": {"h": {"a": "b"}}}, "of that name already"),
        ({"types": {"t": {"a": "optional"}}}, "types.t.a: the schema has no such attribute"),
        ({"attributes": {"a": "number"}, "types": {"t": {"a": "maybe"}}}, "found 'maybe'"),
        ({"attributes": {"a": "number"}, "types": {"t": {"a": "mandatory optional"}}}, "expected"),
        (
            {"attributes": {"a": "list of number"}, "types": {"t": {"a": "optional unique"}}},
            "types.t.a: it is a list of number, so write 'multiple'",
        ),
        ({"attributes": {"event_type": "string"}, "types": {"t": {}}}, "it names the types"),
        ({"event_type": 5}, "event_type: expected the name"),
    ],
)
def test_refused(form: object, says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        Schema.from_dict(form)


def test_the_form_is_as_it_was_given() -> None:
    again = SCHEMA.to_dict()
    assert again["domains"] == FORM["domains"]
    assert again["attributes"] == FORM["attributes"]
    assert again["types"]["lot"]["material"] == "optional multiple"
    assert json.loads(json.dumps(again)) == again
    assert pickle.loads(pickle.dumps(SCHEMA)) == SCHEMA


def test_lists_of_domains() -> None:
    form = {
        "domains": {"d": {"values": ["x"]}},
        "attributes": {"a": "list of d", "b": {"values": [1.5], "list": True}},
    }
    schema = Schema.from_dict(form)
    assert schema.attributes["a"].is_list
    assert schema.to_dict() == form


def test_a_hierarchy_without_a_name_gets_one() -> None:
    domain = Hierarchical(Hierarchy({"b": "a"}))
    schema = Schema({"number": SchemaAttribute(domain), "x": SchemaAttribute(domain, is_list=True)})
    again = Schema.from_dict(schema.to_dict())
    assert again.is_a("number", "b", "a")
    assert again.attributes["x"].is_list


names = st.sampled_from(["a", "b", "number", "list of a", "event_type", "", "\ud800", "x.y"])
leaves = st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | names
words = st.sampled_from(["number", "list of string", "optional", "mandatory multiple", "listed"])


def tables(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    keys = names | st.sampled_from(["values", "order", "minimum", "maximum", "hierarchy", "list"])
    return st.dictionaries(keys, inner, max_size=3)


things = st.recursive(
    leaves | words, lambda inner: st.lists(inner, max_size=3) | tables(inner), max_leaves=5
)
parts = st.sampled_from(["domains", "hierarchies", "attributes", "types", "event_type"])


@given(st.dictionaries(parts, tables(things) | things, max_size=5))
def test_any_form_is_a_schema_or_refused(form: dict[str, object]) -> None:
    try:
        schema = Schema.from_dict(form)
    except SchemaError:
        return
    again = json.loads(json.dumps(schema.to_dict()))
    assert Schema.from_dict(again) == schema
    assert Schema.from_dict(tomllib.loads(to_toml(again))) == schema
