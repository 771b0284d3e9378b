"""Batches are made ahead of time and in order, but only a few more than Spark has taken."""

import threading
import time

import pytest

pytest.importorskip("pyspark")

from matchwood.spark.match.tasks import BATCHES_AHEAD, ahead


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
    assert len(made) <= BATCHES_AHEAD + 3
