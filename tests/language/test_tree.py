"""Trees: immutable, compared by what they say, never silently a truth; and the errors."""

import pickle
from datetime import date
from decimal import Decimal

import pytest

from matchwood import EventError, RuleError, attr, parse
from matchwood.language import call, evaluate, explain, var
from matchwood.language.tree import And, Comparison, In, Not, attributes_in, walk


def test_the_example_of_the_language():
    built = (attr("age") >= 18) & attr("tier").isin("gold", "platinum") & ~attr("country").eq("US")
    text = "age >= 18 and tier in ('gold', 'platinum') and not country = 'US'"
    assert built == parse(text)
    assert str(built) == text


def test_no_truth_of_its_own():
    rules = [parse("a = 1"), attr("a") == 1, attr("a"), var("x"), parse("true"), ~attr("a")]
    for rule in rules:
        with pytest.raises(TypeError, match="no truth of its own"):
            bool(rule)
    with pytest.raises(TypeError, match="no truth of its own"):
        18 <= attr("age") < 65  # noqa: B015
    with pytest.raises(TypeError, match="no truth of its own"):
        attr("a") and attr("b")


def test_immutable():
    tree = parse("a = 1 and not b in (1, 2)")
    for node in walk(tree):
        for name in ("value", "operands", "anything"):
            with pytest.raises(AttributeError, match="immutable"):
                setattr(node, name, 5)
        with pytest.raises(AttributeError, match="immutable"):
            del node.size
    assert isinstance(tree.operands, tuple)
    assert isinstance(tree.operands[1].operands[0].values, tuple)


def test_equality_is_what_a_tree_says():
    assert parse("a = 1") == parse("1.0 == a") == (attr("a") == Decimal("1.00"))
    assert len({parse("a = 1"), parse("`a`=1"), attr("a").eq(1)}) == 1
    different = ["a = 1", "a = true", "a = '1'", "a != 1", "a in (1)", "not a = 1", "b = 1", "a"]
    different += [
        "a = 1 and b",
        "b and a = 1",
        "a = 1 or b",
        "a like '1'",
        "f(a)",
        "f(`1`)",
        "f(1)",
    ]
    different += ["f(true)", "a < b", "b > a", "a between 1 and 2", "a between 2 and 1", "?a = 1"]
    trees = [parse(text) for text in different if text != "a"]
    assert len(set(trees)) == len(trees)
    assert parse("a = 1") != "a = 1"


def test_a_chain_in_python_is_one_node():
    a, b, c = (attr(name).eq(1) for name in "abc")
    assert (a & b & c) == parse("a = 1 and b = 1 and c = 1")
    assert (a | b | c) == parse("a = 1 or b = 1 or c = 1")
    assert (a ^ b ^ c) == parse("a = 1 xor b = 1 xor c = 1")
    assert (a & (b & c)) == parse("a = 1 and (b = 1 and c = 1)")
    assert (True & a) == parse("true and a = 1")
    assert (a | False) == parse("a = 1 or false")
    assert (attr("vip") & ~attr("expired")) == parse("vip and not expired")
    with pytest.raises(TypeError, match="combined with rules"):
        a & "b"


def test_literals_on_either_side():
    age = attr("age")
    assert (age >= 18) == parse("18 <= age") == (age >= 18)
    assert (age == 18) == (age == 18)
    assert (date(2026, 1, 31) > attr("a")) == parse("a < date '2026-01-31'")
    assert (attr("price") < attr("budget")) == parse("price < budget")
    assert (var("x") * 2 + 1 < 10) == parse("10 > ?x * 2 + 1")
    assert call("f", attr("a"), 1, var("x")) == parse("f(a, 1, ?x)")


@pytest.mark.parametrize(
    "build",
    [
        lambda: attr("a").isin(),
        lambda: attr("a").isin(1, "x"),
        lambda: attr("a").between(1, "x"),
        lambda: attr("a").like("x\\"),
        lambda: attr("a").rlike("("),
        lambda: attr("a").like(5),
        lambda: attr("a") == None,  # noqa: E711
        lambda: attr("a") == float("nan"),
        lambda: attr("a") == [1],
        lambda: attr(5) == 1,
        lambda: attr("\ud800") == 1,
        lambda: attr("a").in_network("10.0.0.1/8"),
        lambda: attr("a").startswith(5),
        lambda: call("not a name"),
        lambda: call("And"),
        lambda: call("a·b"),
        lambda: call("e\u0301"),
        lambda: var("a·b"),
        lambda: call("isa", attr("a")),
        lambda: var("not a name"),
        lambda: And([parse("a")]),
        lambda: And([]),
        lambda: In("a", []),
        lambda: Comparison("a", "~", 1),
    ],
)
def test_python_is_refused_as_text_is(build):
    with pytest.raises(RuleError) as caught:
        build()
    assert caught.value.line is None


def test_attributes():
    tree = parse("a.b = 1 and (c < d or f(e, 1, ?x)) and not ?x > g")
    assert attributes_in(tree) == {"a.b", "c", "d", "e", "g"}
    assert [type(node).__name__ for node in walk(Not(tree))][:3] == ["Not", "And", "Comparison"]


def test_parsing_does_not_depend_on_what_was_parsed_before():
    for text in ("a = 1", "a = 1 and b = 2", "a in (1)", "a between 1 and 2"):
        parse(text)
        for end in ("and b", "or b", "xor b", "x", "and"):
            for _ in range(2):
                if text.endswith(")"):
                    continue
                with pytest.raises(RuleError):
                    parse(text + end)


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


def test_explanation():
    explanation = explain(parse("a = 1 xor not b.c > d"), {"a": 1, "b": {"c": 5}})
    assert explanation.truth is None
    assert str(explanation).split("\n") == [
        "undefined  xor",
        "true       ├─ a = 1       a: 1",
        "undefined  └─ not",
        "undefined     └─ b.c > d  b.c: 5, d: missing",
    ]
    assert explanation.to_json()["nodes"][3]["seen"] == {"b.c": "5", "d": "missing"}
