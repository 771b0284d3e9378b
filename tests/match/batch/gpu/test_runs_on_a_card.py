"""Matches as runs, by a card in the simulator and by the processor, beside pairs and `evaluate`."""

import doctest

import numpy as np
import pyarrow as pa
import pytest

from match.batch.gpu.card_check import SMALL, STATES, differences_of_runs
from match.random_matrix import Matrix
from matcher.expected import expected, pairs
from matchwood import Matcher
from matchwood.kernels.masks import RUN_WORDS
from matchwood.match.batch import match_runs
from matchwood.match.batch.gpu import card
from matchwood.match.batch.match_runs import runs_of_pairs
from matchwood.match.batch.strategies import gpu_strategy

RULES = {n: f"a < {n}" for n in range(0, 420, 7)} | {"never": "a < -1", "x": "b = 1 or c"}
EVENTS = [{"a": n, "b": n % 3, "c": n == 77} for n in range(401)]


@pytest.fixture(autouse=True)
def _in_the_simulator(simulator):
    card._search.problem = None  # what a test before has given up


def test_documented_examples():
    assert doctest.testmod(match_runs).failed == 0


def matcher_of(rules, **options):
    matcher = Matcher({str(rule_id): rule for rule_id, rule in rules.items()}, **options)
    matcher.compact()
    matcher.join()
    return matcher


def read(found):
    """The pairs of all runs; each rule is there once."""
    seen = set()
    for some in found:
        assert len(set(some.rules.tolist())) == len(some.rules)
        of_runs = set()
        for rule_id, rows in some.items():
            assert (np.diff(rows) > 0).all()
            of_runs.update((row, rule_id) for row in rows.tolist())
        assert len(of_runs) == len(some)
        assert some.nbytes == 6 * len(some.rules) + 2 * np.minimum(some.counts, 64).sum()
        assert pairs(pa.Table.from_batches([some.to_arrow()])) == of_runs
        assert seen.isdisjoint(of_runs)
        seen |= of_runs
    return seen


@pytest.mark.parametrize("size", SMALL[:2], ids=str)
@pytest.mark.parametrize("state", ["loaded", "in parts"])
def test_against_evaluate(size, state, tmp_path):
    assert set(STATES) >= {state}
    assert not differences_of_runs(Matrix(0, *size), state, tmp_path)


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_numbers_and_bitmaps(device):
    """Rules of no event, of up to 63, of 64 and more, and of nearly all."""
    right = expected({str(rule_id): rule for rule_id, rule in RULES.items()}, EVENTS)
    matcher = matcher_of(RULES)
    (some,) = matcher.match_runs(EVENTS, device=device)
    assert {7, 63, 70, 399, 401} <= set(some.counts.tolist())
    assert some.events == 401
    assert read([some]) == right
    matcher.remove(["77", "84"])
    left = {pair for pair in right if pair[1] not in ("77", "84")}
    assert read(matcher.match_runs(EVENTS, device=device)) == left


def test_in_slices_with_little_room(monkeypatch):
    from matchwood.match.batch.gpu import card_runs
    from matchwood.match.search import event_slices

    monkeypatch.setattr(event_slices, "EVENTS", 150)
    monkeypatch.setattr(gpu_strategy, "MEMORY_SHARE", 0)
    monkeypatch.setattr(gpu_strategy, "MOST_SLICES", 2)
    monkeypatch.setattr(card_runs, "_FIRST_WORDS", 1)
    matcher = matcher_of(RULES)
    matcher.add("pending", "a = 300")
    right = expected({str(n): rule for n, rule in RULES.items()}, EVENTS) | {(300, "pending")}
    for options in ({"device": "gpu"}, {"device": "cpu", "threads": 2}):  # the simulator has one
        found = list(matcher.match_runs(EVENTS, **options))
        assert {some.first_event for some in found} == {0, 150, 300}
        assert read(found) == right


def test_tags_and_no_events():
    matcher = Matcher()
    for number in range(20):
        matcher.add(f"{number}", f"a >= {number}", tags={"even"} if number % 2 == 0 else {"odd"})
    matcher.compact()
    matcher.join()
    events = [{"a": a} for a in range(12)]
    for tags in (None, {"even"}):
        right = pairs(matcher.match_batch(events, tags=tags))
        assert read(matcher.match_runs(events, tags=tags, device="gpu")) == right
    assert list(matcher.match_runs([], device="gpu")) == []
    assert list(matcher.match_runs([{"a": -1}], device="gpu")) == []


def test_a_card_that_fails(monkeypatch):
    from matchwood.match.batch.gpu import card_runs

    def failing(*_):
        raise RuntimeError("an illegal memory access was encountered")

    monkeypatch.setattr(card_runs.CardRuns, "found", failing)
    monkeypatch.setattr(gpu_strategy, "_said", set())
    with pytest.warns(card.CardWarning, match="illegal memory access"):
        found = read(matcher_of(RULES).match_runs(EVENTS, device="gpu"))
    assert found == expected({str(rule_id): rule for rule_id, rule in RULES.items()}, EVENTS)


def test_random_pairs_are_what_their_runs_say():
    random = np.random.default_rng(0)
    for share in (0.001, 0.05, 0.5, 1.0):
        right = random.random((40, 1024)) < share
        rules, events = (numbers.astype(np.int32) for numbers in np.nonzero(right))
        order = random.permutation(len(rules))
        pieces = np.array_split(order, 3)
        runs = runs_of_pairs([(events[piece], rules[piece]) for piece in pieces])
        for found in (runs.pairs(), runs.pairs()):
            assert found[0].tolist() == events.tolist()
            assert found[1].tolist() == rules.tolist()
        assert len(runs.words) == np.minimum(right.sum(axis=1), RUN_WORDS).sum()
        for rule, of_rule in runs.each():
            assert of_rule.tolist() == np.flatnonzero(right[rule]).tolist()
