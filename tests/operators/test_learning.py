"""What is learned of calls and literals: from their operator first, then from themselves."""

import numpy as np
import pytest

from matchwood import parse
from matchwood.language.joins import joined
from matchwood.language.tree.variables import canonical_join
from matchwood.operators import Operator, Operators
from matchwood.operators.learning import Calls
from matchwood.operators.learning_kernels import AROUND, FULL

OPERATORS = Operators([Operator("slow", print, cost=0.5), Operator("quick", print, cost=0.001)])


def made(*texts):
    calls = Calls(OPERATORS)
    literals = []
    for text in texts:
        tree = joined(parse(text))
        literals.append(canonical_join(tree) if "?" in text else tree)
    return calls, calls.numbers(literals)


def test_calls_are_numbered_once():
    calls, numbers = made(
        "slow(a, ?x) and ?x > 1", "slow(a, ?y) and ?y > 2", "quick(a)", "quick(b)"
    )
    assert len(set(numbers.tolist())) == 4
    assert len(calls.calls) == 3
    assert calls.literal_call[numbers[0]] == calls.literal_call[numbers[1]]


def test_costs_are_what_was_said_then_what_was_measured():
    calls, numbers = made("slow(a)", "slow(b)", "quick(a)")
    of = calls.literal_call[numbers]
    assert calls.costs(of) == pytest.approx([0.5 + AROUND, 0.5 + AROUND, 0.001 + AROUND])
    for _ in range(100):
        calls.note_costs([(calls.calls[of[0]], 0.02)])
    assert calls.costs(of)[0] == pytest.approx(0.02, rel=0.2)
    assert calls.costs(of)[1] == pytest.approx(0.02, rel=0.2)  # its operator has got quicker
    calls.note_costs([(calls.calls[of[0]], 5.0)])
    assert calls.costs(of)[0] < 0.03  # once is no reason
    for _ in range(200):
        calls.note_costs([(calls.calls[of[0]], 5.0)])
    assert calls.costs(of)[0] > 2


def test_chances_follow_what_was_seen_lately():
    calls, numbers = made("quick(a)", "quick(b)")
    assert calls.chances(numbers) == pytest.approx([0.5, 0.5])
    for _ in range(5 * FULL):
        calls.note_truths([int(numbers[0])], [True])
    high = calls.chances(numbers)
    assert high[0] > 0.99
    assert high[1] > 0.9  # as others of its operator
    for _ in range(2 * FULL):
        calls.note_truths([int(numbers[0])], [False])
    assert calls.chances(numbers)[0] < 0.3


def test_what_was_learned_goes_with_the_calls_that_stay():
    calls, numbers = made("quick(a)", "quick(b)")
    for _ in range(50):
        calls.note_truths([int(numbers[1])], [True])
        calls.note_costs([(calls.calls[calls.literal_call[numbers[1]]], 0.25)])
    after, again = made("quick(b)")
    after.learned_from(calls)
    assert after.chances(again)[0] > 0.9
    assert after.costs(np.array([0]))[0] > 0.1


def test_arrays_grow_while_others_hold_them():
    calls, numbers = made("quick(a)")
    before = calls.literal_call
    calls.numbers([parse(f"quick(a, {n})") for n in range(100)])
    assert len(before) == 1
    assert len(calls.literal_call) == 101
    calls.note_truths([int(numbers[0])], [True])
