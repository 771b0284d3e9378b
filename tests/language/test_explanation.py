"""Explanations: what is drawn of a rule and an event, and no more of it than is readable."""

from collections.abc import Callable

from language.growth import grows_gently
from matchwood.language import explain, parse


def test_explanation():
    explanation = explain(parse("a = 1 xor not b.c > d"), {"a": 1, "b": {"c": 5}})
    assert explanation.truth is None
    assert str(explanation).split("\n") == [
        "undefined  xor",
        "true       ├─ a = 1       a: 1",
        "undefined  └─ not",
        "undefined     └─ b.c > d  b.c: 5, d: missing",
    ]
    assert explanation.to_json()["nodes"][3]["seen"] == {"b.c": "5", "d": "missing"}


def test_explanations_of_long_lists():
    def work(size: int) -> Callable[[], object]:
        rule = parse(" or ".join(f"l = {n}" for n in range(-1, -100 * size, -1)))
        event = {"l": list(range(5_000 * size))}
        return lambda: str(explain(rule, event))

    assert grows_gently(work)


def test_no_more_of_a_value_is_shown_than_before():
    event = {"l": list(range(200)), "s": "x" * 200, "o": {"a": list(range(200))}}
    drawn = str(explain(parse("l = 1 or s = 'x' or o is null"), event))
    for value in event.values():
        assert repr(value)[:59] + "…" in drawn
