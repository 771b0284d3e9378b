"""Claims of papers are held against figures as a reader would."""

import pytest

from matchwood.lab.experiments.claims import (
    AGREES,
    DIFFERS,
    OPEN,
    PARTLY,
    Ranking,
    RunsOut,
    Saving,
    Trend,
    ratio,
)

LINES = {"a": {1: 1.0, 2: 1.0}, "b": {1: 2.0, 2: 8.0}, "c": {1: 1.05, 2: 0.98}, "d": {1: 9.0}}


def test_ratio_is_a_geometric_mean_over_common_values():
    assert ratio(LINES, "a", "b") == pytest.approx(4)
    assert ratio(LINES, "a", "b", last=True) == pytest.approx(8)
    assert ratio(LINES, "b", "d") == pytest.approx(4.5)
    assert ratio(LINES, "a", "none") is None


@pytest.mark.parametrize(
    ("order", "outcome", "pairs"),
    [
        (("a", "b", "d"), AGREES, "3 of 3"),
        (("c", "a", "b"), AGREES, "3 of 3"),  # a and c are too close to be ranked
        (("b", "a", "d"), PARTLY, "2 of 3"),
        (("d", "b", "a"), DIFFERS, "0 of 3"),
        (("a", "none"), OPEN, ""),
    ],
)
def test_ranking(order, outcome, pairs):
    verdict = Ranking("match_ms", order).held(LINES, {})
    assert verdict.outcome == outcome
    assert pairs in verdict.ours


def test_ranking_tells_our_own_order():
    assert Ranking("match_ms", ("d", "b", "a")).held(LINES, {}).ours.startswith("a, b, d")


@pytest.mark.parametrize(
    ("part", "at", "outcome", "ours"),
    [
        (0.9, "last", AGREES, "88% less, at 2"),
        (0.6, "best", AGREES, "88% less, at 2"),
        (1.0, "last", AGREES, "88%"),
        (1.1, "last", PARTLY, "88%"),
    ],
)
def test_saving(part, at, outcome, ours):
    verdict = Saving("match_ms", "a", "b", part, at).held(LINES, {})
    assert (verdict.outcome, verdict.ours[: len(ours)]) == (outcome, ours)


def test_a_saving_that_is_none():
    assert Saving("bytes", "b", "a", 0.5).held(LINES, {}) == (DIFFERS, "700% more, at 2")
    assert Saving("bytes", "a", "none", 0.5).held(LINES, {}).outcome == OPEN


@pytest.mark.parametrize(
    ("labels", "goes", "outcome"),
    [
        (("b",), "rises", AGREES),
        (("b", "a"), "rises", PARTLY),
        (("b",), "falls", DIFFERS),
        (("a", "c"), "stays", AGREES),
        (("d",), "rises", OPEN),
    ],
)
def test_trend(labels, goes, outcome):
    assert Trend("bytes", labels, goes).held(LINES, {}).outcome == outcome


def test_running_out():
    claim = RunsOut("bytes", "d", 2)
    assert claim.held(LINES, {"d": [2, 3]}) == (AGREES, "over its budget at 2")
    assert claim.held(LINES, {"d": [3]}).outcome == PARTLY
    assert claim.held(LINES, {}).outcome == OPEN  # it was not tried with as much
    assert RunsOut("bytes", "b", 2).held(LINES, {}) == (DIFFERS, "it did not, up to 2")
    assert claim.held({}, {}).outcome == OPEN
