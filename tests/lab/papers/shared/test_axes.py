"""Constraints say of single values what rules say, and codes stay when constants arrive."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.papers.shared.conjunctive_rules import any_conjunctions, conjunctions, numeric_events
from matcher.random_rules import events, examples
from matchwood.lab.papers.shared.axes import Axes, Crowded, is_conjunctive
from matchwood.lab.papers.shared.axes_kernels import FIRST, LAST, MISSING
from matchwood.lab.papers.shared.protocol import Unsupported
from matchwood.language import evaluate, parse


def holds(found, rule, codes):
    """Whether the codes of an event are in an interval of every constraint of a rule."""
    for constraint in range(found.start[rule], found.start[rule + 1]):
        code = codes[found.axis[constraint]] if found.axis[constraint] >= 0 else MISSING
        span = range(found.span[constraint], found.span[constraint + 1])
        if not any(found.low[i] <= code <= found.high[i] for i in span):
            return False
    return True


@given(
    st.lists(st.one_of(conjunctions, any_conjunctions), max_size=8),
    st.lists(st.one_of(numeric_events, events), max_size=6),
)
@examples(1)
def test_constraints_are_the_rules(rules, given_events):
    axes, one_by_one = Axes(), Axes()
    found = axes.gather(rules)
    singly = [one_by_one.constraints(rule) for rule in rules]
    for event in given_events:
        codes, others = axes.codes(event), one_by_one.codes(event)
        if codes is None:
            assert others is None
            continue
        right = [evaluate(parse(rule), event) is True for rule in rules]
        assert [holds(found, i, codes) for i in range(len(rules))] == right
        assert [holds(each, 0, others) for each in singly] == right


def test_intervals_are_disjoint_and_in_order():
    axes = Axes()
    found = axes.gather(["a not in (3, 1, 5) and a < 7 and b = 1 and not a between 4 and 9"])
    assert found.axis.tolist() == [0, 1]
    ends = [axes.code("a", n) for n in (1, 3, 4)]
    assert list(zip(found.low.tolist(), found.high.tolist(), strict=True))[:3] == [
        (FIRST, ends[0] - 1), (ends[0] + 1, ends[1] - 1), (ends[1] + 1, ends[2] - 1),
    ]  # fmt: skip


def test_what_is_no_conjunction_is_refused():
    axes = Axes()
    for rule, why in {
        "a = 1 or b = 2": "it has an or", "a = 1 xor b = 1": "an xor", "a is null": "is null",
        "a = 1 and b rlike 'x'": "no interval", "a = b": "no interval",
    }.items():  # fmt: skip
        with pytest.raises(Unsupported, match=f"rule 2 of 2: .*{why}"):
            axes.gather(["a = 1", rule])
        assert not is_conjunctive(parse(rule))
    assert is_conjunctive(parse("true"))
    assert is_conjunctive(parse("not (a = 1 or b > 2)"))


@pytest.mark.parametrize("order", [range(50), range(50, 0, -1), [n * 29 % 50 for n in range(50)]])
def test_codes_stay_when_constants_arrive(order):
    axes = Axes()
    codes = {}
    for number in order:
        codes[number] = int(axes.constraints(f"a = {number}").low[0])
    assert {number: axes.code("a", number) for number in codes} == codes
    assert sorted(codes, key=codes.get) == sorted(codes)
    assert all(FIRST < code < LAST and code % 2 == 0 for code in codes.values())


def test_an_axis_fills_up():
    def takes(rules):
        axes = Axes()
        for rule in rules:
            axes.constraints(rule)

    right_above = ["a = 1", *(f"a = {1 + 2**-number!r}" for number in range(50))]
    takes(right_above[:12])
    with pytest.raises(Crowded):
        takes(right_above)
    in_order = [f"a = {number}" for number in range(1000)]
    takes(in_order[:60])
    with pytest.raises(Crowded):
        takes(in_order)
