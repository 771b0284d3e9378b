"""TAMA names all rules that are true; finer cells leave fewer others."""

import numpy as np

from matcher.expected import expected
from matchwood.lab.papers.boxes.tama import Tama
from matchwood.lab.workloads.dexin_conjunctions import DexinConjunctions


def test_false_positives_become_fewer_with_levels():
    workload = DexinConjunctions(rules=1500, attributes=4, cardinality=4096, points=0.0)
    rules = dict(enumerate(workload.texts()))
    events = workload.events(15)
    right = expected(rules, events)
    false = []
    for levels in (3, 6, 12):
        tama = Tama(rules, levels=levels)
        found = {(i, rule) for i, event in enumerate(events) for rule in tama.match(event)}
        assert found >= right
        named = {(i, rule) for i, e in enumerate(events) for rule in tama.false_positives(e)}
        assert named == found - right
        false.append(len(named))
    assert false == sorted(false, reverse=True)
    assert false[0] > 10 * false[2]
    assert false[2] <= 0.02 * len(right)


def test_an_interval_is_in_few_cells():
    tama = Tama({n: f"a between {n} and {n + 500}" for n in range(500)}, levels=10)
    sizes = tama._runs.size
    assert 500 < sizes.sum() <= 500 * 2 * 10
    assert np.flatnonzero(sizes).max() < 2 << 10
