"""Translation indexes every conjunctive expression of every rule."""

from matchwood.lab.papers.atree.translation import Translation
from matchwood.lab.papers.fontoura.dnf import Dnf


def test_expressions_are_not_shared():
    rules = dict.fromkeys(range(10), "a = 1 and (b = 1 or c = 1)")
    algorithm = Translation(rules)
    assert algorithm.expressions == 20
    assert algorithm.bytes > Dnf(rules).bytes
    assert sorted(algorithm.match({"a": 1, "b": 1, "c": 1})) == list(range(10))
    algorithm.add(10, "a = 1 or b = 1")
    assert algorithm.expressions == 22
