"""Predicates over lists: what they mean, and time that does not explode."""

from collections.abc import Callable
from datetime import date

import pytest

from language.growth import grows_gently
from matchwood.language import evaluate, parse
from matchwood.language.events import Event


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
