"""Differences from rsigma are counted by their reason, and what has none is a wrong answer."""

import pytest

from matchwood.lab.bench.imported_sigma import Asked, counted, rule_of, together

pytest.importorskip("sigma.rule")


def count_of(detection, event, answers):
    """What is counted where rsigma answers the whole, and each item alone, like this."""
    asked = [Asked(detection, rule_of(detection), [event])]
    whole, *items = answers
    return dict(+counted(asked, [whole], lambda jobs: items))


def test_reasons():
    missing = {"s": {"a|neq": "x", "b": "y"}, "condition": "s"}
    assert count_of(missing, {"b": "y"}, "001") == {
        "answers_checked": 1,
        "neq of a missing field": 1,
    }
    assert "text as a number" in count_of({"s": {"a|gt": 5}, "condition": "s"}, {"a": "9"}, "11")
    assert "null of a missing field" in count_of({"s": {"a": None}, "condition": "s"}, {}, "00")


def test_what_has_no_reason_is_wrong():
    plain = {"s": {"a": "x", "b": "y"}, "condition": "s"}
    event = {"a": "x", "b": "y"}
    assert count_of(plain, event, "001")["wrong_answers"] == 1  # an item differs
    assert count_of(plain, event, "011")["wrong_answers"] == 1  # the items say otherwise
    assert "wrong_answers" not in count_of(plain, event, "1")


@pytest.mark.parametrize(
    ("condition", "expected"),
    [("1 of s*", True), ("all of s*", False), ("s and not t", True), ("not (s or t)", False)],
)
def test_items_put_together(condition, expected):
    made = {"s": [{"a": 1}, {"a": 2}], "t": ["x"], "condition": condition}
    truth = {'["a", 1]': False, '["a", 2]': True, '["", "x"]': False}
    assert together(made, truth) is expected
