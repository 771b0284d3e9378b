"""What `evaluate` and `explain` take grows with rule and event, not with their product."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from datetime import date
from time import perf_counter

import pytest

from matchwood.language import evaluate, explain, parse, wildcards
from matchwood.language.events import Event
from matchwood.language.strings import ilike, like

FACTOR = 4  # by which both the rule and the event grow
LIMIT = 10  # of the growth in time: linear is 4, the product of both 16


def grows_gently(work: Callable[[int], Callable[[], object]]) -> bool:
    """Whether work of `FACTOR` times the size takes less than `LIMIT` times as long."""
    small, large = work(1), work(FACTOR)
    small(), large()
    # other processes may disturb a measurement, not three in a row
    return any(_fastest(large) < LIMIT * max(_fastest(small), 2e-3) for _ in range(3))


def _fastest(work: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        started = perf_counter()
        work()
        times.append(perf_counter() - started)
    return min(times)


# like


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


@pytest.mark.parametrize("short", [1, 256])
def test_pieces_are_found_where_they_are(short, monkeypatch):
    monkeypatch.setattr(wildcards, "SHORT", short)
    chance = random.Random(1)
    for _ in range(300):
        value = "".join(chance.choice("ab") for _ in range(chance.randrange(1, 400)))
        start = chance.randrange(len(value))
        length = chance.randrange(1, len(value) - start + 1)
        piece = "".join(chance.choice((c, "_")) for c in value[start : start + length])
        expected = re.compile(piece.replace("_", ".")).search(value)
        piece = piece.replace("_", wildcards.ANY)
        assert expected is not None
        assert wildcards.find(value, piece, 0, len(value)) == expected.start()


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


# Lists


@pytest.mark.parametrize(
    "predicate",
    [
        "l > {} or l < -{}",
        "l = {}.5",
        "l != {}",
        "l between {}.25 and {}.75",
        "l not between {}.25 and {}.75",
        "contains(l, {}.5)",
        "contains(l, other)",
        "t > date '2999-01-01'",
    ],
)
def test_comparisons_over_long_lists(predicate):
    def work(size: int) -> Callable[[], object]:
        many = range(10**6, 10**6 + 100 * size)
        rule = parse(" or ".join(f"({predicate.replace('{}', str(n))})" for n in many))
        event = {
            "l": list(range(5_000 * size)),
            "t": [f"2026-01-{day % 28 + 1:02}" for day in range(5_000 * size)],
            "other": -5,
        }
        return lambda: evaluate(rule, event)

    assert grows_gently(work)


def test_many_literals_over_long_lists():
    def work(size: int) -> Callable[[], object]:
        rule = parse(f"l in ({', '.join(map(str, range(10**6, 10**6 + 5_000 * size)))})")
        event = {"l": list(range(5_000 * size))}
        return lambda: evaluate(rule, event)

    assert grows_gently(work)


def test_explanations_of_long_lists():
    def work(size: int) -> Callable[[], object]:
        rule = parse(" or ".join(f"l = {n}" for n in range(-1, -100 * size, -1)))
        event = {"l": list(range(5_000 * size))}
        return lambda: str(explain(rule, event))

    assert grows_gently(work)


def test_values_of_a_list_in_order_mean_what_each_of_them_means():
    values = [3, 0.5, -1, True, "b", "2026-01-31", None, {"a": 1}, float("inf"), [7], "b"]
    seen = Event({"l": values})
    rules = [f"l {op} {value}" for op in ("=", "<", "<=", ">", ">=") for value in (-2, -1, 0, 3, 9)]
    rules += ["l = true", "l < true", "l = 'b'", "l > 'b'", "l like 'b%'", "l rlike '^20'"]
    rules += ["l between 1 and 2", "l between 2 and 3", "l between 3 and 1", "l in (7, 9)"]
    rules += ["l in (9, 3)", "l >= date '2026-01-31'", "l > date '2026-01-31'", "l in ('a', 'b')"]
    rules += ["startswith(l, '2')", "endswith(l, 'c')", "contains(l, 0.5)", "contains(l, 1)"]
    rules += ["contains(l, date '2026-01-31')", "in_network(l, '10.0.0.0/8')"]
    for rule in rules:
        tree = parse(rule)
        alone = [evaluate(tree, {"l": [value]}) for value in values]
        assert evaluate(tree, seen) is any(alone), rule
        assert evaluate(parse(f"not ({rule})"), seen) is not any(alone), rule


def test_an_attribute_that_a_list_contains_is_not_read_as_a_time():
    event = {"l": ["2026-01-31"], "s": "2026-01-31", "t": date(2026, 1, 31)}
    assert evaluate(parse("contains(l, s)"), event) is True
    assert evaluate(parse("contains(l, t)"), event) is False
    assert evaluate(parse("contains(l, date '2026-01-31')"), event) is True


def test_no_more_of_a_value_is_shown_than_before():
    event = {"l": list(range(200)), "s": "x" * 200, "o": {"a": list(range(200))}}
    drawn = str(explain(parse("l = 1 or s = 'x' or o is null"), event))
    for value in event.values():
        assert repr(value)[:59] + "…" in drawn
