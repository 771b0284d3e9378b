"""Sums: exact, bounded in their digits, and undefined where a term is no finite number."""

import random
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from language.growth import grows_gently
from matchwood import Matcher, parse
from matchwood.language import evaluate
from matchwood.language.bindings import MAX_SUM_BITS

INFINITE = [float("inf"), float("-inf"), Decimal("Infinity")]
LONG = 10 ** (MAX_SUM_BITS // 3)


def random_sum(chance: random.Random, depth: int) -> tuple[str, Fraction | None]:
    """A sum over the attributes of `EVENT`, and its value; None for a division by zero."""
    if depth == 0 or chance.random() < 0.2:
        name = chance.choice([*EVENT, "2.5", "3"])
        return name, Fraction(EVENT.get(name, name))
    left, of_left = random_sum(chance, depth - 1)
    right, of_right = random_sum(chance, depth - 1)
    op = chance.choice("+-*/")
    text = f"({left} {op} {right})"
    if of_left is None or of_right is None or (op == "/" and of_right == 0):
        return text, None
    operation: Callable[[Fraction, Fraction], Fraction] = {
        "+": Fraction.__add__,
        "-": Fraction.__sub__,
        "*": Fraction.__mul__,
        "/": Fraction.__truediv__,
    }[op]
    return text, operation(of_left, of_right)


EVENT: dict[str, Any] = {"a": 7, "b": -3, "c": Decimal("0.1"), "d": 0, "e": Decimal("1e25")}


def test_sums_are_those_of_fractions() -> None:
    chance = random.Random(5)
    answers = set()
    for _ in range(150):
        (left, of_left), (right, of_right) = (random_sum(chance, 4) for _ in range(2))
        for op, holds in (("<", Fraction.__lt__), ("=", Fraction.__eq__), (">=", Fraction.__ge__)):
            rule = f"{left} + 0 {op} {right}"
            right_answer = None
            if of_left is not None and of_right is not None:
                right_answer = holds(of_left, of_right)
            assert evaluate(parse(rule), EVENT) is right_answer, rule
            answers.add(right_answer)
    assert answers == {None, True, False}


@pytest.mark.parametrize("rule", ["a + 1 > 0", "a * 0 = 0", "1 / a < 1", "b * 2 < a", "a > b + 1"])
@pytest.mark.parametrize("value", INFINITE)
def test_infinite_numbers_have_no_sum(rule: str, value: Any) -> None:
    assert evaluate(parse(rule), {"a": value, "b": 1}) is None
    assert Matcher({"r": rule}).match({"a": value, "b": 1}) == []
    assert evaluate(parse("a > 1"), {"a": value}) is (value > 1)


@pytest.mark.parametrize(
    ("value", "equal"),
    [
        (10**2001, Decimal("1e2001")),
        (-7 * 10**5_000, Decimal("-7e5000")),
        (LONG, Decimal(f"1e{MAX_SUM_BITS // 3}")),
        (10**80_000, Decimal("1e80000")),
        (5, Decimal("5.0")),
    ],
    ids=["long", "negative", "too long", "a little too long", "short"],
)
def test_equal_numbers_answer_alike(value: int, equal: Decimal) -> None:
    for text in ("a + 1 > 0", "a - b = 0", "a * 2 < b", "a / a = 1", "c + 1 < a"):
        events = [{"a": a, "b": b, "c": 1} for a in (value, equal) for b in (value, equal)]
        answers = {evaluate(parse(text), event) for event in events}
        assert len(answers) == 1, text
        assert (answers == {None}) is (value >= 10**80_000), text


def test_columns_answer_what_rows_do_where_numbers_are_long() -> None:
    long = "1" + "0" * 399
    rules = {
        "short": " + ".join(["a"] * 150) + " > 5",
        "long": " + ".join([long] * 180) + " > a",
        "longest": " + ".join([f"{long}.5e400"[1:]] * 190) + " + a > a",
    }
    events: list[dict[str, Any]] = [{"a": 1}, {"a": 0.1}, {"a": -5e-324}, {"a": 1.7e308}]
    matcher = Matcher(rules)
    batch = matcher.match_batch(pa.Table.from_pylist(events))
    rows = list(zip(batch["event"].to_pylist(), batch["rule_id"].to_pylist(), strict=True))
    expected = [
        (number, name)
        for number, event in enumerate(events)
        for name in rules
        if evaluate(parse(rules[name]), event)
    ]
    assert sorted(rows) == sorted(expected)
    assert expected


def test_long_numbers_take_no_longer_than_their_digits() -> None:
    """A quotient of two products, each of which has a hundred times as many digits."""
    tree = parse(f"{' * '.join(['a'] * 100)} / ({' * '.join(['b'] * 99)}) > 1")

    def work(size: int) -> Callable[[], object]:
        event = {"a": 7 ** (1_200 * size), "b": 3 ** (2_000 * size)}
        return lambda: evaluate(tree, event)

    assert grows_gently(work)
    assert evaluate(tree, {"a": 7**20, "b": 3**20}) is True
    assert evaluate(tree, {"a": 7**9_000, "b": 3**9_000}) is None
