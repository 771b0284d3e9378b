"""Strings that JavaScript takes for numbers."""

import random
from decimal import Decimal

import pytest
import re2

from matchwood.imports import Inexpressible
from matchwood.imports.json_logic.spelled_numbers import number_in, spelled
from matchwood.language.values import holds


def test_expressions_find_the_strings_whose_number_compares_so() -> None:
    chance = random.Random(5)
    texts = ["", " ", "0", "-0", "+0.0", ".0", "0.", "00", "\u00a05\ufeff", ".", "+", "-", "5 5"]
    texts += ["".join(chance.choices("0012359.-", k=chance.randint(1, 5))) for _ in range(400)]
    for number in map(Decimal, ("0", "5", "-5", "0.5", "10", "99", "12.05", "-0.25", "100")):
        for op in ("=", "<", "<=", ">", ">="):
            expression = re2.compile(spelled(op, number, ""))
            for text in texts:
                value = number_in(text)
                expected = value is not None and holds(value, op, number)
                assert bool(expression.search(text)) == expected, (op, number, text)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1e3", 1000),
        (" 0x1F\n", 31),
        ("0b11", 3),
        ("0o17", 15),
        ("-Infinity", "-Infinity"),
        ("1_000", None),
        ("0x", None),
        ("--Infinity", None),
        ("inf", None),
        ("٣", None),
    ],
)
def test_numbers_in_strings(text: str, number: int | str | None) -> None:
    assert number_in(text) == (None if number is None else Decimal(number))


def test_numbers_of_many_digits_are_refused() -> None:
    with pytest.raises(Inexpressible, match="more than 40 digits"):
        spelled("<", 10**40, "a")
