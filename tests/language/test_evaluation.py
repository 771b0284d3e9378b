"""`evaluate` with a schema and with operators; `test_fixtures` has the cases of predicates."""

import pytest

from matchwood import RuleError, parse
from matchwood.language import evaluate


class Furniture:
    """A schema with one hierarchy."""

    def is_a(self, attribute, value, kind):
        if attribute != "thing":
            raise RuleError(f"{attribute!r} has no hierarchy")
        return (value, kind) in {("table", "table"), ("dining table", "table")}


def test_isa_asks_the_schema():
    rule = parse("isa(thing, 'table')")
    for value, truth in [("dining table", True), ("chair", False), (5, None), (None, None)]:
        assert evaluate(rule, {"thing": value}, schema=Furniture()) is truth
    assert evaluate(rule, {"thing": ["chair", "table"]}, schema=Furniture()) is True
    for event in ({}, {"thing": 5}, {"thing": []}):
        with pytest.raises(RuleError, match="needs a schema"):
            evaluate(rule, event)
    with pytest.raises(RuleError, match="no hierarchy"):
        evaluate(parse("isa(a, 'table')"), {"a": "x"}, schema=Furniture())


def test_calls_of_registered_operators():
    calls = []

    def within(*arguments):
        calls.append(arguments)
        return {"yes": True, "no": False}.get(arguments[0])

    rule = parse("within(a, 5, b)")
    operators = {"within": within}
    assert evaluate(rule, {"a": "yes", "b": [1, None]}, operators=operators) is True
    assert evaluate(rule, {"a": "no", "b": 1}, operators=operators) is False
    assert evaluate(rule, {"a": "?", "b": 1}, operators=operators) is None
    assert calls == [("yes", 5, [1, None]), ("no", 5, 1), ("?", 5, 1)]
    for event in ({"a": "yes"}, {"a": None, "b": 1}, {"a": b"x", "b": 1}, {"a": {}, "b": 1}):
        assert evaluate(rule, event, operators=operators) is None
    assert len(calls) == 3  # not made where an argument is undefined
    with pytest.raises(RuleError, match="no operator is registered as 'other'"):
        evaluate(parse("other(a)"), {"a": 1}, operators=operators)
