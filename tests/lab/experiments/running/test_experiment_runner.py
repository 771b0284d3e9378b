"""A run measures what is missing, skips what is bound to fail, and finds wrong answers."""

import json
from threading import Barrier

import pytest

from matchwood.lab.experiments import experiments
from matchwood.lab.experiments.running import experiment_runner
from matchwood.lab.experiments.running.experiment_runner import run
from matchwood.lab.experiments.running.points import BUDGETS, plan
from matchwood.lab.experiments.running.result_file import Results

KNOWN = experiments()
DEPTHS = KNOWN["fontoura-table2"]
MEASURED = {
    "status": "measured",
    "match_ms": 1.23456789,
    "match_ms_spread": [1.11111, 2.0],
    "bytes": 10,
    "build_s": 1.0,
}


class Pretended:
    """Measures nothing; some algorithms are over their budget, or wrong."""

    asked: list

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def measure(self, point, budget):
        self.asked.append(point)
        if point.algorithm == "dnf" and point.settings["depth"] == 2:
            return {"status": "over budget", "reason": "too many"}
        wrong = point.algorithm == "scan" and point.settings["depth"] == 1
        return {**MEASURED, "answers": "other" if wrong else "same"}


@pytest.fixture
def asked(monkeypatch):
    monkeypatch.setattr(experiment_runner, "Worker", Pretended)
    Pretended.asked = []
    return Pretended.asked


def nothing(*_):
    pass


def test_a_run_goes_on_where_it_was(asked, tmp_path):
    path = tmp_path / "deep" / "results.jsonl"
    counted = run([DEPTHS], "small", Results(path), BUDGETS["small"], nothing)
    assert counted == {"measured": 32, "over budget": 3, "wrong": 1}
    assert len(asked) == 34  # two points of dnf are deeper than one that was over its budget
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:20]) + "\n" + lines[20][:50])
    counted = run([DEPTHS], "small", Results(path), BUDGETS["small"], nothing)
    assert counted["there already"] == 20
    assert sum(counted.values()) == 36
    assert Results(path).records.keys() == {s.point.key for s in plan([DEPTHS], "small")}


def test_several_points_at_once_have_the_results_of_one_after_the_other(
    asked, tmp_path, monkeypatch
):
    together = Barrier(3)  # broken unless three workers wait at once

    def measure(self, point, budget):
        plain = point.algorithm in ("dewey", "interval", "scan") and not point.switches
        if plain and point.settings["depth"] == 3:
            together.wait(timeout=10)
        return one_by_one(self, point, budget)

    one_by_one = Pretended.measure
    alone, results = Results(tmp_path / "alone.jsonl"), Results(tmp_path / "results.jsonl")
    counted = run([DEPTHS], "small", alone, BUDGETS["small"], nothing)
    begun = len(asked)
    monkeypatch.setattr(Pretended, "measure", measure)
    assert run([DEPTHS], "small", results, BUDGETS["small"], nothing, jobs=8) == counted
    statuses = {key: record["status"] for key, record in alone.records.items()}
    assert {key: record["status"] for key, record in results.records.items()} == statuses
    assert all(record["at_once"] == 8 for record in results.records.values())
    first = {}
    for point in asked[begun:]:
        first.setdefault(point.workload_key, point.algorithm)
    assert set(first.values()) == {"engine"}  # whose answers the others are compared with


def test_records_say_where_and_how(asked, tmp_path):
    results = Results(tmp_path / "results.jsonl")
    told = []
    run([DEPTHS], "small", results, BUDGETS["small"], lambda *given: told.append(given))
    record = json.loads(results.path.read_text().splitlines()[0])
    assert record["point"]["algorithm"] == "engine"
    assert record["match_ms"] == 1.235
    assert record["match_ms_spread"] == [1.111, 2.0]
    assert record["seed"] == 1
    assert record["budget"] == {"seconds": 20, "gib": 2, "events": 500}
    for record in results.records.values():  # those without figures, too
        assert {"processor", "cores", "python", "numba", "numpy"} <= record["machine"].keys()
        assert {"matchwood", "pyarrow", "commit"} <= record["versions"].keys()
    assert told[0][:2] == (1, 36)
    assert told[1][3] == results.get(told[0][2])
    bound = [r["reason"] for r in results.records.values() if "with less" in r.get("reason", "")]
    assert bound == ["as dnf, walk True on fontoura (rules 5000), with less"] * 2


def test_algorithms_that_are_not_there_are_left_out(asked, tmp_path, monkeypatch):
    monkeypatch.setattr(experiment_runner, "ALGORITHMS", {"scan": None})
    counted = run([DEPTHS], "small", Results(tmp_path / "r.jsonl"), BUDGETS["small"], nothing)
    assert counted["missing"] == 24
    assert {point.algorithm for point in asked} == {"engine", "engine-batch", "scan"}


def test_lines_are_in_the_unit_of_the_measure(asked, tmp_path):
    results = Results(tmp_path / "results.jsonl")
    run([DEPTHS], "small", results, BUDGETS["small"], nothing)
    (measure,) = DEPTHS.measures
    lines = results.lines(DEPTHS, "small", measure)
    assert lines["Dewey ID"] == pytest.approx(dict.fromkeys((1, 2, 3, 4), 1e-5))
    assert list(lines["Scan"]) == [2, 3, 4]  # at depth 1 it was wrong
    why = dict.fromkeys((2, 3, 4), "not tried: out of memory")
    assert results.failed(DEPTHS, "small") == {"DNF expansion": why}
    measured = results.measured(DEPTHS, "small", measure)
    assert measured.missing("DNF expansion", 1) is None
    assert measured.missing("Scan", 1) == "not run"  # a wrong answer is no result
    assert measured.missing("Scan", 9) == "not tried: other size"
    assert not measured.full
