"""The normal form keeps the meaning, is one, and is found for every rule."""

import pytest
from hypothesis import given, settings

from matchwood.language import evaluate, parse
from matchwood.language.tree import Comparison, Constant, Node, Not, Or, walk
from matchwood.rewrite import REWRITES, normalise
from rewrite.random_rules import events, rules, values

CASES = [
    # negation
    ("not (a = 1 and b != 2)", "a != 1 or b = 2"),
    ("not (a < 5)", "not a < 5"),
    ("not not (a < 5)", "a < 5"),
    ("not (a < b)", "a >= b"),
    ("not (a is null or b like 'x%')", "a is not null and b not like 'x%'"),
    ("not (a between 1 and 2 or b not in (1, 2))", "a not between 1 and 2 and b in (1, 2)"),
    ("not contains(a, 'x')", "not contains(a, 'x')"),
    # flat, sorted, distinct
    ("(c and a) and (b and a)", "a and b and c"),
    ("c or (a or b) or a", "a or b or c"),
    ("a and a", "a"),
    ("a or not a", "a or a != true"),
    # constants
    ("a and true", "a"),
    ("a and false", "false"),
    ("a or true", "true"),
    ("a or false", "a"),
    ("not (true and true)", "false"),
    ("a xor true", "a != true"),
    ("(a and b) xnor false", "a != true or b != true"),
    ("true xor true xor false", "false"),
    # values
    ("a in (2, 1, 2)", "a in (1, 2)"),
    ("a in (1)", "a = 1"),
    ("a not in (1, 1)", "a != 1"),
    ("a between 3 and 3", "a = 3"),
    ("a between 5 and 3", "a between 5 and 3"),
    ("a = 2 or b or a = 1 or a in (3)", "a in (1, 2, 3) or b"),
    ("a = 1 or a = 'x' or a = 2", "a = 'x' or a in (1, 2)"),
    ("a != 1 and a not in (2, 3)", "a not in (1, 2, 3)"),
    ("a != 1 or a != 2", "a != 1 or a != 2"),
    ("a >= 3 and a <= 5", "a <= 5 and a >= 3"),
    ("b > a", "a < b"),
    # absorption
    ("a or a and b", "a"),
    ("a and (b or a)", "a"),
    ("a and b or a and b and c", "a and b"),
    ("x = 1 or x = 2 or x = 1 and b", "x in (1, 2)"),
    # parity
    ("a xor (b xor c)", "a xor b xor c"),
    ("a xnor b xnor c", "a xor b xor c"),
    ("a is unknown xor b is not unknown", "a is unknown xnor b is unknown"),
    (
        "a = 1 xnor at_least(1, c, d) xnor at_least(1, e, f) xnor b is not unknown",
        "a = 1 xor b is unknown xor at_least(1, c, d) xor at_least(1, e, f)",
    ),
    ("a xor b = 1 xor a", "a xor a xor b = 1"),
    ("not (a xor b)", "a xnor b"),
    ("a xor not b", "a xnor b"),
    ("not (a xor b xor c)", "a != true xor b xor c"),
    ("not (a and b xor a and c xor b and c)", "a and b xor a and c xor (b != true or c != true)"),
    ("a and b xor (a and c xnor b and c)", "a and b xor a and c xnor b and c"),
]


@pytest.mark.parametrize(("rule", "normal"), CASES)
def test_cases(rule: str, normal: str) -> None:
    assert normalise(parse(rule)) == parse(normal), str(normalise(parse(rule)))


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(rules, events(values))
def test_same_truth_of_every_event(rule: Node, event: dict[str, object]) -> None:
    assert evaluate(normalise(rule), event) is evaluate(rule, event)


@settings(max_examples=100, deadline=None)
@given(rules, events(values))
def test_each_rewrite_keeps_the_truth(rule: Node, event: dict[str, object]) -> None:
    for rewrite in REWRITES:
        assert evaluate(rewrite(rule), event) is evaluate(rule, event)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(rules)
def test_idempotent(rule: Node) -> None:
    normal = normalise(rule)
    assert normalise(normal) == normal


@settings(max_examples=200, deadline=None)
@given(rules)
def test_form(rule: Node) -> None:
    normal = normalise(rule)
    for node in walk(normal):
        assert node is normal or not isinstance(node, Constant)
        if isinstance(node, Not):
            assert not node.operands[0].operands
        elif node.operands and type(node).__name__ in ("And", "Or"):
            assert not any(type(operand) is type(node) for operand in node.operands)
            assert len(set(node.operands)) == len(node.operands)


def test_order_of_operands_does_not_matter() -> None:
    one = parse("(a and b or c and d) and (e or f and g)")
    two = parse("(g and f or e) and (d and c or b and a)")
    assert normalise(one) == normalise(two)


@pytest.mark.parametrize("word", ["and", "or", "xor", "xnor"])
def test_long_chains_stay_linear(word: str) -> None:
    chain = f" {word} ".join(f"a{i} < {i}" for i in range(5_000))
    assert normalise(parse(f"not ({chain})")).size <= 10_001


@pytest.mark.slow
def test_rules_at_the_limits_are_normalised_all_the_same() -> None:
    # each predicate gets a `not`: twice the nodes that a rule may have
    wide = Not(Or([Comparison("a", "<", i) for i in range(150_000)]))
    assert normalise(wide).size == 300_001
    text = "a < 0"
    for level in range(1, 198):
        text = f"({text} {'and' if level % 2 else 'xor'} b{level} < {level})"
    deep = parse(f"not {text}")
    assert not isinstance(normalise(deep), Not)
