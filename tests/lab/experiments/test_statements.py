"""Sentences of papers are judged by figures as a careful reader would."""

import pytest

from matchwood.lab.experiments.measured import (
    NO_MEMORY,
    NO_SIZE,
    NO_TIME,
    NOT_RUN,
    Measured,
    geometric_mean,
)
from matchwood.lab.experiments.statements import (
    DIFFERS,
    HOLDS,
    OUTCOMES,
    TIED,
    AsGood,
    Linear,
    RunsOut,
    Saves,
    Similar,
    Slower,
    Steadier,
    Trend,
    combined,
    least,
    most,
    order,
    says,
)

# Made by hand, at the values 1, 2 and 4: "near" is within 10 % of "low", "high" needs far more,
# "late" and "large" have no figure at 4, and "unrun" was not run there.
MEASURED = Measured(
    values=(1, 2, 4),
    lines={
        "low": {1: 1.0, 2: 2.0, 4: 4.0},
        "near": {1: 1.05, 2: 1.95, 4: 4.1},
        "high": {1: 10.0, 2: 20.0, 4: 80.0},
        "flat": {1: 3.0, 2: 3.1, 4: 2.9},
        "bent": {1: 1.0, 2: 3.0, 4: 2.0},
        "late": {1: 5.0, 2: 9.0},
        "large": {1: 5.0, 2: 9.0},
        "unrun": {1: 5.0, 2: 9.0},
    },
    failed={"late": {4: NO_TIME}, "large": {4: NO_MEMORY}},
)


def outcome(*parts, measured=MEASURED):
    return says("a sentence", "match_ms", *parts).judged(measured).outcome


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (order("low", "high"), HOLDS),
        (order("high", "low"), DIFFERS),
        (order("low", "near"), TIED),
        (order("near", "low"), TIED),
        (order("low", "near", "high"), TIED),  # one pair of three decides nothing
        (order("low", "flat", at=(1,)), HOLDS),
        (order("low", "flat"), DIFFERS),  # at one value it is the other way round
        (least("low", ("low", "high", "flat"), at=(1, 2)), HOLDS),
        (most("high", ("low", "flat")), HOLDS),
        (order("low", "late"), NO_TIME),
        (order("low", "large"), NO_MEMORY),
        (order("low", "unrun"), NOT_RUN),
        (order("low", "nobody"), NOT_RUN),
        (order("low", "late", at=(1, 2)), HOLDS),
        (order("low", "high", at=(8,)), NO_SIZE),
        (order("late", "low"), DIFFERS),  # whatever the value that is missing
        (order("unrun", "low"), NOT_RUN),  # no verdict without all points
        (AsGood((("low", "near"),)), HOLDS),
        (AsGood((("near", "low"),)), HOLDS),
        (AsGood((("low", "high"),)), HOLDS),
        (AsGood((("high", "low"),)), DIFFERS),
        (AsGood((("low", "late"),)), NO_TIME),
    ],
)
def test_the_order_of_contestants(part, expected):
    assert outcome(part) == expected


def test_repeated_runs_that_overlap_are_tied():
    apart = {"low": {1: (0.9, 1.1)}, "high": {1: (9.0, 11.0)}}
    together = {"low": {1: (0.9, 9.5)}, "high": {1: (9.0, 11.0)}}
    for spreads, expected, other in ((apart, HOLDS, DIFFERS), (together, TIED, TIED)):
        measured = Measured((1,), MEASURED.lines, spreads=spreads)
        assert outcome(order("low", "high"), measured=measured) == expected
        assert outcome(order("high", "low"), measured=measured) == other
        assert outcome(AsGood((("high", "low"),)), measured=measured) == other
        assert outcome(Similar(("low", "high")), measured=measured) == other


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (Saves("low", "high", 0.5), HOLDS),
        (Saves("low", "high", 0.9), TIED),  # as much as that, at two values
        (Saves("low", "high", 0.9, at=(4,)), HOLDS),
        (Saves("low", "high", 0.97), DIFFERS),
        (Saves("low", "high", 0.95, by="best"), TIED),
        (Saves("low", "high", 0.9, by="mean"), HOLDS),  # 7 to 110
        (Saves("low", "high", 0.95, by="mean"), DIFFERS),
        (Saves("high", "low", 0.1), DIFFERS),
        (Saves("low", "late", 0.1, by="mean"), NO_TIME),
        (Saves("low", "high", 0.5, at=(3,)), NO_SIZE),
    ],
)
def test_savings(part, expected):
    assert outcome(part) == expected


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (Trend(("low", "high"), "rises"), HOLDS),
        (Trend(("low",), "falls"), DIFFERS),
        (Trend(("bent",), "rises"), DIFFERS),  # twice as much in the end, but less than before
        (Trend(("flat",), "rises"), TIED),
        (Trend(("flat",), "stays"), HOLDS),
        (Trend(("flat",), "varies"), DIFFERS),
        (Trend(("low",), "varies"), HOLDS),
        (Trend(("high",), "does not fall"), HOLDS),
        (Trend(("flat", "bent"), "does not fall"), HOLDS),  # as much in the end, or more
        (Trend(("bent",), "does not rise"), DIFFERS),
        (Trend(("bent",), "does not fall", at=(2, 4)), DIFFERS),
        (Trend(("unrun",), "does not fall"), NOT_RUN),
        (Steadier("flat", ("low", "high")), HOLDS),
        (Steadier("low", ("near", "high")), TIED),
        (Steadier("low", ("bent",)), DIFFERS),
        (Steadier("bent", ("low",), at=(1, 2)), DIFFERS),  # upwards counts
        (Steadier("low", ("bent",), at=(2, 4)), DIFFERS),  # as downwards does
        (Steadier("flat", ("late",)), NO_TIME),
        (Trend(("bent",), "stays", at=(2, 4)), DIFFERS),  # by half: not what staying is
        (Trend(("bent",), "stays", at=(2, 4), most=1.6), HOLDS),
        (Trend(("low", "late"), "rises"), NO_TIME),
        (Trend(("unrun",), "rises"), NOT_RUN),
        (Trend(("low",), "rises", at=(1,)), NO_SIZE),
        (Linear(("low", "near")), HOLDS),
        (Linear(("high",)), DIFFERS),
        (Linear(("large",)), NO_MEMORY),
        (Slower(("low",), ("high",)), HOLDS),
        (Slower(("high",), ("low",)), DIFFERS),
        (Slower(("low",), ("near",)), TIED),
        (Slower(("flat",)), HOLDS),
        (Slower(("low",)), TIED),
        (Slower(("low",), ("late",)), NO_TIME),
        (Similar(("low", "near")), HOLDS),
        (Similar(("low", "high")), DIFFERS),
        (Similar(("low", "flat")), DIFFERS),
        (Similar(("low", "late"), at=(4,)), NO_TIME),
    ],
)
def test_trends(part, expected):
    assert outcome(part) == expected


def test_running_out_of_memory_is_not_running_out_of_time():
    assert outcome(RunsOut({"large": 4})) == HOLDS
    assert outcome(RunsOut({"late": 4})) == NO_TIME
    assert outcome(RunsOut({"large": 4, "late": 4})) == NO_TIME
    assert outcome(RunsOut({"unrun": 4})) == NOT_RUN
    assert outcome(RunsOut({"low": 8})) == NO_SIZE


def test_who_does_not_run_out_with_fewer_rules_says_nothing():
    full = Measured(MEASURED.values, MEASURED.lines, MEASURED.failed, full=True)
    assert outcome(RunsOut({"low": 4})) == NO_SIZE
    assert outcome(RunsOut({"low": 4}), measured=full) == DIFFERS


def test_who_runs_out_earlier_differs():
    early = Measured((1, 2, 4), {"low": {1: 1.0}}, {"low": {2: NO_MEMORY, 4: NO_MEMORY}})
    assert outcome(RunsOut({"low": 4}), measured=early) == DIFFERS


def test_a_whole_is_no_better_than_its_parts():
    assert outcome(order("low", "high"), order("low", "near")) == TIED
    assert outcome(order("low", "near"), order("low", "late")) == NO_TIME
    assert outcome(order("low", "late"), order("high", "low")) == DIFFERS
    assert outcome(order("high", "low"), order("low", "unrun")) == NOT_RUN
    assert combined([]) == NOT_RUN
    assert combined(OUTCOMES) == OUTCOMES[0]


def test_verdicts_tell_figures_and_what_is_missing():
    told = says("a sentence", "match_ms", order("low", "large"), Saves("low", "high", 0.5, (4,)))
    assert told.labels == ("low", "large", "high")
    assert told.judged(MEASURED).ours == (
        "large: out of memory at 4; large needs 4.74× (4.5 to 5) of low (so at 2 of 2); "
        "low needs 95 % less than high, said to be 50 % less"
    )


def test_ratios_are_averaged_so_that_the_order_does_not_matter():
    assert geometric_mean([2.0, 8.0]) == pytest.approx(1 / geometric_mean([0.5, 0.125]))
