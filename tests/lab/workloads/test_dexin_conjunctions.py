"""DEXIN's workload has the shape of the paper's, and the matching rate that was asked for."""

from hashlib import sha256
from itertools import chain

import numpy as np
import pytest

from matchwood.lab.workloads.dexin_conjunctions import DexinConjunctions
from matchwood.language import evaluate, parse
from matchwood.language.tree import Between, Comparison

SETTINGS = [{}, {"distribution": "zipf"}, {"distribution": "mixed"}, {"matching": 0.01}]


def matched(workload, events):
    rules = [parse(text) for text in workload.texts()]
    found = [evaluate(rule, event) is True for event in events for rule in rules]
    return np.array(found).reshape(len(events), len(rules)).mean(1)


def test_same_seed_same_bytes():
    for setting, right in zip(SETTINGS, BYTES, strict=True):
        workload = DexinConjunctions(rules=300, **setting)
        made = "\n".join(workload.texts()) + repr(workload.events(20))
        assert sha256(made.encode()).hexdigest()[:16] == right, setting
    assert DexinConjunctions(rules=50, seed=2).texts() != DexinConjunctions(rules=50).texts()


BYTES = ["02b07fc20a5f7ddc", "2efb434857a8fcaf", "479daed216606b91", "794b06d141b6c312"]


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_part_is_made_without_the_rest(setting):
    workload = DexinConjunctions(rules=1500, **setting)
    texts = workload.texts()
    assert workload.texts(700, 900) == texts[700:900]
    assert list(chain.from_iterable(workload.chunks(400))) == texts
    assert workload.events(50, start=120) == workload.events(200)[120:170]


@pytest.mark.parametrize("setting", SETTINGS)
def test_constraints_are_points_and_ranges_of_all_attributes(setting):
    workload = DexinConjunctions(rules=1000, attributes=5, cardinality=1000, points=0.3, **setting)
    points = ranges = 0
    for text in workload.texts():
        parts = parse(text).operands
        assert [part.attribute for part in parts] == ["a0", "a1", "a2", "a3", "a4"]
        points += sum(isinstance(part, Comparison) for part in parts)
        for part in parts:
            if isinstance(part, Between):
                ranges += 1
                assert 0 <= part.low <= part.high < 1000
                width = part.high - part.low + 1
                assert 200 <= width <= 800 or (workload.matching and width == 1)
    assert points / (points + ranges) == pytest.approx(0.3, abs=0.02)


def test_width_and_number_of_values():
    workload = DexinConjunctions(rules=200, cardinality=50, width=0.5, points=0.0)
    parts = [part for text in workload.texts() for part in parse(text).operands]
    assert {part.high - part.low + 1 for part in parts} == {25}
    assert {part.low for part in parts} == set(range(26))
    values = {value for event in workload.events(100) for value in event.values()}
    assert values == set(range(50))


def test_zipf_prefers_low_values():
    even = DexinConjunctions(rules=300, points=1.0)
    skewed = DexinConjunctions(rules=300, points=1.0, distribution="zipf")
    mixed = DexinConjunctions(rules=300, points=1.0, distribution="mixed")
    middle = {}
    for name, workload in {"even": even, "skewed": skewed, "mixed": mixed}.items():
        values = [[part.value for part in parse(text).operands] for text in workload.texts()]
        middle[name] = np.median(values, axis=0)
    assert (middle["skewed"] < 500).all()
    assert (middle["even"] > 3000).all()
    assert set(middle["mixed"] < 500) == {True, False}
    assert np.median([list(event.values()) for event in skewed.events(300)]) < 500


@pytest.mark.parametrize("rate", [0.01, 0.05, 0.2])
def test_the_matching_rate_is_that_of_its_construction(rate):
    workload = DexinConjunctions(rules=300, matching=rate)
    assert workload.sources == round(1 / rate)
    events = workload.events(min(workload.sources, 8))
    assert matched(workload, events) == pytest.approx(rate, rel=0.01)
    assert workload.events(workload.sources + 1)[-1] == events[0]


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ({"rules": 0}, "at least 1"), ({"points": 1.5}, "0 to 1"), ({"matching": 0}, "matching"),
        ({"distribution": "normal"}, "uniform, zipf, mixed"),
    ],
)  # fmt: skip
def test_impossible_settings_are_refused(setting, why):
    with pytest.raises(ValueError, match=why):
        DexinConjunctions(**setting)
