"""Boxes are all ways to choose an interval; rules that would be too many are refused."""

import pytest

from matchwood.lab.papers.boxes.dexin import Dexin
from matchwood.lab.papers.shared.axes import Axes
from matchwood.lab.papers.shared.axes_kernels import FIRST, LAST
from matchwood.lab.papers.shared.box_algorithm import MOST, boxes
from matchwood.lab.papers.shared.protocol import Unsupported
from matchwood.language import parse


def test_two_ranges_for_each_unequal():
    axes = Axes()
    found = boxes(axes.gather(["a != 1 and b = 2 and c != 3", "a > 5 and a < 4", "true", "b = 1"]))
    assert found.rule.tolist() == [0, 0, 0, 0, 2, 3]
    assert found.start.tolist() == [0, 3, 6, 9, 12, 12, 13]
    one = axes.code("a", 1)
    assert found.low[[0, 3, 6, 9]].tolist() == [FIRST, FIRST, one + 1, one + 1]
    assert found.high[[0, 3, 6, 9]].tolist() == [one - 1, one - 1, LAST, LAST]


def test_too_many_boxes():
    many = " and ".join(f"a{i} != 1" for i in range(9))
    assert MOST < 2**9
    assert not Dexin.supports(parse(many))
    assert Dexin.supports(parse(many.replace(" and a8 != 1", "")))
    dexin = Dexin({"x": "a0 = 1"})
    with pytest.raises(Unsupported, match="rule 1 of 1: it is more than 256 boxes"):
        dexin.add("y", many)
    assert dexin.match({"a0": 1}) == ["x"]


def test_codes_are_made_anew_when_an_axis_is_crowded():
    dexin = Dexin()
    for number in range(400):
        dexin.add(number, f"a >= {number} and a < {number + 2}")
    assert sorted(dexin.match({"a": 200})) == [199, 200]
    for number in range(0, 400, 2):
        dexin.remove(number)
    assert dexin.match({"a": 200}) == [199]


def test_lists_are_asked_rule_by_rule():
    dexin = Dexin({"both": "a > 5 and a < 3", "one": "a = 4", "else": "b = 1"})
    assert dexin.match({"a": [1, 9], "b": 1}) == ["both", "else"]
    assert dexin.work.candidates == 3
