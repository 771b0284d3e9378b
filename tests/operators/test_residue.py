"""What remains of long rules that call operators."""

from collections.abc import Callable

import pytest

from language.growth import grows_gently
from matchwood import Matcher, parse
from matchwood.language import evaluate
from matchwood.language.tree import And, Or, nodes
from matchwood.operators.residue import MAX_OPTIONS, residue

OPERATORS = {"f": lambda x: x == 1, "g": lambda x, n: x == n}


def listed(pattern: str, count: int, between: str = ", ") -> str:
    return between.join(pattern.format(number) for number in range(count))


def test_a_long_threshold_beside_a_call():
    rule = f"at_least(10, f(x), {listed('b{0} = {0}', 450)})"
    rest = residue(parse(rule))
    assert rest.upper is not None
    assert rest.upper.size < 1_000
    assert (rest.upper.count, len(rest.upper.operands)) == (9, 450)
    matcher = Matcher({1: rule}, operators=OPERATORS)
    for count in (8, 9, 10):
        for x in (0, 1):
            event = {"x": x} | {f"b{number}": number for number in range(count)}
            right = evaluate(parse(rule), event, operators=OPERATORS) is True
            assert matcher.match(event) == [1] * right


def test_conditions_may_be_larger_than_rules(monkeypatch: pytest.MonkeyPatch):
    """Each comparison of two attributes becomes four predicates beneath a test of truth."""
    monkeypatch.setattr(nodes, "MAX_NODES", 1_000)
    compared = listed("a{0}<b{0}", 900, " or ")
    for text in (f"f(x) and ({compared}) is not true", f"(g(x, 1) and not ({compared})) is true"):
        [option] = residue(parse(text)).options
        assert len(option.literals) == 1
    assert residue(parse(f"(f(x) and not ({compared})) is not true")).lower.size > 1_000
    [option] = residue(parse(f"f(x) and ({compared}) is not true")).options
    assert option.condition.size > 1_000


def test_conditions_may_be_deeper_than_rules():
    deep = parse("a < b")
    for number in range(98):
        deep = And((Or((deep, parse(f"c = {number}"))), parse(f"d = {number}")))
    text = f"f(x) and ({deep}) is not true"
    rest = residue(parse(text))
    assert len(rest.options) == 1
    assert Matcher({1: text}, operators=OPERATORS).match({"x": 1, "d": 1}) == [1]


@pytest.mark.parametrize(
    "pattern",
    [
        "(f(x) or {}) is not true",
        "f(x) and not ({})",
        "(f(x) or g(x, 2)) and (f(y) or g(y, 2)) and not ({})",
    ],
)
def test_time_grows_with_the_size_of_conditions(pattern: str):
    def work(size: int) -> Callable[[], object]:
        tree = parse(pattern.format(listed("b{0} = {0}", 300 * size, " or ")))
        return lambda: residue(tree)

    assert grows_gently(work)


def test_time_grows_with_the_number_of_calls():
    def work(size: int) -> Callable[[], object]:
        conjunction = parse(listed("(f(x{0}) and b{0} = {0})", 300 * size, " and "))
        return lambda: residue(conjunction)

    assert grows_gently(work)


def test_products_of_several_options_say_the_same():
    text = "(f(x) or a = 1 and g(y, 2)) and b = 1 and f(z) and (g(y, 2) or f(y)) and c = 2"
    rest = residue(parse(text))
    assert len(rest.options) == 4 <= MAX_OPTIONS
    matcher = Matcher({1: text}, operators=OPERATORS)
    for number in range(3**4):
        values = [number // 3**place % 3 for place in range(4)]
        event = dict(zip("axyz", values, strict=True)) | {"b": 1, "c": 2}
        right = evaluate(parse(text), event, operators=OPERATORS) is True
        assert matcher.match(event) == [1] * right
