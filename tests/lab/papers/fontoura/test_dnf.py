"""Normal forms are multiplied out, without contradictions, within a budget."""

import pytest

from matchwood.lab.papers.fontoura.dnf import Dnf, expand
from matchwood.lab.papers.shared.forms import forms
from matchwood.lab.papers.shared.predicate_lookup import PredicateLookup
from matchwood.lab.papers.shared.protocol import OverBudget


def disjuncts(*rules):
    """The conjunctions of each rule, as sets of predicates, which are one letter each."""
    predicates = PredicateLookup()
    letters = sorted({letter for rule in rules for letter in rule if letter in "pqrstuvw"})
    numbers = predicates.gather(letters)[0].tolist()
    spelled = dict(zip(numbers, letters, strict=True))
    spelled |= {number ^ 1: f"-{letter}" for number, letter in spelled.items()}
    program, start = predicates.gather(rules)
    conjunctions, owners = expand(forms(program, start, predicates.atoms))
    found = [[] for _ in rules]
    for i, owner in enumerate(owners.tolist()):
        literals = conjunctions.literals[conjunctions.start[i] : conjunctions.start[i + 1]]
        found[owner].append("".join(sorted(spelled[literal] for literal in literals.tolist())))
    return [sorted(some) for some in found]


def test_normal_forms():
    assert disjuncts(
        "(p or q or r) and s and (t or u)",  # of the A-Tree paper, §2
        "p and q",
        "p or (q and (r or s))",
        "p xor q",
        "(p or q) and not p",
        "true",
        "false",
    ) == [
        ["pst", "psu", "qst", "qsu", "rst", "rsu"],
        ["pq"],
        ["p", "qr", "qs"],
        ["-pq", "-qp"],
        ["-pq"],
        [""],
        [],
    ]


def test_a_long_product_in_the_middle_of_many_rules():
    wide = " and ".join(f"({a} or {b})" for a, b in ("pq", "rs", "tu", "vw"))
    first, middle, last = disjuncts("p", wide, "q")
    assert (first, len(middle), last) == (["p"], 16, ["q"])
    assert {len(some) for some in middle} == {4}


def test_beyond_the_budget_the_build_stops():
    rules = {i: f"(a = {i} or b = {i}) and (c = {i} or d = {i})" for i in range(100)}
    assert Dnf(rules, budget=4000).match({"a": 3, "d": 3}) == [3]
    with pytest.raises(OverBudget, match=r"over 2,000 bytes, at rule 6\d of 100"):
        Dnf(rules, budget=2000)


def test_equal_conjunctions_are_one_of_the_index():
    rules = dict.fromkeys(range(10), "a = 1 and (b = 1 or c = 1)")
    algorithm = Dnf(rules)
    assert algorithm.indexes[0].conjunctions == 2
    assert sorted(algorithm.match({"a": 1, "b": 1, "c": 1})) == list(range(10))
