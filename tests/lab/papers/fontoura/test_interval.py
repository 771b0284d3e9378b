"""Interval IDs are those of the paper, and cover a line where their rule is true."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.papers.fontoura.leaf_trees import laid_out, right, trees
from matchwood.kernels.programs import AND, OR
from matchwood.lab.papers.fontoura.interval import IntervalId, IntervalIndex, label
from matchwood.lab.papers.shared.protocol import Unsupported

FIGURE_5 = (OR, [(AND, [0, 0]), 0, (AND, [0, 0, 0])])


@pytest.mark.parametrize(
    ("letters", "true"), [("ADEF", True), ("AB", True), ("C", True), ("BD", False), ("DEB", False)]
)
def test_the_paper_s_example(letters, true):
    """Together B and D cover the line, but overlap."""
    leaves, _ = laid_out([FIGURE_5])
    index = IntervalIndex(leaves)
    found = index.find(np.array(["ABCDEF".index(letter) for letter in letters], np.int32))
    assert index.evaluate(index.sort(found)).tolist() == [0] * true


@given(trees)
def test_labels_are_valid(tree):
    """The paper's three invariants."""
    leaves, (numbered,) = laid_out([tree])
    words = label(leaves, 1000).tolist()
    begins = []

    def interval(node):
        if isinstance(node, int):
            return (words[node] >> 16) & 0xFFFF, words[node] & 0xFFFF
        within = [interval(operand) for operand in node[1]]
        if node[0] == OR:
            assert len(set(within)) == 1
            return within[0]
        assert all(a[1] + 1 == b[0] for a, b in pairwise(within))
        begins.extend(begin for begin, _ in within[1:])
        return within[0][0], within[-1][1]

    assert interval(numbered) == (1, 1000)
    assert len(begins) == len(set(begins))


@given(st.lists(trees, max_size=6), st.data())
def test_rules_are_true_as_their_trees_are(given_trees, data):
    leaves, numbered = laid_out(given_trees)
    index = IntervalIndex(leaves)
    count = len(leaves.conjunctions.start) - 1
    for _ in range(3):
        true = data.draw(st.sets(st.integers(0, count - 1)) if count else st.just(set()))
        annotations = index.sort(index.find(np.array(sorted(true), np.int32)))
        assert index.evaluate(annotations).tolist() == right(numbered, true)


def test_a_rule_has_as_many_leaves_as_16_bits_count():
    wide = " or ".join(f"a = {i}" for i in range(65_535))
    algorithm = IntervalId({"wide": wide})
    assert algorithm.match({"a": 65_534}) == ["wide"]
    with pytest.raises(Unsupported, match="65,536 leaf conjunctions"):
        algorithm.add("wider", f"{wide} or b = 1")
    assert algorithm.match({"b": 1}) == []


def test_only_rules_with_a_true_conjunction_are_seen():
    algorithm = IntervalId({i: f"a = {i} and (b = 1 or c = {i})" for i in range(50)})
    assert algorithm.match({"a": 7, "c": 7}) == [7]
    assert algorithm.work.candidates == 1
    assert min(algorithm.timings) > 0
