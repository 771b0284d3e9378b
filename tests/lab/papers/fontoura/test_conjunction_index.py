"""The conjunction index finds the conjunctions whose literals are all true, in both ways."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matchwood.lab.papers.fontoura.conjunction_index import ConjunctionIndex, Conjunctions

sets = st.lists(st.frozensets(st.integers(0, 12), max_size=6), max_size=40)


def conjunctions(given_sets):
    start = np.cumsum([0, *map(len, given_sets)])
    literals = [literal for some in given_sets for literal in sorted(some)]
    return Conjunctions(start.astype(np.int64), np.array(literals, np.int32))


@pytest.mark.parametrize("walk", [False, True], ids=["count", "walk"])
@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("apart", [1, 1000])  # lists by literal, and lists by sorted keys
@given(given_sets=sets, true=st.frozensets(st.integers(0, 14)))
def test_all_literals_are_true(walk, share, apart, given_sets, true):
    spread = [frozenset(apart * literal for literal in some) for some in given_sets]
    index, numbers = ConjunctionIndex.of(conjunctions(spread), share, walk)
    assert index.size == len(set(spread) if share else spread)
    literals = np.array([apart * literal for literal in true], np.int32)
    for _ in range(2):  # nothing of one event is left for the next
        found = index.find(literals).tolist()
        assert len(found) == len(set(found))
        right = {int(n) for n, some in zip(numbers, given_sets, strict=True) if some <= true}
        assert set(found) == right


def test_equal_conjunctions_are_one():
    index, numbers = ConjunctionIndex.of(conjunctions([{1, 2}, {1}, {1, 2}, {2, 1}, {1}]))
    assert index.size == 2
    assert numbers.tolist() == [1, 0, 1, 1, 0]


def test_a_walk_skips_what_cannot_be_found():
    """The long list of literal 0 is not read where that of literal 1 has nothing."""
    given_sets = [{0, 2 + i} for i in range(1000)] + [{0, 1}]
    index, numbers = ConjunctionIndex.of(conjunctions(given_sets), walk=True)
    assert index.find(np.array([0, 1], np.int32)).tolist() == [numbers[-1]]
    assert index.visited < 10
    counting, _ = ConjunctionIndex.of(conjunctions(given_sets))
    assert counting.find(np.array([0, 1], np.int32)).tolist() == [numbers[-1]]
    assert counting.visited == 1002


def test_long_conjunctions_are_counted():
    """More literals than 16 bits count."""
    index, _ = ConjunctionIndex.of(conjunctions([set(range(70_000)), {3}]))
    assert index.find(np.arange(70_000, dtype=np.int32)).tolist() == [0, 1]
    assert index.find(np.arange(69_999, dtype=np.int32)).tolist() == [0]
