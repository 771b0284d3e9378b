"""Results of several threads: all of them, errors in the caller, and no thread left behind."""

import threading
import time

import pyarrow as pa
import pytest

from matchwood import Matcher
from matchwood.index.build.threads import available_cores
from matchwood.match.search.batch_threads import in_threads


def threads_now():
    return set(threading.enumerate())


@pytest.fixture
def before():
    return threads_now()


def test_all_results_and_those_of_a_piece_in_order(before):
    found = list(in_threads(range(50), lambda piece: (piece * 100 + i for i in range(piece)), 4))
    assert sorted(found) == [(n, n * 100 + i) for n in range(50) for i in range(n)]
    for number in range(50):
        own = [result for n, result in found if n == number]
        assert own == sorted(own)
    assert threads_now() == before


def test_nothing_to_do(before):
    assert list(in_threads([], list, 3)) == []
    assert threads_now() == before


def test_an_error_of_the_work_is_raised_in_the_caller(before):
    def work(piece):
        yield piece
        if piece == 5:
            raise ValueError("five")

    with pytest.raises(ValueError, match="five"):
        list(in_threads(range(100), work, 2))
    assert threads_now() == before


def test_an_error_of_the_pieces_is_raised_in_the_caller(before):
    def pieces():
        yield [1]
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        list(in_threads(pieces(), list, 2))
    assert threads_now() == before


def test_a_caller_who_stops_leaves_no_thread_behind(before):
    results = in_threads(range(1000), lambda piece: range(1000), 3)
    assert next(results)[1] == 0
    results.close()
    assert threads_now() == before


def test_threads_wait_for_a_slow_caller():
    """Or else all matches of many events would pile up."""
    made = []

    def work(piece):
        for i in range(1000):
            made.append(i)
            yield i

    results = in_threads(range(10), work, 2)
    next(results)
    time.sleep(0.3)
    assert len(made) < 20
    results.close()


def test_pieces_are_taken_in_the_thread_of_the_caller():
    seen = set()

    def pieces():
        for _ in range(20):
            seen.add(threading.get_ident())
            yield [1]

    list(in_threads(pieces(), list, 3))
    assert seen == {threading.get_ident()}


def test_no_number_of_threads_means_all_cores(monkeypatch):
    matcher = Matcher({"adults": "age >= 18"})
    table = pa.table({"age": list(range(100)) * 50})
    right = matcher.match_batch(table)
    started = []
    start = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda self: (started.append(1), start(self)))
    assert matcher.match_batch(table, threads=None).equals(right)
    assert len(started) == (available_cores() if available_cores() > 1 else 0)
