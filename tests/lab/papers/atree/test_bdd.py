"""The diagram: canonical, swept, and refused over its budget."""

import pytest

from matcher.expected import expected
from matchwood.lab.papers.atree.bdd import Bdd
from matchwood.lab.papers.shared.protocol import OverBudget


def test_equal_functions_are_one_root():
    """Canonical: distributivity and absorption need no rewriting."""
    bdd = Bdd({1: "(a or b) and (a or c)", 2: "a or b and c", 3: "a or (a and d) or (c and b)"})
    assert len(set(bdd._root.tolist())) == 1
    assert bdd.nodes == 3


def test_a_predicate_and_its_negation_are_two_variables():
    """Undefined is neither: `x or not x` is not always true."""
    bdd = Bdd({"either": "a = 1 or not (a = 1)", "both": "a = 1 and a != 1"})
    assert bdd.match({}) == []
    assert bdd.match({"a": 2}) == ["either"]


def test_over_budget_says_so_and_changes_nothing():
    rules = {i: f"a{i} and b{i}" for i in range(20)}
    # pairs that are far apart in the order: exponential in their number
    hard = " and ".join(f"(x{i} or y{i})" for i in range(40))
    first = "(" + " or ".join(f"x{i}" for i in range(40)) + ")"
    last = "(" + " or ".join(f"y{i}" for i in range(40)) + ")"
    bdd = Bdd(rules, budget=1 << 20)
    with pytest.raises(OverBudget, match="more than its budget of 1,048,576 bytes"):
        bdd.add("hard", f"{first} and {last} and {hard}")
    assert bdd.match({"a3": True, "b3": True}) == [3]
    with pytest.raises(KeyError):
        bdd.remove("hard")
    bdd.add("easy", "x0 and y0")
    assert bdd.match({"x0": True, "y0": True}) == ["easy"]


def test_nodes_of_removed_rules_are_used_again():
    bdd = Bdd(budget=1 << 18)
    for i in range(3000):
        bdd.add(i, f"a{i % 50} = {i} and b = {i % 7} or c = {i}")
        if i >= 20:
            bdd.remove(i - 20)
    rules = {i: f"a{i % 50} = {i} and b = {i % 7} or c = {i}" for i in range(2980, 3000)}
    event = {"c": 2990, "a31": 2981, "b": 2981 % 7}
    assert {(0, rule) for rule in bdd.match(event)} == expected(rules, [event])
    assert len(bdd._rows) <= 2048


def test_memo_starts_again():
    bdd = Bdd({1: "a and b"})
    assert bdd.match({"a": True, "b": True}) == [1]
    bdd._event = (1 << 30) - 1
    assert bdd.match({"a": True}) == []
    assert bdd._event == 1
    assert bdd.match({"a": True, "b": True}) == [1]
