"""Indexes stay few as rules come, and what is removed is gone from them in the end."""

from itertools import pairwise

import pytest

from matchwood.lab.papers.fontoura.dewey import DeweyId
from matchwood.lab.papers.fontoura.dnf import Dnf
from matchwood.lab.papers.shared.protocol import OverBudget


def sizes(algorithm):
    return [len(part.rules.numbers) for part in algorithm._parts]


def test_a_main_index_and_few_small_ones():
    algorithm = DeweyId({i: f"a = {i}" for i in range(100)})
    for i in range(100, 140):
        algorithm.add(i, f"a = {i} or b = 1")
        assert sum(sizes(algorithm)) == i + 1
    assert sizes(algorithm)[0] == 100
    assert len(sizes(algorithm)) <= 6
    assert all(2 * b < a for a, b in pairwise(sizes(algorithm)))
    assert algorithm.match({"a": 120}) == [120]
    for i in range(140, 200):
        algorithm.add(i, f"a = {i}")
    assert sizes(algorithm)[0] > 100
    assert sorted(algorithm.match({"b": 1})) == list(range(100, 140))


def test_removed_rules_leave_the_indexes():
    algorithm = DeweyId({i: f"a = {i}" for i in range(100)})
    before = algorithm.indexes[0].bytes
    for i in range(49):
        algorithm.remove(i)
    assert sizes(algorithm) == [100]
    algorithm.remove(49)
    assert sizes(algorithm) == [50]
    assert algorithm.indexes[0].bytes < before
    assert algorithm.match({"a": 49}) == []
    assert algorithm.match({"a": 50}) == [50]
    for i in range(50, 100):
        algorithm.remove(i)
    assert sizes(algorithm) == []


def test_an_id_may_come_again():
    algorithm = DeweyId({"x": "a = 1", "y": "a = 1", "z": "a = 1"})
    algorithm.remove("x")
    algorithm.add("x", "a = 2")
    assert sorted(algorithm.match({"a": 1})) == ["y", "z"]
    assert algorithm.match({"a": 2}) == ["x"]


def test_a_rule_that_is_refused_changes_nothing():
    algorithm = Dnf({"x": "a = 1"}, budget=4000)
    with pytest.raises(OverBudget):
        algorithm.add("wide", " and ".join(f"(a = {i} or b = {i})" for i in range(20)))
    assert algorithm.match({"a": 1}) == ["x"]
    algorithm.add("wide", "b = 1")
    assert algorithm.match({"b": 1}) == ["wide"]
