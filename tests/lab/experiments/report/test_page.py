"""The report has answers that are right for known figures, and every experiment."""

from dataclasses import replace

import pytest

from matchwood.lab.experiments import experiments
from matchwood.lab.experiments.report.comparisons import answers
from matchwood.lab.experiments.report.page import _behind, _figures, outcomes, page, verdicts
from matchwood.lab.experiments.running.points import BUDGETS, plan
from matchwood.lab.experiments.running.result_file import Results

KNOWN = experiments()
BUDGET = BUDGETS["small"]
# What a contestant needs, in all measures and at all points.
COSTS = {"engine": 1.0, "engine-batch": 0.25, "a-tree": 2.0, "bop": 8.0}


@pytest.fixture
def results(tmp_path):
    made = Results(tmp_path / "results.jsonl")
    for step in plan([KNOWN["atree-fig12e"], KNOWN["atree-fig10"], KNOWN["atree-fig12b"]], "small"):
        cost = COSTS.get(step.point.algorithm, 16.0)
        cost *= 4 if step.point.switches.get("zero_suppression") is False else 1
        if step.point.algorithm == "bdd" and step.point.settings.get("depth", 3) > 3:
            made.add(step.point, {"status": "over budget", "reason": "too large"}, BUDGET)
            continue
        figures = {"match_ms": cost, "construct_s": cost, "bytes": int(1000 * cost), "nodes": 1.0}
        made.add(step.point, {"status": "measured", **figures}, BUDGET)
    return made


def test_answers_are_ratios(results):
    found = answers(KNOWN, "small", results)
    atree = {(c.other, c.measure): c for c in found.atree}
    assert atree["BoP", "match_ms"].ratio == pytest.approx(4)
    assert atree["BoP", "match_ms"].won == atree["BoP", "match_ms"].points == 9
    assert "Dewey ID" not in {c.other for c in found.atree}
    engine = {(c.one, c.other, c.measure): c.ratio for c in found.engine}
    assert engine["matchwood", "A-Tree", "bytes"] == pytest.approx(2)
    assert engine["matchwood, batch", "A-Tree", "match_ms"] == pytest.approx(8)
    assert ("matchwood, batch", "A-Tree", "bytes") not in engine
    both = found.elements["both of them"]
    assert set(both) == {"abe-gen", "abe-gen, conjunctions", "ads"}
    assert both["ads"]["match_ms"].ratio == pytest.approx(4)
    assert found.out == {"bdd over budget": 3}
    assert found.best == {"match_ms": (9, 9), "bytes": (9, 9), "construct_s": (9, 9)}
    assert found.ahead == []


def test_where_others_are_ahead_is_named(results):
    (step,) = [
        step
        for step in plan([KNOWN["atree-fig12e"]], "small")
        if step.point.algorithm == "bop" and step.point.settings["attributes"] == 100
    ]
    spread = {"match_ms_spread": [0.4, 0.6]}
    figures = {"status": "measured", "match_ms": 0.5, "bytes": 960, **spread}
    results.add(step.point, figures, BUDGET)
    (case,) = answers(KNOWN, "small", results).ahead
    assert (case.where, case.algorithm, case.measure, case.ratio) == (
        "abe-gen (rules 10000, attributes 100)",
        "BoP",
        "match_ms",
        pytest.approx(2),
    )
    told = " ".join(_behind(answers(KNOWN, "small", results)))
    assert "1 cases on 1 workloads" in told
    assert "abe-gen (rules 10000, attributes 100)" in told
    engine = replace(step.point, algorithm="engine")
    overlapping = {"match_ms": 1.0, "match_ms_spread": [0.55, 1.2], "bytes": 960}
    results.add(engine, {"status": "measured", **overlapping}, BUDGET)
    assert answers(KNOWN, "small", results).ahead == []  # repeated runs of the two overlap


def test_statements_are_judged_by_the_figures(results):
    judged = {
        statement.quote: verdict
        for _, statement, verdict in verdicts(KNOWN["atree-fig12e"], "small", results)
    }
    falls, ranking = judged.values()
    assert falls.outcome == "tied"  # all figures are the same
    assert ranking.outcome == "differs"  # Translation and BDD are slower than BoP
    (memory, best) = [
        verdict.outcome for *_, verdict in verdicts(KNOWN["atree-fig11b"], "small", results)
    ]
    assert memory == "not tried: other size"  # Translation stays within its budget with few rules
    assert best == "holds"  # BDD has no figures from depth 4 on, as in the paper


def test_a_sentence_counts_once_for_all_its_measures_and_figures(results):
    both = [KNOWN["atree-fig13b"], KNOWN["atree-fig13c"]]
    assert outcomes(both, "small", results) == {"not run": 1}
    assert sum(outcomes([KNOWN["atree-table4"]], "small", results).values()) == 6


def test_the_page_shows_all(results):
    some = {name: KNOWN[name] for name in ("atree-fig12e", "atree-fig11b", "fontoura-table2")}
    written = page(some, "small", results)
    for experiment in some.values():
        assert f"<code>{experiment.name}</code>" in written
    assert written.count("<svg") == 2
    assert "4.00× (9 of 9 points, from 4.00× to 4.00×)" in written
    assert "“A-Tree needs the least amount of memory.”" in written
    assert "paper: ABE-Gen, 1M rules<br>here: abe-gen with rules 10,000; " in written
    assert "BDD out of memory at 4" in written
    assert "the size of these data structures" not in written  # of a table that was not run
    assert 'class="differs">differs' in written
    assert "http://www.w3.org" in written  # the names of SVG, and nothing to be fetched
    assert "src=" not in written
    assert "not run yet" in written


def test_the_papers_figures_stand_beside_ours_with_the_sizes_of_both():
    table = KNOWN["fontoura-table2"]
    written = _figures(table, table.measures[0], "small", {"Dewey ID": {1: 0.3}})
    assert "0.3 <small>paper 9.5</small>" in written
    assert (
        "ours: fontoura with rules 5,000; depth of rules 1, 2, 3, 4; the paper’s: a number of "
        in written
    )
    memory = KNOWN["atree-fig11b"]  # of which the paper prints no figures
    assert "ours: " not in _figures(memory, memory.measures[0], "small", {"BoP": {1: 0.3}})
