"""Dewey IDs are those of the paper, and rules are rebuilt from them as their trees are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.papers.fontoura.leaf_trees import laid_out, right, trees
from matchwood.kernels.programs import AND, OR
from matchwood.lab.papers.fontoura.dewey import DeweyId, DeweyIndex, annotate, spelled

FIGURE_2 = (OR, [(AND, [0, 0]), 0, (AND, [0, 0, 0])])


def chain(length):
    """Operators in each other: (1 and (2 or (3 and …)))."""
    tree = 0
    for level in range(length):
        tree = (AND if level & 1 else OR, [0, tree])
    return tree


@pytest.mark.parametrize(
    ("letters", "true"), [("ADEF", True), ("AB", True), ("C", True), ("BD", False), ("DEB", False)]
)
def test_the_paper_s_example(letters, true):
    leaves, _ = laid_out([FIGURE_2])
    index = DeweyIndex(leaves)
    found = index.find(np.array(["ABCDEF".index(letter) for letter in letters], np.int32))
    assert index.evaluate(index.sort(found)).tolist() == [0] * true


def test_ids_are_ordered_and_spelled_as_they_are():
    leaves, _ = laid_out([(AND, [0, (OR, [0] * 9), 0])])
    ids = annotate(leaves)
    assert (np.diff(ids.words.astype(np.int64)) > 0).all()
    assert spelled(ids) == ["1", *(f"2.{i}" for i in range(1, 10)), "3*"]


def test_wide_rules_have_large_numbers():
    leaves, _ = laid_out([(AND, [(OR, [0] * 20_000), 0])])
    ids = annotate(leaves)
    assert (np.diff(ids.words.astype(np.int64)) > 0).all()
    assert spelled(ids) == [*(f"1.{i}" for i in range(1, 20_001)), "2*"]


def test_long_ids_are_spelled_as_they_are():
    """At every length about which words of the table end."""
    for length in range(40):
        leaves, _ = laid_out([chain(length)])
        top = "" if length and length & 1 == 0 else "1*."
        marks = ["2*" if i & 1 == 0 else "2" for i in range(len(top) // 3, length + 1)]
        right_ids = [".".join([*marks[:i], "1"]) for i in range(length)]
        right_ids.append(".".join(marks[:length]))
        assert spelled(annotate(leaves)) == [(top + one).strip(".") for one in right_ids]


@given(st.lists(trees, max_size=6), st.data())
def test_rules_are_true_as_their_trees_are(given_trees, data):
    leaves, numbered = laid_out(given_trees)
    index = DeweyIndex(leaves)
    count = len(leaves.conjunctions.start) - 1
    for _ in range(3):
        true = data.draw(st.sets(st.integers(0, count - 1)) if count else st.just(set()))
        annotations = index.sort(index.find(np.array(sorted(true), np.int32)))
        assert index.evaluate(annotations).tolist() == right(numbered, true)


@given(st.lists(st.integers(0, 60), min_size=1, max_size=4), st.data())
def test_long_ids_are_in_a_table(lengths, data):
    """Chains up to 32 bits and beyond, beside each other."""
    leaves, numbered = laid_out([chain(length) for length in lengths])
    ids = annotate(leaves)
    assert (len(ids.table) > 2) == any(length > 6 for length in lengths)
    index = DeweyIndex(leaves)
    count = len(leaves.conjunctions.start) - 1
    missing = data.draw(st.sets(st.integers(0, count - 1), max_size=8))
    true = set(range(count)) - missing
    annotations = index.sort(index.find(np.array(sorted(true), np.int32)))
    assert index.evaluate(annotations).tolist() == right(numbered, true)


def test_only_rules_with_a_true_conjunction_are_seen():
    algorithm = DeweyId({i: f"a = {i} and (b = 1 or c = {i})" for i in range(50)})
    assert algorithm.match({"a": 7, "c": 7}) == [7]
    assert algorithm.work.candidates == 1
    assert min(algorithm.timings) > 0
