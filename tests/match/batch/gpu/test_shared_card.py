"""Several processes with one index on a card, which another process has, in the simulator."""

import doctest
import gc
import os
import signal
import threading

import numpy as np
import pytest

from match.batch.gpu.card_check import differences
from match.random_matrix import Matrix
from matcher.expected import expected, pairs
from matchwood import Matcher
from matchwood.match.batch.device_counts import device_counts
from matchwood.match.batch.gpu import array_messages, card, card_access, card_client, card_server
from matchwood.match.batch.strategies import gpu_strategy

RULES = {
    1: "a > 3 and b = 2 or c in (1, 5, 7)",
    2: "not (a between 2 and 5)",
    3: "name like '%ell%'",
    4: "a < b",
    5: "true",
}
EVENTS = [{"a": n % 7, "b": n % 4, "c": n % 9, "name": ("hello", "x")[n % 2]} for n in range(50)]
RIGHT = expected(RULES, EVENTS)


def test_documented_examples():
    assert doctest.testmod(array_messages).failed == 0


@pytest.fixture
def shared(simulator, monkeypatch, tmp_path):
    """The socket at which this process expects the one that has the card."""
    folder = tmp_path / ("folder of an executor " * 5)  # longer than the path of a socket may be
    folder.mkdir()
    path = folder / "gpu"
    monkeypatch.setenv("MATCHWOOD_GPU_INDEX", "shared")
    monkeypatch.setattr(card_client, "_path", lambda: path)
    monkeypatch.setattr(card_access, "_shared_cards", card_access._SharedCards())
    monkeypatch.setattr(card_server, "_LOOK", 0.01)
    monkeypatch.setattr(gpu_strategy, "_said", set())
    card._search.problem = None
    return path


@pytest.fixture
def server(shared):
    """What that process runs, in a thread of this one."""
    made = card_server.CardServer(shared)
    thread = threading.Thread(target=made.serve)
    thread.start()
    yield made
    gc.collect()
    made.fail()
    thread.join(20)
    assert not thread.is_alive(), "a connection is left"
    assert not shared.exists()


def matcher_of(rules=RULES, **options):
    matcher = Matcher(rules, **options)
    matcher.compact()
    matcher.join()
    return matcher


@pytest.mark.parametrize("state", ["loaded", "in parts"])
def test_against_evaluate(state, server, tmp_path):
    wrong = differences(Matrix(0, 90, 80, 30, True), state, tmp_path)
    assert not wrong
    assert card_access.card_of_process().problem is None


def test_one_index_for_all_who_have_the_same_rules(server, tmp_path, monkeypatch):
    copied = []
    received = card_server.received_arrays
    monkeypatch.setattr(
        card_server, "received_arrays", lambda *sent: copied.append(1) or received(*sent)
    )
    matcher_of().save(tmp_path / "rules.mw")
    matchers = [Matcher.load(tmp_path / "rules.mw") for _ in range(3)]
    before = device_counts.now()
    for matcher in matchers:
        assert pairs(matcher.match_batch(EVENTS, device="gpu")) == RIGHT
    assert device_counts.since(before) == {"simulator": 3}
    assert len(copied) == len(server._segments) == 1
    (segment,) = server._segments.values()
    assert len(segment.free) == 1  # they came one after the other
    other = matcher_of({1: "a > 3", 2: "b = 1"})
    other.match_batch(EVENTS, device="gpu")
    assert len(server._segments) == 2
    (part,) = matcher.store.snapshot.parts
    part.batch.gpu.after_fork()  # connections are those of the other process
    assert pairs(matcher.match_batch(EVENTS, device="gpu")) == RIGHT
    assert len(server._segments) == 2
    del matchers, matcher, segment, part
    gc.collect()
    wait_until(lambda: len(server._segments) == 1)


def test_runs(server):
    matcher = matcher_of({str(number): rule for number, rule in RULES.items()})
    found = {
        (row, int(rule_id))
        for some in matcher.match_runs(EVENTS, device="gpu")
        for rule_id, rows in some.items()
        for row in rows.tolist()
    }
    assert found == RIGHT
    assert card_access.card_of_process().problem is None


def wait_until(is_so):
    for _ in range(500):
        if is_so():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it did not happen in five seconds")


def test_tags_limits_and_counts(server):
    matcher = Matcher()
    for number in range(20):
        tags = {"even"} if number % 2 == 0 else {"odd"}
        matcher.add(number, f"a >= {number % 5}", tags=tags, priority=number)
    matcher.compact()
    matcher.join()
    matcher.remove([3, 10])
    few = EVENTS[:9]
    for tags in (None, {"even"}):
        for limit in (None, 2, 30):
            options = {"tags": tags, "limit": limit}
            found = matcher.match_batch(few, device="gpu", **options)
            assert pairs(found) == pairs(matcher.match_batch(few, **options))
        for by in ("rule", "event"):
            found = matcher.count_batch(few, by=by, tags=tags, device="gpu").to_pylist()
            assert found == matcher.count_batch(few, by=by, tags=tags).to_pylist()


@pytest.mark.parametrize("most", [0, 2])
def test_what_is_remembered_is_forgotten_on_both_sides(most, server, monkeypatch):
    monkeypatch.setattr(card_client, "_MOST_KEPT", most)
    matcher = Matcher()
    for number in range(8):
        matcher.add(number, f"a >= {number % 5}", tags={str(number % 4)}, priority=-number)
    matcher.compact()
    matcher.join()
    for tag, limit in zip("0122301", (None, None, None, 1, None, 1, None), strict=True):
        options = {"tags": {tag}, "limit": limit}
        found = matcher.match_batch(EVENTS[:2], device="gpu", **options)
        assert pairs(found) == pairs(matcher.match_batch(EVENTS[:2], **options))
    assert card_access.card_of_process().problem is None


@pytest.mark.parametrize("pieces", [0, 2])
def test_a_card_that_fails_in_the_middle(pieces, server, shared, monkeypatch):
    from matchwood.match.batch.gpu import card_buffers, card_sweep

    monkeypatch.setattr(card_buffers, "PIECE_PAIRS", 16)
    given = card_sweep.CardWorker.pairs

    def failing(self, *arguments):
        for number, piece in enumerate(given(self, *arguments)):
            if number == pieces:
                raise RuntimeError("an illegal memory access was encountered\nmore")
            yield piece

    monkeypatch.setattr(card_sweep.CardWorker, "pairs", failing)
    matcher = matcher_of()
    with pytest.warns(card.CardWarning, match="the GPU failed: an illegal memory access"):
        found = matcher.match_batch(EVENTS, device="gpu")
    assert found.num_rows == len(RIGHT)
    assert pairs(found) == RIGHT
    wait_until(lambda: not shared.exists())  # nobody else gets a card that is broken
    assert pairs(matcher.match_batch(EVENTS, device="gpu")) == RIGHT


def test_a_process_that_ends_in_the_middle(server, monkeypatch):
    matcher = matcher_of()
    matcher.match_batch(EVENTS, device="gpu")
    monkeypatch.setattr(
        card_server._Client, "_matched", lambda self, *_: self._connection.close() or iter(())
    )
    with pytest.warns(card.CardWarning, match="the process that has the GPU has ended"):
        assert pairs(matcher.match_batch(EVENTS, device="gpu")) == RIGHT


@pytest.mark.parametrize("by", ["match", "rule", "event"])
def test_rules_are_sliced_when_memory_runs_out(by, server, monkeypatch):
    from matchwood.match.batch.gpu import card_sweep

    asked = []
    compute = card_sweep.CardWorker.compute

    def computed(self, *arguments):
        asked.append(self.segment.slices)
        in_slice = 1 if by == "match" else asked[-1]  # what was given is not given again
        if asked[-1] < 4 and asked.count(asked[-1]) == in_slice:
            raise RuntimeError("[2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY")
        return compute(self, *arguments)

    monkeypatch.setattr(card_sweep.CardWorker, "compute", computed)
    matcher = matcher_of()
    before = device_counts.now()
    if by == "match":
        assert pairs(matcher.match_batch(EVENTS, device="gpu")) == RIGHT
        assert device_counts.since(before) == {"simulator, in 4 slices": 1}
    else:
        found = matcher.count_batch(EVENTS, by=by, device="gpu").to_pylist()
        assert found == matcher.count_batch(EVENTS, by=by).to_pylist()
    assert asked == [1, 2, *([] if by == "match" else [2]), 4, 4, 4, 4]


def test_matches_are_not_left_on_the_card_of_another_process(server):
    with pytest.raises(card.CardError, match="another process has the GPU"):
        list(matcher_of().match_on_card(EVENTS))


def test_why_there_is_no_card(server, monkeypatch):
    monkeypatch.setattr(card_server, "card_problem", lambda: "no GPU is used because of this")
    matcher = matcher_of()
    with pytest.warns(card.CardWarning, match="because of this; the processor matches instead"):
        assert pairs(matcher.match_batch(EVENTS, device="gpu")) == RIGHT
    assert pairs(matcher.match_batch(EVENTS, device="auto")) == RIGHT


@pytest.mark.slow
def test_a_process_is_started_and_found_again_until_it_hangs(shared, monkeypatch):
    shared.write_text("left by one that was killed")
    with monkeypatch.context() as of_that_process:
        of_that_process.setenv("NUMBA_ENABLE_CUDASIM", "1")
        first = card_client.CardConnection()
    process = first.greeting["process"]
    try:
        assert process != os.getpid()
        matcher = matcher_of()
        assert pairs(matcher.match_batch(EVENTS, device="gpu")) == RIGHT
        assert card_client.CardConnection().greeting["process"] == process
        os.kill(process, signal.SIGSTOP)
        monkeypatch.setattr(card_client, "_ANSWER", 0.2)
        monkeypatch.setattr(card_client, "_START", 0.3)
        with pytest.warns(card.CardWarning, match=r"did not answer for 0\.2 seconds; the proc"):
            assert pairs(matcher.match_batch(EVENTS, device="gpu")) == RIGHT
        silent = "no GPU is used because the process that has it was silent for 0.3 s"
        assert card_client.SharedCard().problem == silent
        with pytest.raises(card.CardError, match=silent):
            card_client.CardConnection()
        assert shared.exists()  # a second one would wait for the same card
    finally:
        os.kill(process, signal.SIGKILL)
    with pytest.raises(card.CardError, match="the process that has the GPU has ended"):
        first.receive()


def test_a_process_uses_the_card_by_itself_if_none_can_be_shared(shared, monkeypatch, caplog):
    def refused():
        raise OSError("others than user 7 can enter this folder")

    monkeypatch.setattr(card_client, "_path", refused)
    assert pairs(matcher_of().match_batch(EVENTS, device="gpu")) == RIGHT
    assert "by itself: others than user 7 can enter this folder" in caplog.text
    monkeypatch.setenv("MATCHWOOD_GPU_INDEX", "mine")
    with pytest.raises(ValueError, match="MATCHWOOD_GPU_INDEX is 'mine', expected one of own"):
        matcher_of().match_batch(EVENTS, device="gpu")


def test_the_folder_is_for_one_user_alone(monkeypatch, tmp_path):
    monkeypatch.setattr(card_client.tempfile, "gettempdir", lambda: str(tmp_path))
    path = card_client._path()
    assert path.parent.stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    assert card_client._path() != path
    path.parent.chmod(0o755)
    with pytest.raises(OSError, match="can enter"):
        card_client._path()


def test_a_server_ends_when_nobody_is_connected(shared):
    server = card_server.CardServer(shared)
    thread = threading.Thread(target=server.serve, args=(0.2,))
    thread.start()
    connection = card_client.CardConnection()
    thread.join(0.6)
    assert thread.is_alive()
    del connection
    thread.join(20)
    assert not thread.is_alive()
    assert not shared.exists()


def test_arrays_of_any_size_and_type(shared):
    import socket

    one, other = socket.socketpair()
    with one, other:
        given = [np.arange(size, dtype=kind) for size in (0, 1, 3000) for kind in "bfid"]
        array_messages.send(one, None, [*given, np.arange(10)[::2]])
        said, found = array_messages.receive(other)
        assert said is None
        for array, right in zip(found, [*given, np.arange(0, 10, 2)], strict=True):
            assert array.dtype == right.dtype
            assert array.tolist() == right.tolist()
