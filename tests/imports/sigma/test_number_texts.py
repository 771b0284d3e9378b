"""Which patterns and regular expressions match texts of numbers, compared with trying many."""

import itertools
import random
import re

import pytest

from matchwood.imports.sigma.number_texts import (
    NUMBER_TEXT,
    Numbers,
    Wildcard,
    expression_may_match,
    number_of_text,
    numbers_matched,
    text_of_number,
)

# All texts of numbers of at most five characters of these.
TEXTS = [
    text
    for length in range(1, 6)
    for text in map("".join, itertools.product("-.015", repeat=length))
    if number_of_text(text) is not None
]


def test_texts_of_numbers() -> None:
    for number in [0, -1, 10, 443, 0.5, -0.25, 1e-7, 1e22, 123456.75, 10.0]:
        text = text_of_number(number)
        assert NUMBER_TEXT.fullmatch(text)
        assert number_of_text(text) is not None
        assert float(text) == number
    assert [number_of_text(t) for t in ("", "-", "-0", "00", "1.", ".5", "1.0", "1e3")] == [
        None
    ] * 8


def test_patterns() -> None:
    rng = random.Random(4)
    count = 0
    for _ in range(400):
        parts = [*"-.0155x", Wildcard.ONE, Wildcard.MANY, Wildcard.MANY]
        pattern = [rng.choice(parts) for _ in range(rng.randint(1, 5))]
        written = "".join(
            {Wildcard.ONE: ".", Wildcard.MANY: ".*"}.get(part, re.escape(str(part)))
            for part in pattern
        )
        matching = [text for text in TEXTS if re.fullmatch(written, text)]
        numbers = numbers_matched(pattern)
        count += numbers is Numbers.SOME
        # Five characters are enough for one match of such patterns.
        assert (numbers is not Numbers.NONE) == bool(matching), pattern
        assert (numbers is Numbers.ALL) == (len(matching) == len(TEXTS)), pattern
    assert 50 < count < 350


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("", True),
        ("x", False),
        ("x*", True),
        ("x|1", True),
        ("^(x|y)+1", False),
        ("(?i)[A-Z]{2}", False),
        ("[^0-9.-]", False),
        ("[^x]", True),
        (r"\s|\t", False),
        (r"\S{3}", True),
        (r"^\d{1,3}\.\d{1,3}$", True),
        (r"^\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}$", False),
        (r"\.\.", False),
        ("1-", False),
        ("-1", True),
        ("1$", True),
        ("1$2", False),
        ("2^1", False),
        (r"\D\D", False),
        (r"0\b5", True),
        ("^0[0-9]", False),
        ("[[:alpha:]]", True),
        (r"\pN", True),
        (r"^[A-Za-z0-9+/=]{50,}$", True),
        ("(?:1{3}){2,4}$", True),
        (".0$", True),
        (r"\.0+$", False),
    ],
)
def test_expressions(expression: str, expected: bool) -> None:
    assert expression_may_match(expression) == expected


def test_random_expressions() -> None:
    """It is sure only where no text of a number is found."""
    rng = random.Random(5)
    pieces = ["1", "0", "5", r"\.", "-", ".", "x", "[01]", "[^1]", r"\d", r"\D", "(1|x)", "^", "$"]
    sure = 0
    for _ in range(400):
        expression = (
            "".join(
                rng.choice(pieces) + rng.choice(["", "", "", "+", "*", "?", "{2}"])
                if (piece := rng.choice(pieces)) not in "^$"
                else piece
                for _ in range(rng.randint(1, 5))
            )
            .replace("^+", "^")
            .replace("$+", "$")
        )
        try:
            found = any(re.search(expression, text) for text in TEXTS)
        except re.error:
            continue
        may = expression_may_match(expression)
        sure += not may
        assert may or not found, expression
    assert sure > 40
