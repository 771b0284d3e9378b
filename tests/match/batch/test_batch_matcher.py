"""Which strategy matches a batch, by what it costs, and that a forced one is the one used."""

import pytest

from matcher.expected import EACH, STRATEGIES, SWEEP, force, pairs
from matchwood import Matcher
from matchwood.match.batch.batch_matcher import BATCH_STRATEGIES
from matchwood.match.batch.batch_strategy import LearntCost

RULES = {n: f"a > {n} and b != {n % 3} or name like '%{n}%'" for n in range(20)}
LAZY = RULES | {20: "a < b"}
EVENTS = [{"a": n % 25, "b": n % 4, "name": str(n)} for n in range(1000)]


@pytest.fixture(params=[RULES, LAZY], ids=["plain", "lazy"])
def any_matcher(request):
    return Matcher(request.param)


@pytest.fixture
def matcher():
    return Matcher(RULES)


def test_all_strategies_are_forced_in_tests():
    assert {kind.name for kind in BATCH_STRATEGIES} == set(STRATEGIES)


def test_a_forced_strategy_is_the_one_used(matcher, monkeypatch):
    """The suite would be worth less if forcing a strategy did nothing."""
    (part,) = matcher.store.snapshot.parts
    for strategy, other in ((EACH, SWEEP), (SWEEP, EACH)):
        assert force(matcher, strategy)
        with monkeypatch.context() as patched:
            patched.setattr(part.batch.strategies[other], "pairs", None)  # which cannot be called
            matcher.match_batch(EVENTS[:200])


def test_a_strategy_that_a_segment_does_not_allow_is_not_forced(any_matcher, monkeypatch):
    assert force(any_matcher, SWEEP)
    (part,) = any_matcher.store.snapshot.parts
    monkeypatch.setattr(part.batch.strategies[SWEEP], "is_possible", lambda: False)
    assert not force(any_matcher, SWEEP)
    assert any_matcher.match_batch(EVENTS).num_rows


def test_a_strategy_is_not_judged_by_its_first_use_and_is_tried_again():
    """Kernels are loaded then; and a strategy that is never used would never be learnt about."""
    cost = LearntCost("a strategy of its own", 0.5)
    cost.learn(100.0)
    assert cost.seconds == 0.5
    cost.learn(1.5)
    assert cost.seconds == 1.0
    for _ in range(2_000):
        cost.pass_over()
    assert cost.seconds < 0.1


def test_a_batch_changes_its_strategy_once_single_events_turn_out_slow(matcher, monkeypatch):
    force(matcher, SWEEP)
    right = pairs(matcher.match_batch(EVENTS))
    (part,) = matcher.store.snapshot.parts
    part.batch.force(None)
    one_by_one, sweep = part.batch.strategies[EACH], part.batch.strategies[SWEEP]
    seen = []
    monkeypatch.setattr(LearntCost, "learn", lambda cost, _: setattr(cost, "seconds", 1))
    pairs_of = sweep.pairs
    monkeypatch.setattr(sweep, "pairs", lambda *codes: seen.append(1) or pairs_of(*codes))
    one_by_one.cost.seconds, sweep.cost.seconds = 0.0, 0.5
    assert pairs(matcher.match_batch(EVENTS)) == right
    assert seen == [1]
