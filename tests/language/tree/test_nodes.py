"""Trees: immutable, equal if they say the same, and without a truth of their own."""

from decimal import Decimal

import pytest

from matchwood import attr, parse
from matchwood.language import var
from matchwood.language.tree import Not, attributes_in, walk


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


def test_attributes():
    tree = parse("a.b = 1 and (c < d or f(e, 1, ?x)) and not ?x > g")
    assert attributes_in(tree) == {"a.b", "c", "d", "e", "g"}
    assert [type(node).__name__ for node in walk(Not(tree))][:3] == ["Not", "And", "Comparison"]
