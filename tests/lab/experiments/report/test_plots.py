"""Plots show how far repeated runs are apart."""

import pytest

from matchwood.lab.experiments import experiments
from matchwood.lab.experiments.report.plots import _errors, drawn

KNOWN = experiments()


def test_an_error_bar_goes_from_the_least_to_the_most():
    line = {10: 4.0, 20: 8.0}
    below, above = _errors(line, {10: (3.5, 6.0)})
    assert below == [0.5, 0.0]
    assert above == [2.0, 0.0]  # what was measured once has no bar
    assert _errors(line, {}) is None


@pytest.mark.parametrize("name", ["dexin-fig2", "atree-table4"])  # lines, and bars
def test_repeated_runs_have_error_bars(name):
    experiment = KNOWN[name]
    values = experiment.values["small"]
    label = experiment.contestants[0].label
    lines = {label: dict.fromkeys(values, 2.0)}
    spreads = {label: dict.fromkeys(values, (1.5, 3.0))}
    measure = experiment.measures[0]
    assert "LineCollection" in drawn(experiment, measure, lines, [label], spreads)
    assert "LineCollection" not in drawn(experiment, measure, lines, [label], {})
