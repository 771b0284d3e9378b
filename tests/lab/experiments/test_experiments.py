"""Every experiment is whole: its workloads can be made, and what it names is there."""

import pytest

from matchwood.lab.experiments import experiments
from matchwood.lab.experiments.experiment import OURS, SCALES
from matchwood.lab.experiments.running.measuring import NOT_OF_WORKLOADS
from matchwood.lab.workloads.catalogue import workload

KNOWN = experiments()
every = pytest.mark.parametrize("experiment", [pytest.param(e, id=n) for n, e in KNOWN.items()])


def test_all_figures_and_tables_are_there():
    assert KNOWN.keys() >= {
        *("atree-fig8a", "atree-fig8b", "atree-fig9", "atree-fig10", "atree-table4"),
        *(f"atree-fig11{letter}" for letter in "abcd"),
        *(f"atree-fig12{letter}" for letter in "abcdefgh"),
        *(f"atree-fig13{letter}" for letter in "abcd"),
        *(f"fontoura-table{number}" for number in (2, 3, 4)),
        *(f"fontoura-fig{number}" for number in range(7, 15)),
        *(f"dexin-fig{number}" for number in range(2, 18)),
    }


@every
def test_the_engine_is_in_every_plot(experiment):
    assert all(ours in experiment.contestants for ours in OURS)


@every
@pytest.mark.parametrize("scale", SCALES)
def test_every_workload_can_be_made(experiment, scale):
    runs = list(experiment.runs(scale))
    assert [value for value, _, _ in runs] == list(experiment.values[scale])
    for _, name, settings in runs:
        given = {name: value for name, value in settings.items() if name not in NOT_OF_WORKLOADS}
        assert workload(name, **given).rules == settings["rules"]


@every
def test_what_the_paper_says_is_of_contestants_and_measures(experiment):
    labels = {contestant.label for contestant in experiment.contestants}
    measures = {measure.name for measure in experiment.measures}
    for claim in experiment.claims:
        assert claim.measure in measures
        said = claim.said
        named = getattr(claim, "order", None) or getattr(claim, "labels", None) or ()
        named = {*named, *(getattr(claim, part, None) for part in ("saver", "than", "label"))}
        assert named - {None} <= labels, said
    for measure, lines in experiment.reported.items():
        assert measure in measures
        assert set(lines) <= labels
        for line in lines.values():
            assert set(line) <= set(experiment.values["paper"])
