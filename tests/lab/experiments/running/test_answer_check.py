"""Answers are compared with the definition, and with each other by a digest."""

import pytest

from matchwood.lab.experiments.running.answer_check import Wrong, check, digest, truths


def test_answers_are_checked():
    expected = truths({1: "a = 1", 2: "a = 2"}, [{"a": 1}])
    assert expected == [{1: True, 2: False}]
    check(expected, [[1]])
    for wrong in ([], [1, 2], [2]):
        with pytest.raises(Wrong, match=r"event 0: rule \d is (True|False), but "):
            check(expected, [wrong])
    with pytest.raises(Wrong, match="event 0: a rule is in the answer twice"):
        check(expected, [[1, 1]])


def test_digests_do_not_depend_on_order():
    assert digest([[1, 2], [3]]) == digest([[2, 1], [3]])
    assert digest([[1, 2], [3]]) != digest([[1], [2, 3]])
