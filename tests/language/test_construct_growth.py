"""Long rules of every construct are read, and evaluated, in time that grows with their size."""

from collections.abc import Callable

import pytest

from language.growth import grows_gently
from matchwood import parse
from matchwood.language import evaluate
from matchwood.language.named_lists import NamedList

LISTS = {"l": NamedList(range(100))}
# A piece of a rule, repeated with different numbers, and what stands around and between them.
LONG = {
    "tests of truth": ("(a = {}) is not true", "{}", " and "),
    "patterns": ("'%x{}'", "s like any ({})", ", "),
    "thresholds": ("a = {}", "at_least(2, {})", ", "),
    "elements": ("any(v, it = {})", "{}", " or "),
    "a rule about elements": ("it = {}", "every(w, {})", " or "),
    "all values": ("* = {}", "{}", " or "),
    "lower case": ("lower(s) = 'x{}'", "{}", " or "),
    "lists": ("a in list 'l' or a = {}", "{}", " or "),
    "sums": ("a * 2 > {} + b", "{}", " or "),
    "families": ("{0}, '{0}'", "a in ({})", ", "),
}


def long_rule(construct: str, count: int) -> str:
    piece, around, between = LONG[construct]
    return around.format(between.join(piece.format(number + 1_000) for number in range(count)))


@pytest.mark.parametrize("construct", LONG)
def test_reading(construct: str) -> None:
    def work(size: int) -> Callable[[], object]:
        text = long_rule(construct, 150 * size)
        return lambda: parse(text)

    assert grows_gently(work)


@pytest.mark.parametrize("construct", LONG)
def test_evaluating(construct: str) -> None:
    def work(size: int) -> Callable[[], object]:
        tree = parse(long_rule(construct, 150 * size))
        event = {"a": -1, "b": 10_000, "s": "text", "v": list(range(150 * size)), "w": [1, 2]}
        if construct == "elements":  # each of them goes through all elements by itself
            event["v"] = [1, 2]
        return lambda: evaluate(tree, event, lists=LISTS)

    assert grows_gently(work)
