"""Rules keep the leaves that they were written with, so that the paper's figures come from text."""

import numpy as np
import pytest

from lab.papers.fontoura.leaf_trees import right
from matchwood.kernels.programs import AND, OR, operands_of, operator_of
from matchwood.lab.papers.fontoura.dewey import DeweyId, annotate, spelled
from matchwood.lab.papers.fontoura.interval import IntervalId, label
from matchwood.lab.papers.fontoura.interval_kernels import interval_of
from matchwood.lab.papers.fontoura.scan_conjunctions import ScanConjunctions
from matchwood.lab.papers.fontoura.written_leaves import written_leaves
from matchwood.lab.papers.shared.predicate_lookup import PredicateLookup
from matchwood.lab.workloads.fontoura import Fontoura
from matchwood.language import evaluate, parse

# The tree of the paper's Figures 2 and 5.
FIGURE = "(A and B) or C or (D and E and F)"


def written(rule, depth):
    predicates = PredicateLookup()
    return written_leaves(*predicates.gather([rule]), predicates.atoms, depth)


def shape(found):
    """The tree as text: a leaf is the number of its predicates."""
    sizes = iter(np.diff(found.conjunctions.start).tolist())
    words = iter(found.words.tolist())

    def read(word):
        if word >= 0:
            return str(next(sizes))
        name = "AND" if operator_of(word) == AND else "OR"
        return f"{name}({', '.join([read(next(words)) for _ in range(operands_of(word))])})"

    return read(next(words))


def test_the_dewey_ids_of_figure_2():
    assert spelled(annotate(written(FIGURE, 3))) == [
        "1*.1.1", "1*.1.2*", "1*.2", "1*.3.1", "1*.3.2", "1*.3.3*",
    ]  # fmt: skip


def test_the_intervals_of_figure_5():
    words = label(written(FIGURE, 3), most=10)
    intervals = [tuple(map(int, interval_of(word))) for word in words]
    assert intervals == [(1, 1), (2, 10), (1, 10), (1, 4), (5, 5), (6, 10)]


def test_figures_3_and_4():
    for rule, most, right_intervals in (
        ("A or B", 10, [(1, 10), (1, 10)]),
        ("A and B", 10, [(1, 1), (2, 10)]),
    ):
        words = label(written(rule, 1), most=most)
        assert [tuple(map(int, interval_of(word))) for word in words] == right_intervals


@pytest.mark.parametrize("kind", [DeweyId, IntervalId, ScanConjunctions])
@pytest.mark.parametrize(
    ("letters", "true"), [("ADEF", True), ("AB", True), ("C", True), ("BD", False), ("DEB", False)]
)
def test_the_paper_s_events(kind, letters, true):
    """Section 3.3 and Table 1, and B with D, which cover the line but overlap."""
    algorithm = kind({"figure": FIGURE}, walk=True, share=False, depth=3)
    assert algorithm.match(dict.fromkeys(letters, True)) == ["figure"] * true
    assert algorithm.indexes[0].conjunctions == 6


@pytest.mark.parametrize(
    ("rule", "depth", "tree"),
    [
        ("p", 1, "1"),
        ("p and q", 1, "AND(1, 1)"),
        ("p and (q and r)", 1, "AND(1, 2)"),
        ("p and (q and r)", 3, "AND(1, OR(AND(1, 1)))"),
        ("p or (q and r)", 2, "OR(1, 2)"),
        ("p or (q and r)", 3, "OR(1, AND(1, 1))"),
        ("p or (q and (r and s))", 3, "OR(1, AND(1, 2))"),
        ("p or (q or r)", 4, "OR(1, AND(OR(1, 1)))"),
        ("not (p and (q or not r))", 2, "OR(1, 2)"),
        ("p and (p and q and p)", 1, "AND(1, 2)"),
        ("true", 1, "0"),
        ("p xor q", 3, "OR(AND(1, 1), AND(1, 1))"),
    ],
)
def test_depth_says_what_is_a_leaf(rule, depth, tree):
    assert shape(written(rule, depth)) == tree


def test_a_rule_that_is_never_true_has_no_leaf():
    assert written("false", 2).words.tolist() == []


def test_depth_is_at_least_one():
    with pytest.raises(ValueError, match="depth is 0"):
        IntervalId({1: "a = 1"}, depth=0)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_the_paper_s_workload_keeps_its_leaves(depth):
    """But for operators with one operand below each other, which a text does not show."""
    workload = Fontoura(rules=300, depth=depth)
    texts = workload.texts()
    predicates = PredicateLookup()
    found = written_leaves(*predicates.gather(texts), predicates.atoms, depth)
    generated = len(workload._trees(np.arange(300)).starts) - 1
    leaves = len(found.conjunctions.start) - 1
    assert generated <= leaves < 1.02 * generated
    assert int(found.conjunctions.start[-1]) > leaves
    for event in workload.events(3):
        true = {i for i, text in enumerate(texts) if evaluate(parse(text), event)}
        for kind in (DeweyId, IntervalId):
            algorithm = kind(enumerate(texts), walk=True, share=False, depth=depth)
            assert set(algorithm.match(event)) == true


def test_trees_are_true_as_they_were_written():
    """A tree with a leaf for each predicate, by all sets of true leaves."""
    tree = (OR, [(AND, [0, 1]), 2, (AND, [3, 4, 5])])
    algorithm = DeweyId({"figure": FIGURE}, walk=True, share=False, depth=3)
    for number in range(64):
        true = {i for i in range(6) if number >> i & 1}
        found = algorithm.match({"ABCDEF"[i]: True for i in true})
        assert found == ["figure"] * len(right([tree], true))
