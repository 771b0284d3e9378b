"""Ids come back as they were, whatever kind they are of."""

import numpy as np
import pytest

from matchwood.lab.papers.shared.rule_numbers import RuleNumbers


def named(roster, *numbers):
    return roster.named(np.array(numbers, np.int32))


@pytest.mark.parametrize("first", [[3, 1, 2], ["a", "b"], [1, 2**70], [], [-(2**63), 2**63 - 1]])
def test_ids_come_back(first):
    roster = RuleNumbers(first)
    assert named(roster, *range(len(first))) == first
    for rule_id in (7, "seven", 2**63, 8):
        number = roster.add(rule_id)
        assert named(roster, number) == [rule_id]
    assert named(roster, *range(len(first))) == first
    assert len(roster) == len(first) + 4


def test_a_number_is_used_again():
    roster = RuleNumbers(range(5))
    assert roster.remove(3) == 3
    assert roster.add(2**40) == 3
    assert named(roster, 4, 3) == [4, 2**40]
    assert all(type(rule_id) is int for rule_id in named(roster, 0, 3))
    with pytest.raises(ValueError, match="exists already"):
        roster.add(4)
    with pytest.raises(KeyError):
        roster.remove(3)
