"""Errors show where a rule or an event is wrong, also after they were pickled."""

import pickle

import pytest

from matchwood import EventError, RuleError, parse
from matchwood.language import evaluate


def test_an_error_shows_its_place():
    with pytest.raises(RuleError) as caught:
        parse('age >= 18\n  and tier = "gold"')
    error = caught.value
    assert (error.line, error.column) == (2, 14)
    assert str(error).split("\n")[1:] == ['    and tier = "gold"', "               ^"]
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.line, again.found) == (str(error), error.line, error.found)
    with pytest.raises(RuleError) as caught:
        parse("x" * 500 + " = 1 and and " + "y" * 500)
    line, caret = caught.value.caret().split("\n")
    assert len(line) <= 80
    assert line[caret.index("^") :].startswith("and")
    assert caught.value.found == "the keyword 'and'"
    assert caught.value.expected == "an attribute or a literal"


def test_event_errors_say_where():
    with pytest.raises(EventError) as caught:
        evaluate(parse("a"), {"b": {"c": 1}, "b.c": 2})
    assert caught.value.attribute == "b.c"
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) == "attribute 'b.c': the event spells it two ways"
