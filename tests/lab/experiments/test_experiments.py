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
    assert bool(experiment.statements) <= bool(experiment.theirs)
    for statement in experiment.statements:
        assert statement.measure in measures
        assert statement.parts
        assert set(statement.labels) <= labels, statement.quote
    for measure, lines in experiment.reported.items():
        assert measure in measures
        assert set(lines) <= labels
        for line in lines.values():
            assert set(line) <= set(experiment.values["paper"])


def test_a_sentence_is_quoted_once_per_measure_of_an_experiment():
    for experiment in KNOWN.values():
        said = [(statement.quote, statement.measure) for statement in experiment.statements]
        assert len(said) == len(set(said))


def test_the_sentences_on_construction_and_time_are_there():
    found = {
        name: {(s.quote, s.labels) for s in KNOWN[name].statements}
        for name in ("atree-fig12a", "atree-fig13a")
    }
    others = ("BDD", "Translation", "BoP", "Interval ID")
    best = ("Among them, A-Tree performs the best.", ("A-Tree", *others))
    always = ("Among them, A-Tree always performs the best", ("A-Tree", *others, "Scan"))
    assert best in found["atree-fig13a"]
    assert always in found["atree-fig12a"]
