"""What the documentation says of the stored results is what the judgement says of them."""

from collections import defaultdict
from pathlib import Path

import pytest

from matchwood.lab.experiments import experiments
from matchwood.lab.experiments.report.page import outcomes_by_paper
from matchwood.lab.experiments.running.points import Point, plan
from matchwood.lab.experiments.running.result_file import Results

DOCS = Path(__file__).resolve().parents[4] / "docs"


@pytest.mark.parametrize("scale", ["small", "paper"])
def test_the_counts_of_verdicts_are_those_of_the_stored_results(scale):
    results = Results(DOCS / f"laboratory-{scale}.jsonl")
    page = (DOCS / "laboratory.md").read_text(encoding="utf-8")
    for paper, counted in outcomes_by_paper(experiments().values(), scale, results).items():
        counts = " | ".join(map(str, counted.values()))
        assert f"| {paper} | {sum(counted.values())} | {counts} |" in page


@pytest.mark.parametrize("scale", ["small", "paper"])
def test_stored_results_are_of_points_that_experiments_have(scale):
    """So that the report draws all of them again; each has the machine and the versions."""
    records = Results(DOCS / f"laboratory-{scale}.jsonl").records
    points = {step.point.key for step in plan(experiments().values(), scale)}
    assert records.keys() <= points
    assert len(records) > 20
    for record in records.values():
        assert record["machine"]["processor"]
        assert record["versions"].keys() >= {"matchwood", "numba", "numpy", "pyarrow"}
        assert record["seed"] is not None


@pytest.mark.parametrize("scale", ["small", "paper"])
def test_stored_results_of_a_workload_are_of_the_same_events(scale):
    counted = defaultdict(set)
    for record in Results(DOCS / f"laboratory-{scale}.jsonl").records.values():
        if "events" in record:
            counted[Point(**record["point"]).workload_key].add(record["events"])
    assert {len(counts) for counts in counted.values()} <= {1}
