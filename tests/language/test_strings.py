"""`like` and `ilike`: their definition, case folding, and time that does not explode."""

import random
import re
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language.growth import grows_gently
from matchwood.language import wildcards
from matchwood.language.strings import fold_case, fold_character, ilike, like


def by_definition(value: str, pattern: str) -> bool:
    wild = {"%": "(?s:.*)", "_": "(?s:.)"}
    return re.fullmatch("".join(wild.get(c, re.escape(c)) for c in pattern), value) is not None


@pytest.mark.parametrize("short", [1, 3, 256])
def test_like_is_what_its_definition_says(short, monkeypatch):
    monkeypatch.setattr(wildcards, "SHORT", short)
    chance = random.Random(short)
    for _ in range(10_000):
        value = "".join(chance.choice("aab\né𝔘") for _ in range(chance.randrange(14)))
        pattern = "".join(chance.choice("aab_%\né𝔘") for _ in range(chance.randrange(9)))
        assert like(value, pattern) is by_definition(value, pattern), (value, pattern)


def test_ilike_folds_both_sides_whatever_way_its_pieces_are_found(monkeypatch):
    for short in (1, 256):
        monkeypatch.setattr(wildcards, "SHORT", short)
        assert ilike("xxÄPFELyy", "%ä_FEL%")
        assert ilike("ſs", "S_")
        assert not ilike("ß", "__")


@pytest.mark.parametrize("match", [like, ilike])
@pytest.mark.parametrize(
    "unit", ["a_", "a", "a" * 99 + "_", "_"], ids=["every other", "none", "some", "all"]
)
def test_long_patterns_and_long_values(match, unit):
    def work(size: int) -> Callable[[], object]:
        pattern = f"%{(unit * 5_000)[: 1_250 * size]}b%"
        value = "a" * (50_000 * size)
        return lambda: match(value, pattern)

    assert grows_gently(work)


def test_many_pieces():
    def work(size: int) -> Callable[[], object]:
        pattern, value = "%a_b" * (500 * size), "aab" * (20_000 * size)
        return lambda: like(value, pattern)

    assert grows_gently(work)


def test_simple_case_folding():
    """Single code points, idempotent, and where Python folds to one code point, the same."""
    for code in range(0x110000):
        character = chr(code)
        folded = fold_character(character)
        if folded == character:
            continue
        assert len(folded) == 1
        assert fold_character(folded) == folded
        full = character.casefold()
        assert len(full) > 1 or folded == full
        # upper and lower case of a pair meet, unless one of them is several characters
        if unicodedata.category(character) == "Lu" and len(character.lower()) == 1:
            assert fold_character(character.lower()) == folded


@given(st.text(max_size=8))
def test_folding_keeps_the_length(text):
    assert len(fold_case(text)) == len(text)


@given(st.text("ab\n", max_size=7), st.text("ab%_", max_size=6))
def test_like_is_its_regular_expression(value, pattern):
    expression = "".join({"%": ".*", "_": "."}.get(c, c) for c in pattern)
    expected = re.fullmatch(expression, value, re.DOTALL) is not None
    assert like(value, pattern) is expected
