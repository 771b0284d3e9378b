"""Forms mean what their rules mean, and are alternating, without duplicates, constants or xor."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matcher.random_rules import coded_rules, events, examples
from matchwood.kernels.programs import AND, FALSE, OR, TRUE, operands_of, operator_of, pack_operator
from matchwood.lab.papers.shared.forms import form, forms
from matchwood.lab.papers.shared.predicate_lookup import PredicateLookup
from matchwood.lab.papers.shared.protocol import OverBudget
from matchwood.language import evaluate, parse


def tree(words):
    """Nested tuples (operator, operands) of a form, and nothing left over."""

    def read(at):
        word = int(words[at])
        if word >= 0:
            return word, at + 1
        operator, count = operator_of(word), operands_of(word)
        operands, at = [], at + 1
        for _ in range(count):
            operand, at = read(at)
            operands.append(operand)
        return (operator, tuple(operands)), at

    found, end = read(0)
    assert end == len(words)
    return found


def well_formed(node, above=None):
    if isinstance(node, tuple):
        operator, operands = node
        if above is None and not operands:
            return operator in (TRUE, FALSE)
        assert operator in (AND, OR)
        assert operator != above
        assert len(operands) > 1
        assert len(set(operands)) == len(operands)
        assert all(well_formed(operand, operator) for operand in operands)
    return True


def truth(node, true):
    if not isinstance(node, tuple):
        return node in true
    operator, operands = node
    if not operands:
        return operator == TRUE
    return (all if operator == AND else any)(truth(operand, true) for operand in operands)


@given(st.lists(coded_rules, min_size=1, max_size=12), st.lists(events, max_size=4))
@examples(0.5)
def test_forms_mean_what_rules_mean(rules, given_events):
    predicates = PredicateLookup()
    found = forms(*predicates.gather(rules), predicates.atoms)
    trees = [tree(found.words[found.start[i] : found.start[i + 1]]) for i in range(len(rules))]
    assert all(well_formed(node) for node in trees)
    for event in given_events:
        true = set(predicates.true_of(event).tolist())
        for rule, node in zip(rules, trees, strict=True):
            assert truth(node, true) == (evaluate(rule, event) is True)


def of(rule):
    predicates = PredicateLookup()
    return form(predicates.program(rule), predicates.atoms).tolist()


def test_prefix_order():
    assert of("(a = 1 or b = 2) and c = 3") == [
        pack_operator(AND, 2), 4, pack_operator(OR, 2), 0, 2,
    ]  # fmt: skip


def test_equal_parts_collapse():
    assert of("(x and (y and z) or (z and x) and y) and u") == [pack_operator(AND, 4), 0, 2, 4, 6]
    assert of("x and true or false and y") == [0]
    assert of("x or not (false and y)") == [pack_operator(TRUE, 0)]
    assert of("not (a < 5)") == [1]


def test_xor_over_budget_is_refused():
    predicates = PredicateLookup()
    rules = ["a = 1", " xor ".join(f"x{i}" for i in range(64))]
    program, start = predicates.gather(rules)
    with pytest.raises(OverBudget, match="rule 1 of 2 has more than 4,000"):
        forms(program, start, predicates.atoms, rule_words=4000)
    with pytest.raises(OverBudget, match="over the budget of 1,000"):
        forms(program, start, predicates.atoms, all_words=1000)
    # a chain of n is balanced: 3 + 4 * (words of its half)
    assert len(forms(program, start, predicates.atoms).words) == 1 + 2 * 64**2 - 1


def test_rules_keep_their_order():
    predicates = PredicateLookup()
    rules = [f"a = {i} and b = {i}" if i % 3 else parse(f"a = {i} or b = 1") for i in range(100)]
    found = forms(*predicates.gather(rules), predicates.atoms)
    alone = [form(predicates.program(rule), predicates.atoms) for rule in rules]
    assert np.concatenate(alone).tolist() == found.words.tolist()
