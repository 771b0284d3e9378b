"""Only rules with a true conjunction are evaluated, from the top."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lab.papers.fontoura.leaf_trees import laid_out, right, trees
from matchwood.lab.papers.fontoura.scan_conjunctions import ScanConjunctions, TreeIndex


@given(st.lists(trees, max_size=6), st.data())
def test_rules_are_true_as_their_trees_are(given_trees, data):
    leaves, numbered = laid_out(given_trees)
    index = TreeIndex(leaves)
    count = len(leaves.conjunctions.start) - 1
    for _ in range(3):
        true = data.draw(st.sets(st.integers(0, count - 1)) if count else st.just(set()))
        annotations = index.sort(index.find(np.array(sorted(true), np.int32)))
        assert sorted(index.evaluate(annotations).tolist()) == right(numbered, true)


def test_candidates_have_a_true_conjunction():
    algorithm = ScanConjunctions({i: f"a = {i} and (b = 1 or c = {i})" for i in range(50)})
    assert algorithm.match({"a": 7, "c": 7}) == [7]
    assert algorithm.work.candidates == 1
    algorithm.match({"b": 1})
    assert algorithm.work.candidates == 50
