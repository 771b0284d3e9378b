"""R1, R2 and R3: what events must say, may say and may not."""

import pytest

from matchwood import EventError, Schema
from schema.auctions import BOTH, FORM, SCHEMA


def test_the_events_of_the_paper() -> None:
    assert SCHEMA.check_event(BOTH) == []
    second = {"event_type": ["antiques", "furniture"], "price": 100, "quantity": 1}
    found = SCHEMA.check_event({**second, "period": "XVIII"})
    assert [str(one) for one in found] == [
        "R2, attribute 'furniture_category': "
        "it is mandatory in antiques and furniture, and not there"
    ]


@pytest.mark.parametrize(
    ("changes", "rule", "says"),
    [
        ({"event_type": None}, "R1", "names one type or more of antiques, furniture, lot"),
        ({"event_type": []}, "R1", "names one type or more"),
        ({"event_type": "antik"}, "R1", "no event type 'antik'"),
        ({"event_type": ["antiques", "fruniture"]}, "R1", "did you mean 'furniture'?"),
        ({"event_type": 5}, "R1", "no event type '5'"),
        ({"price": None}, "R2", "it is mandatory"),
        ({"price": float("nan")}, "R2", "it is mandatory"),
        ({"price": "9"}, "R2", "expected a number, found '9'"),
        ({"price": True}, "R2", "expected a number, found true, a boolean"),
        ({"price": [1, 2]}, "R2", "it has one value in antiques and furniture, found 2"),
        ({"price": []}, "R2", "found 0"),
        ({"price": [None]}, "R2", "expected a number, found null"),
        ({"price": {}}, "R2", "expected a number, found an object"),
        ({"period": "XV"}, "R2", "one of 'XVI', 'XVII', 'XVIII', found 'XV'"),
        ({"furniture_category": "tabel"}, "R2", "did you mean 'table'?"),
        ({"colour": "red"}, "R3", "no such attribute in antiques and furniture"),
        ({"rating": 3}, "R3", "no such attribute"),
        ({"seller": {"name": "x"}}, "R3", "no such attribute"),
    ],
)
def test_broken(changes: dict[str, object], rule: str, says: str) -> None:
    found = SCHEMA.check_event({**BOTH, **changes})
    assert {one.rule for one in found} == {rule}
    assert says in found[0].reason
    with pytest.raises(EventError, match=f"\\({rule}\\)"):
        SCHEMA.admit_event({**BOTH, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"material": "oak"},
        {"material": None, "colour": None},
        {"price": [200]},
        {"price": [200, 200.0]},
        {"event_type": ["antiques", "furniture", "lot"], "material": ["oak", "pine"]},
        {"event_type": ["antiques", "furniture", "lot"], "seller": {"name": "x"}, "rating": 5},
        {"event_type": ["antiques", "furniture", "lot"], "listed": "2026-01-31", "size": 33.0},
    ],
)
def test_kept(changes: dict[str, object]) -> None:
    assert SCHEMA.check_event({**BOTH, **changes}) == []


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ({"rating": 5.5}, "expected a number from 0 to 5, found 5.5"),
        ({"listed": "soon"}, "expected a time, found 'soon'"),
        ({"size": 3}, "one of 10, 2, 33, found 3"),
        ({"seller": {"nam": "x"}}, "no such attribute in lot, did you mean 'seller.name'?"),
        ({"material": ["oak", "tin"]}, "found 'tin'"),
    ],
)
def test_lots(event: dict[str, object], says: str) -> None:
    (found,) = SCHEMA.check_event({"event_type": "lot", **event})
    assert says in found.reason


def test_without_types_nothing_is_mandatory() -> None:
    schema = Schema.from_dict({"attributes": {"age": "number", "tags": "list of string"}})
    assert schema.check_event({}) == []
    assert schema.check_event({"age": 5, "tags": ["a", "b"]}) == []
    assert [one.rule for one in schema.check_event({"age": [5, 6], "agee": 5})] == ["R2", "R3"]


def test_the_attribute_of_types_may_have_another_name() -> None:
    schema = Schema.from_dict({**FORM, "event_type": "kind"})
    assert schema.check_event({"kind": "lot"}) == []
    assert [one.rule for one in schema.check_event({"event_type": "lot"})] == ["R1"]
    assert Schema.from_dict(schema.to_dict()) == schema
