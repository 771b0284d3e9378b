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


def test_the_index_and_the_translated_expressions_are_apart():
    """TR1 and TR2: 20 expressions of two literals, of 4 bytes each, and 21 positions of 8."""
    rules = dict.fromkeys(range(10), "a = 1 and (b = 1 or c = 1)")
    for walk in (False, True):
        algorithm = Translation(rules, walk=walk)
        assert algorithm.translated_bytes == 20 * 2 * 4 + 21 * 8
        assert 0 < algorithm.translated_bytes < algorithm.bytes
        assert algorithm.translate_s >= 0
        assert sorted(algorithm.match({"a": 1, "c": 1})) == list(range(10))
        for number in range(10):
            algorithm.remove(number)
        assert algorithm.translated_bytes == 0
