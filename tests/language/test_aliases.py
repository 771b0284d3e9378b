"""Aliases: which names an attribute has, and which one counts."""

import pickle

import pytest

from matchwood.language import evaluate, explain, parse
from matchwood.language.aliases import Aliases, aliases_of
from matchwood.language.events import Event

ALIASES = Aliases({"host": ["Host Name", "computer"], "*": ["Event.EventData.*"]})


def truth(rule, event, aliases=ALIASES):
    return evaluate(parse(rule), Event(event, aliases))


def test_own_name_first_then_names_in_order_then_patterns():
    assert ALIASES.spellings("host") == (
        "host",
        "Host Name",
        "computer",
        "Event.EventData.host",
        "Event.EventData.Host Name",
        "Event.EventData.computer",
    )
    assert ALIASES.spellings("user") == ("user", "Event.EventData.user")


def test_every_spelling_leads_back_to_its_attribute():
    for name in ALIASES.spellings("host")[1:]:
        assert "host" in ALIASES.attributes_of(name)
    assert ALIASES.attributes_of("user") == ()


def test_patterns_may_keep_a_beginning():
    aliases = Aliases({"user.*": "account.*"})
    assert truth("user.name = 'x'", {"account": {"name": "x"}}, aliases)
    assert truth("name = 'x'", {"account": {"name": "x"}}, aliases) is None


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"computer": "a"}, True),
        ({"host": "b", "computer": "a"}, False),
        ({"host": None, "computer": "a"}, True),
        ({"host": float("nan"), "Host Name": None, "computer": "a"}, True),
        ({"host": [], "computer": "a"}, False),
        ({"host": {"x": 1}, "computer": "a"}, None),
        ({"Event": {"EventData": {"computer": "a"}}}, True),
        ({"Event.EventData.computer": ["b", "a"]}, True),
        ({"Computer": "a"}, None),
        ({"host": 5, "computer": "a"}, None),
    ],
)
def test_the_first_value_that_is_there_counts(event, expected):
    assert truth("host = 'a'", event) is expected
    assert truth("host is null", event) is (expected is None and "Computer" in event)


def test_an_alias_is_still_an_attribute():
    assert truth("computer = 'a' and host = 'a'", {"computer": "a"})


def test_all_values_are_counted_once():
    event = {"host": None, "computer": ["a", "b"]}
    assert len(Event(event, ALIASES)[parse("* = 1").attribute]) == 2


def test_names_inside_elements_are_those_of_the_element():
    event = {"Event": {"EventData": {"items": [{"computer": "a"}]}}}
    assert truth("any(items, computer = 'a')", event) is True
    assert truth("any(items, host = 'a')", event) is None


def test_an_explanation_shows_the_value_that_counts():
    explanation = explain(parse("host = 'a'"), Event({"computer": "b"}, ALIASES))
    assert str(explanation).endswith("host: 'b'")


def test_a_copy_is_the_same():
    copy = pickle.loads(pickle.dumps(ALIASES))
    assert copy.form() == ALIASES.form()
    assert copy.spellings("host") == ALIASES.spellings("host")


def test_none_are_none():
    assert aliases_of(None) is None
    assert aliases_of({}) is None


@pytest.mark.parametrize(
    ("form", "error"),
    [
        (["a"], TypeError),
        ({"a": 5}, TypeError),
        ({"a": [5]}, TypeError),
        ({"a": {"b": "c"}}, TypeError),
        ({"a": "b*"}, ValueError),
        ({"a*": "b"}, ValueError),
        ({"a*": "*b*"}, ValueError),
        ({"a": "\ud800"}, ValueError),
    ],
)
def test_what_are_no_aliases_is_refused(form, error):
    with pytest.raises(error):
        Aliases(form)
