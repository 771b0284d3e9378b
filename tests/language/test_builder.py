"""Rules built in Python are the rules that text says, and are refused for the same reasons."""

from datetime import date

import pytest

from matchwood import RuleError, attr, parse
from matchwood.language import call, var
from matchwood.language.tree import And, Comparison, In


def test_the_example_of_the_language():
    built = (attr("age") >= 18) & attr("tier").isin("gold", "platinum") & ~attr("country").eq("US")
    text = "age >= 18 and tier in ('gold', 'platinum') and not country = 'US'"
    assert built == parse(text)
    assert str(built) == text


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
