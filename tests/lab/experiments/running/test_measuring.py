"""A point has all figures, and answers that are those of the definition."""

from dataclasses import replace

import pytest

from matchwood.lab.experiments.running.answer_check import CHECKED, digest
from matchwood.lab.experiments.running.contestants import CONTESTANTS, PaperContestant
from matchwood.lab.experiments.running.measuring import Bench, made
from matchwood.lab.experiments.running.points import Budget, Point
from matchwood.lab.papers.shared.protocol import OverBudget
from matchwood.lab.workloads.catalogue import workload
from matchwood.language import evaluate, parse

BUDGET = Budget(seconds=10, gib=1, events=40)
SETTINGS = {"rules": 200, "seed": 1, "depth": 2}


@pytest.fixture(scope="module")
def bench():
    return Bench()


@pytest.mark.parametrize("algorithm", ["engine", "engine-batch", "scan", "interval"])
def test_figures_of_a_point(bench, algorithm):
    figures = bench.measure(Point("fontoura", SETTINGS, algorithm, {}), BUDGET)
    rules, events = made("fontoura", SETTINGS, 40)
    true = {
        number: [i for i, text in rules.items() if evaluate(parse(text), event)]
        for number, event in enumerate(events[:CHECKED])
    }
    assert figures["answers"] == digest(list(true.values()))
    assert 0 < figures["bytes"] == pytest.approx(200 * figures["bytes_per_rule"])
    assert 0 < figures["match_ms"] < 1000
    assert 0 < figures["construct_s"] < figures["build_s"]
    assert figures["construct_s"] == pytest.approx(figures["shared_s"] + figures["own_s"])
    assert (figures["shared_s"] > 0) == (not algorithm.startswith("engine"))
    assert figures["buffer_bytes"] == (524_288 if algorithm == "interval" else 0)
    assert figures["events"] == 40
    for name in ("match_ms", "construct_s"):
        low, high = figures[f"{name}_spread"]
        assert low <= figures[name] <= high
    assert figures["matches"] == pytest.approx(200 * figures["selectivity"])
    assert (figures["candidates"] == 200) if algorithm == "scan" else True
    steps = {"index_ms", "sort_ms", "evaluate_ms"}
    assert steps <= figures.keys() if algorithm == "interval" else not steps & figures.keys()


@pytest.mark.parametrize("algorithm", ["engine", "quarantining"])
def test_rules_are_added_in_the_end(bench, algorithm, monkeypatch):
    settings = {"rules": 60, "seed": 1, "equality": 0.5, "added": 7}
    added, adds = {}, 0
    kind = CONTESTANTS.get(algorithm, PaperContestant)
    add = kind.add

    def noted(self, rule_id, rule):
        nonlocal adds
        adds += 1
        added[rule_id] = rule
        add(self, rule_id, rule)

    bench.measure(Point("le-subscribe", {**settings, "added": 0}, algorithm, {}), BUDGET)
    monkeypatch.setattr(kind, "add", noted)
    figures = bench.measure(Point("le-subscribe", settings, algorithm, {}), BUDGET)
    for name in ("insert_ms", "remove_ms"):
        low, high = figures[f"{name}_spread"]
        assert 0 < low <= figures[name] <= high
    assert added == dict(enumerate(workload("le-subscribe", rules=67).texts(60), 60))
    assert adds == 2 * 3 * 7  # the kernels of adding are loaded before, even if others were


def test_rules_in_another_order_are_the_same_rules():
    first, events = made("ads", {"rules": 50, "order": 0}, 3)
    other, same = made("ads", {"rules": 50, "order": 2}, 3)
    assert events == same
    assert first == other
    assert list(first) != list(other)


@pytest.mark.parametrize("algorithm", ["dnf", "translation", "bdd", "gough"])
def test_an_algorithm_with_a_limit_of_its_own_is_given_the_memory_of_the_budget(algorithm):
    """So that it is out of memory where the results say so, and not before."""
    name, settings = "fontoura", {"rules": 100, "depth": 3}
    if algorithm == "gough":
        name, settings = "le-subscribe", {"rules": 40}
    rules, _ = made(name, settings, 1)
    point = Point(name, settings, algorithm, {})
    PaperContestant(point, rules, BUDGET)
    with pytest.raises(OverBudget, match="10,737 bytes"):
        PaperContestant(point, rules, replace(BUDGET, gib=1e-5))
