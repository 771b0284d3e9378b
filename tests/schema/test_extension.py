"""The four ways to extend a schema; nothing that is there changes."""

import pytest

from matchwood import Schema
from matchwood.schema import Enumerated, SchemaError, Use
from schema.auctions import BOTH, FORM, SCHEMA


def test_one_by_one() -> None:
    schema = SCHEMA.add_domain("colour", Enumerated(["red", "blue"]))
    schema = schema.add_attribute("colour", "colour").add_attribute("notes", "string", is_list=True)
    schema = schema.extend_type("furniture", "colour")
    schema = schema.add_type("lamps", {"colour": Use(mandatory=True), "notes": Use(multiple=True)})
    assert schema.check_event({**BOTH, "colour": "red"}) == []
    assert schema.check_event(BOTH) == []
    assert [v.rule for v in schema.check_event({"event_type": "lamps"})] == ["R2"]
    assert Schema.from_dict(FORM) == SCHEMA  # which is as it was
    assert Schema.from_dict(schema.to_dict()) == schema


def test_at_once() -> None:
    schema = SCHEMA.extend(
        {
            "domains": {"colour": {"values": ["red", "blue"]}},
            "hierarchies": {"lamp": {"desk lamp": "lamp"}},
            "attributes": {"colour": "colour", "lamp": "lamp", "watts": {"minimum": 0}},
            "types": {
                "furniture": {"colour": "optional multiple"},
                "lamps": {"lamp": "mandatory", "watts": "optional"},
            },
        }
    )
    assert schema.is_a("lamp", "desk lamp", "lamp")
    assert schema.types["furniture"]["colour"] == Use(multiple=True)
    assert schema.types["furniture"]["price"] == Use(mandatory=True)
    assert schema.check_event({"event_type": "lamps", "lamp": "lamp", "watts": 5}) == []


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"domains": {"rating": "number"}}, "domains.rating: there is a domain"),
        ({"domains": {"number": "number"}}, "domains.number: there is a domain"),
        ({"hierarchies": {"furniture": {"a": "b"}}}, "hierarchies.furniture: there is a domain"),
        ({"attributes": {"price": "number"}}, "attributes.price: it is there already"),
        ({"attributes": {"event_type": "string"}}, "attributes.event_type: it is there already"),
        ({"types": {"furniture": {"price": "optional"}}}, "types.furniture.price: it is there"),
        ({"types": {"furniture": {"rating": "mandatory"}}}, "extended by optional"),
        ({"types": {"new": {"colour": "optional"}}}, "types.new.colour: the schema has no such"),
        ({"event_type": "kind"}, "an extension: expected domains"),
        ([], "an extension: expected names"),
    ],
)
def test_refused(form: object, says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        SCHEMA.extend(form)


def test_refused_one_by_one() -> None:
    with pytest.raises(SchemaError, match="it is there already"):
        SCHEMA.add_domain("rating", Enumerated([1]))
    with pytest.raises(SchemaError, match="it is there already"):
        SCHEMA.add_attribute("price", "number")
    with pytest.raises(SchemaError, match="no domain 'ratin', did you mean 'rating'"):
        SCHEMA.add_attribute("stars", "ratin")
    with pytest.raises(SchemaError, match="no such event type"):
        SCHEMA.extend_type("lamps", "price")
    with pytest.raises(SchemaError, match="it is there already"):
        SCHEMA.add_type("lot", {})
