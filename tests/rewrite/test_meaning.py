"""Rules of one key are true of the same events."""

from time import process_time

import pytest
from hypothesis import given, settings

from matchwood.language import evaluate, parse
from matchwood.language.tree import Node
from matchwood.rewrite import fingerprint, meaning, normalise
from matchwood.rewrite.meaning import joined_bits
from rewrite.random_rules import events, rules, values

EQUAL = [
    ("a and (b or c)", "(a and b) or (a and c)"),
    ("18 <= age", "age >= 18"),
    ("a in (1, 2)", "a = 2 or a = 1"),
    ("a in (1, 2) and b", "a = 1 and b or b and a = 2"),
    ("not (a and b)", "not b or not a"),
    ("a xor b", "(a or b) and not (a and b)"),
    ("a xnor b", "a and b or not a and not b"),
    ("a xor b xor c", "a xnor b xnor c"),
    ("a or a and b", "a"),
    ("vip", "vip = true"),
    ("a not in (1, 2)", "a != 2 and a != 1"),
    ("b < a", "a > b"),
    ("not (a < b)", "b <= a"),
    ("x between 3 and 3", "x = 3"),
    ("not (x between 3 and 5)", "x not between 3 and 5"),
    ("true", "true or a"),
]

UNEQUAL = [
    ("a", "b"),
    ("a or not a", "true"),
    ("not (a < 5)", "a >= 5"),
    ("a >= 3 and a <= 5", "a between 3 and 5"),
    ("a = 1", "a = '1'"),
    ("a and b", "a or b"),
    ("a != true", "a = false"),
    ("within(x, ?p) and not within(x, ?p)", "false"),
]


@pytest.mark.parametrize(("one", "two"), EQUAL)
def test_equal(one: str, two: str) -> None:
    assert meaning(parse(one)) == meaning(parse(two))
    assert fingerprint(parse(one)) == fingerprint(parse(two))


def test_parts_that_are_never_true_count_for_nothing() -> None:
    assert meaning(parse("a and not a")) == meaning(parse("false"))
    assert meaning(parse("b or a and not a")) == meaning(parse("b"))


@pytest.mark.parametrize(("one", "two"), UNEQUAL)
def test_unequal(one: str, two: str) -> None:
    assert meaning(parse(one)) != meaning(parse(two))


@settings(max_examples=300, deadline=None)
@given(rules)
def test_the_normal_form_has_the_same_key(rule: Node) -> None:
    assert meaning(normalise(rule)) == meaning(rule)
    assert fingerprint(normalise(rule)) == fingerprint(rule)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(rules, rules, events(values))
def test_one_key_one_truth(one: Node, two: Node, event: dict[str, object]) -> None:
    if meaning(one) == meaning(two):
        assert fingerprint(one) == fingerprint(two) or min(fingerprint(one), fingerprint(two)) < 0
        assert (evaluate(one, event) is True) == (evaluate(two, event) is True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "rule",
    [
        " and ".join(f"(a{i} or b{i})" for i in range(500)),
        " xor ".join(f"a{i}" for i in range(1_000)),
        " and ".join(f"a{i} = 1" for i in range(50_000)),
        " or ".join(f"a{i} = 1" for i in range(50_000)),
        f"a in ({', '.join(map(str, range(50_000)))})",
    ],
    ids=["product", "parity", "and", "or", "in"],
)
def test_large_rules_stay_within_the_budget(rule: str) -> None:
    tree = parse(rule)
    start = process_time()
    assert meaning(tree) == meaning(normalise(tree))
    assert process_time() - start < 20


def test_thresholds_count_assignments() -> None:
    """One bit per assignment: where one, two and three of three rules are true."""
    operands = [(0b111, 0), (0b110, 0b001), (0b100, 0b001)]
    truths = [
        joined_bits(parse(f"at_least({count}, a, b, c)"), operands, 0b111) for count in (1, 2, 3)
    ]
    assert truths == [(0b111, 0), (0b110, 0b001), (0b100, 0b001)]
    nothing = [(0b001, 0), (0, 0), (0, 0)]
    assert joined_bits(parse("at_least(2, a, b, c)"), nothing, 0b111) == (0, 0)
