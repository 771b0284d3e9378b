"""Slices of matches are joined until they fill a batch; a process keeps few rule sets open."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("pyspark")

from matchwood.spark.events.event_attributes import COLUMNS, Reading
from matchwood.spark.match import open_rules
from matchwood.spark.match.open_rules import JOINED_MATCHES, MOST_OPEN, joined, opened
from matchwood.spark.match.plan import REPLICATED, ROWS, Plan


def slices(*counts):
    """Slices of ten events, given the number of matches in each of their pieces."""
    for number, pieces in enumerate(counts):
        pairs = [(np.arange(n, dtype=np.int32) % 10, np.arange(n, dtype=np.int32)) for n in pieces]
        yield 10 * number, 10, iter(pairs)


def matches(some):
    """All pairs of an event, by its number among all events, and the place of a rule."""
    found = []
    for low, _, pairs in some:
        for numbers, places in pairs:
            found += zip((numbers + low).tolist(), places.tolist(), strict=True)
    return found


FULL = (JOINED_MATCHES,)


@pytest.mark.parametrize(
    ("counts", "joint"),
    [
        ([], []),
        ([()], [(0, 10)]),
        ([(3,), (), (4, 5)], [(0, 30)]),
        ([FULL, (1,)], [(0, 10), (10, 10)]),
        ([(1,), FULL, (), (2,)], [(0, 20), (20, 20)]),
        ([(1, JOINED_MATCHES, 7, 8), (2,), (JOINED_MATCHES, 3)], [(0, 10), (10, 20)]),
    ],
)
def test_slices_are_put_together_until_they_fill_a_batch(counts, joint):
    bounds = []

    def noted():
        for low, events, pairs in joined(slices(*counts)):
            bounds.append((low, events))
            yield low, events, pairs

    assert matches(noted()) == matches(slices(*counts))
    assert bounds == joint


def test_the_rule_set_used_longest_ago_is_closed(monkeypatch):
    calls = []

    def open_segments(names, plan, known):
        assert set(known) <= {"a", "b", "c"} - {names[0]}
        assert len(known) == min(len(set(calls)), MOST_OPEN)
        calls.append(names)
        return SimpleNamespace(segments={names[0]: object()})

    monkeypatch.setattr(open_rules, "open_segments", open_segments)
    monkeypatch.setattr(open_rules, "_opened", {})
    reading = Reading(COLUMNS, (), None, ())

    def ask(name):
        return opened(Plan((name,), "string", reading, ROWS, REPLICATED, False, None, None, None))

    first = ask("a")
    for name in "bab":
        ask(name)
    assert ask("a") is first
    assert calls == [("a",), ("b",)]
    ask("c")  # closes b
    assert len(open_rules._opened) == MOST_OPEN
    assert ask("a") is first
    ask("b")
    assert calls == [("a",), ("b",), ("c",), ("b",)]
