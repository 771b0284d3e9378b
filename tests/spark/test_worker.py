"""Batches are made ahead of Spark's asking, in order, and no further than it takes them."""

import threading
import time

import numpy as np
import pytest

pytest.importorskip("pyspark")

from matchwood.spark.worker import AHEAD, JOINED, ahead, joined


def test_order_and_end():
    assert list(ahead(iter(range(100)))) == list(range(100))
    assert list(ahead(iter([]))) == []


def test_an_error_comes_after_what_was_made_before_it():
    def batches():
        yield 1
        raise KeyError("x")

    taken = ahead(batches())
    assert next(taken) == 1
    with pytest.raises(KeyError, match="x"):
        next(taken)


def test_it_stops_with_who_asks_and_makes_only_a_few():
    made = []

    def batches():
        for number in range(1_000):
            made.append(number)
            yield number

    before = threading.active_count()
    taken = ahead(batches())
    assert next(taken) == 0
    taken.close()
    for _ in range(100):
        if threading.active_count() == before:
            break
        time.sleep(0.05)
    assert threading.active_count() == before
    assert len(made) <= AHEAD + 3


def slices(*counts):
    """Slices of ten events; of each how many matches its pieces have."""
    for number, pieces in enumerate(counts):
        pairs = [(np.arange(n, dtype=np.int32) % 10, np.arange(n, dtype=np.int32)) for n in pieces]
        yield 10 * number, 10, iter(pairs)


def matches(some):
    """All (event, place), the events by their number in all."""
    found = []
    for low, _, pairs in some:
        for numbers, places in pairs:
            found += zip((numbers + low).tolist(), places.tolist(), strict=True)
    return found


FULL = (JOINED,)


@pytest.mark.parametrize(
    ("counts", "joint"),
    [
        ([], []),
        ([()], [(0, 10)]),
        ([(3,), (), (4, 5)], [(0, 30)]),
        ([FULL, (1,)], [(0, 10), (10, 10)]),
        ([(1,), FULL, (), (2,)], [(0, 20), (20, 20)]),
        ([(1, JOINED, 7, 8), (2,), (JOINED, 3)], [(0, 10), (10, 20)]),
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
