"""What the documentation says of the stored results is what the judgement says of them."""

from collections import defaultdict
from pathlib import Path

from matchwood.lab.experiments import experiments
from matchwood.lab.experiments.report.page import outcomes
from matchwood.lab.experiments.running.result_file import Results
from matchwood.lab.experiments.statements import OUTCOMES

DOCS = Path(__file__).resolve().parents[4] / "docs"


def test_the_counts_of_verdicts_are_those_of_the_stored_results():
    results = Results(DOCS / "laboratory-small.jsonl")
    of_paper = defaultdict(list)
    for experiment in experiments().values():
        of_paper[experiment.paper].append(experiment)
    page = (DOCS / "laboratory.md").read_text(encoding="utf-8")
    for paper, figures in of_paper.items():
        counted = outcomes(figures, "small", results)
        counts = " | ".join(str(counted[outcome]) for outcome in reversed(OUTCOMES))
        assert f"| {paper} | {counted.total()} | {counts} |" in page
