"""Subscriptions over shared predicates: as Table 1 says, and the same each time."""

import numpy as np
import pytest

from matchwood import Matcher
from matchwood.lab.workloads.overlapping import Overlapping


@pytest.mark.parametrize("model", ["uniform", "zipf"])
def test_lengths_popularity_and_the_share_that_matches(model):
    workload = Overlapping(rules=4000, predicates=500, model=model, longest=7, seed=5)
    start, predicates = workload.subscriptions
    lengths = np.diff(start)
    assert (lengths.min(), lengths.max()) == (3, 7)
    assert abs(lengths.mean() - 5) < 0.1
    for i in range(200):
        mine = predicates[start[i] : start[i + 1]]
        assert len(set(mine.tolist())) == len(mine)
    counts = np.bincount(predicates, minlength=500)
    assert np.corrcoef(counts, workload.popularity)[0, 1] > 0.9
    matched = [
        np.logical_and.reduceat(workload.truth(event)[predicates], start[:-1]).mean()
        for event in range(400)
    ]
    assert np.mean(matched) == pytest.approx(0.002, rel=0.35)


@pytest.mark.parametrize("bias", [-0.25, 0.5, 1])
def test_chances_follow_popularity_by_the_bias(bias):
    workload = Overlapping(rules=4000, predicates=500, model="zipf", bias=bias)
    _, predicates = workload.subscriptions
    false = 1 - workload.selectivity
    between = (false > 0) & (false < 1)
    expected = (workload.popularity[between] / workload.popularity[between][0]) ** bias
    assert between.sum() > 20
    assert false[between] / false[between][0] == pytest.approx(expected)
    matched = np.exp(
        np.add.reduceat(
            np.log(np.maximum(workload.selectivity, 1e-300))[predicates],
            workload.subscriptions[0][:-1],
        )
    )
    assert matched.mean() == pytest.approx(0.002, rel=0.01)


def test_popularity_follows_the_law():
    weights = np.sort(Overlapping(predicates=100, model="zipf", alpha=0.8).popularity)[::-1]
    assert weights[0] / weights[9] == pytest.approx(10**0.8)


def test_seeds():
    one, same, other = (Overlapping(rules=50, predicates=40, seed=seed) for seed in (1, 1, 2))
    assert one.texts() == same.texts()
    assert one.texts() != other.texts()
    assert (one.truth(3) == same.truth(3)).all()
    assert one.texts(10, 12) == one.texts()[10:12]


def test_settings_that_make_no_sense():
    with pytest.raises(ValueError, match="model is one of"):
        Overlapping(model="normal")
    with pytest.raises(ValueError, match="shortest"):
        Overlapping(predicates=4)


def test_rules_and_events_are_those_of_the_arrays():
    workload = Overlapping(rules=300, predicates=60, model="zipf", matched=0.05, seed=3)
    start, predicates = workload.subscriptions
    matcher = Matcher(dict(enumerate(workload.texts())), operators=workload.operators())
    for number, event in enumerate(workload.events(10)):
        right = np.logical_and.reduceat(workload.truth(number)[predicates], start[:-1])
        assert sorted(matcher.match(event)) == np.flatnonzero(right).tolist()
