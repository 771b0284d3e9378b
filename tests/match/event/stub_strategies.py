"""Strategies that match nothing, to see how one is chosen."""

from types import SimpleNamespace

from matchwood.match.event.strategy import EventStrategy, IndexedSegment, PreparedStrategy
from matchwood.match.event.strategy_choice import StrategyChoice


class StubPrepared(PreparedStrategy):
    bytes = 0

    def __init__(self, name, size):
        self.name = name
        self.bytes = size

    def match(self, scratch, event, hits, seen, keep):
        raise AssertionError("nothing is matched")


class StubStrategy(EventStrategy):
    """Says that it pays, or asks `pays`; `prepare` may take its time, or return None."""

    def __init__(self, name, size=0, pays=lambda pushing: True, prepare=None):
        self.name = name
        self._pays = pays
        self._prepare = prepare or (lambda: StubPrepared(name, size))

    def is_possible(self, segment):
        return True

    def pays(self, segment, pushing):
        return self._pays(pushing)

    def prepare(self, target):
        return self._prepare()


def choice_of(*strategies, tries=True):
    """A choice between pushing and these strategies."""
    target = IndexedSegment(SimpleNamespace(lazy=[]), None, None)
    return StrategyChoice(target, tries, [StubStrategy("push"), *strategies])
