"""What is called never true or always true is so, of every event with single values."""

from time import process_time

import pytest
from hypothesis import given, settings

from matchwood.language import evaluate, parse
from matchwood.language.tree import Node
from matchwood.rewrite import always_true, never_true
from rewrite.random_rules import events, rules, singles

NEVER = [
    "age < 18 and age > 65",
    "a is null and a > 3",
    "a is null and a like 'x%'",
    "a is null and startswith(a, 'x')",
    "a is null and a > date '2026-01-01'",
    "a is null and a < b",
    "a is null and operator(a, 5)",
    "a = 1 and a = 'x'",
    "a = 1 and not (a >= 0)",
    "a = 'x' and a like 'y%'",
    "a = '10.0.0.1' and in_network(a, '192.168.0.0/16')",
    "a between 5 and 3",
    "a < ''",
    "a > true",
    "a < b and b < a",
    "a < a",
    "vip and not vip",
    "a rlike 'x' and not (a rlike 'x')",
    "a xor a",
    "false",
    "(a = 1 or a = 2) and (a = 3 or a = 4)",
    "(a = 1 or b = 1) and a = 2 and b = 2",
    "a in (1, 2) and a not in (1, 2, 3)",
    "a = date '2026-01-01' and a = 5",
    "a > date '2026-01-01' and a < date '2025-01-01'",
]

SOMETIMES = [
    "a > 3 and a < 4",
    "a >= 3 and a <= 3",
    "a = 'x' and a > date '2026-01-01'",  # a string is also read as a time
    "a like 'x%' and a like 'y%'",  # patterns are not looked into
    "contains(tags, 5)",  # of lists
    "a xor b",
    "a or not a",
    "within(place, ?who) and ?who > 5 and not (?who > 5)",
    "a is null",
    "a > 'a' and a < 'b'",
]

ALWAYS = [
    "true",
    "a is null or a is not null",
    "not (a is null and b and a = 5)" + " or a is null or a is not null",
    "a is null or not (a is null and b is null)",
]


@pytest.mark.parametrize("rule", NEVER)
def test_never_true(rule: str) -> None:
    assert never_true(parse(rule)) is True
    assert always_true(parse(rule)) is False


@pytest.mark.parametrize("rule", SOMETIMES)
def test_sometimes_true(rule: str) -> None:
    assert never_true(parse(rule)) is False
    assert always_true(parse(rule)) is False


@pytest.mark.parametrize("rule", ALWAYS)
def test_always_true(rule: str) -> None:
    assert always_true(parse(rule)) is True
    assert never_true(parse(rule)) is False


@pytest.mark.slow
@settings(max_examples=1_000, deadline=None)
@given(rules, events(singles))
def test_no_event_tells_otherwise(rule: Node, event: dict[str, object]) -> None:
    truth = evaluate(rule, event)
    if truth is True:
        assert not never_true(rule)
    else:
        assert not always_true(rule)


def test_gives_up_on_the_hard_ones_in_time() -> None:
    # pigeons: nine of them in eight holes, which no short search refutes
    pigeons, holes = range(9), range(8)
    housed = [" or ".join(f"p{p}h{h}" for h in holes) for p in pigeons]
    alone = [
        f"not (p{p}h{h} and p{q}h{h})" for h in holes for p in pigeons for q in pigeons if p < q
    ]
    rule = parse(" and ".join(f"({part})" for part in housed + alone))
    start = process_time()
    assert never_true(rule) is None
    assert process_time() - start < 5


@pytest.mark.parametrize("word", ["and", "or", "xor", "xnor"])
def test_long_chains_are_decided(word: str) -> None:
    rule = parse(f" {word} ".join(f"a{i} < {i}" for i in range(5_000)))
    assert never_true(rule) is False
