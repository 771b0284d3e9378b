"""Merges in the background, and those in a process of their own."""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from matcher.expected import assert_right
from matchwood import Matcher
from matchwood.index.build.segment import build
from matchwood.match.store import merge_process as merging
from matchwood.match.store import part_store as store

EVENTS = [{"a": value, "name": f"x{value}"} for value in range(5)] + [{}, {"a": [1, 3]}]
TEXTS = [
    *(f"a = {n % 5} and b != {n}" for n in range(40)),
    "name like '%x1%' or a < b",
    "t > date '2026-01-01' xor é = 'ü'",
    "true",
]


@pytest.mark.slow
def test_a_segment_that_was_built_elsewhere_is_the_same():
    here, there = build(TEXTS), merging.build_elsewhere(TEXTS, Matcher.profile(EVENTS))
    assert there is not None
    assert there.segment.slots == build(TEXTS, Matcher.profile(EVENTS)).segment.slots
    there = merging.build_elsewhere(TEXTS, None)
    assert there is not None
    assert there.order.tolist() == here.order.tolist()
    for name, array in here.segment.tree._asdict().items():
        assert array.tolist() == getattr(there.segment.tree, name).tolist()
    assert there.segment.opaque == here.segment.opaque


@pytest.mark.slow
def test_rules_that_are_no_text_or_refused_are_built_here():
    assert merging.build_elsewhere(["a = 1", {"attr": "a"}], None) is None
    assert merging.build_elsewhere(["a = 1", "a ="], None) is None


def life(matcher, known, blocks=6):
    """Updates of every kind, while merges are running."""
    for block in range(1, blocks):
        more = {block * 1000 + n: f"a = {n % 4} and a != {block}" for n in range(60)}
        matcher.update(more)
        known |= more
        for rule_id in [*list(more)[:20], *range(block * 10, block * 10 + 5)]:
            del matcher[rule_id]
            del known[rule_id]
        for n in range(25):
            matcher[block * 1000 + 500 + n] = known[block * 1000 + 500 + n] = f"a > {n % 4}"
        matcher.add(block, "a > 1", tags={"t"}, priority=block)
        known[block] = "a > 1"


def start():
    known = {number: f"a = {number % 5}" for number in range(100)}
    return Matcher(known), known


def check(matcher, known):
    matcher.join()
    assert_right(matcher, known, EVENTS)
    tagged = [rule_id for rule_id in range(1, 6) if rule_id in known]
    assert sorted(matcher.match({"a": 3}, tags={"t"})) == tagged
    assert matcher.match({"a": 3}, tags={"t"}, limit=2) == tagged[::-1][:2]


def test_updates_while_merges_are_elsewhere(monkeypatch):
    monkeypatch.setattr(store, "OWN_PROCESS_RULES", 150)
    matcher, known = start()
    life(matcher, known)
    check(matcher, known)


def test_a_process_that_cannot_be_started_loses_nothing(monkeypatch):
    monkeypatch.setattr(store, "OWN_PROCESS_RULES", 20)
    for executable in ("/bin/false", "/nowhere/python", ""):
        monkeypatch.setattr(sys, "executable", executable)
        matcher, known = start()
        life(matcher, known)
        check(matcher, known)


@pytest.mark.slow
def test_a_process_that_is_killed_loses_nothing(monkeypatch):
    monkeypatch.setattr(store, "OWN_PROCESS_RULES", 20)
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def killed(*arguments, **options):
        started.append(popen(*arguments, **options))
        threading.Timer(0.05, started[-1].send_signal, (signal.SIGKILL,)).start()
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", killed)
    matcher, known = start()
    life(matcher, known)
    check(matcher, known)
    assert started
    assert all(process.returncode == -signal.SIGKILL for process in started)


def test_the_process_ends_with_the_one_that_started_it(tmp_path):
    folder = tmp_path / "merge"
    folder.mkdir()
    merging._hand_over(folder, [f"a = {n} or b = {n + 1}" for n in range(100_000)], None)
    process = subprocess.Popen(
        [sys.executable, "-m", "matchwood.match.store.merge_process", str(folder)],
        env=os.environ | {"PYTHONPATH": str(Path(merging.__file__).parents[3])},
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(60) == 1
    assert not folder.exists()


@pytest.mark.parametrize("error", [MemoryError("all of it"), RuntimeError("?"), SystemExit(3)])
def test_a_merge_that_fails_keeps_all_rules_and_is_tried_again(monkeypatch, caplog, error):
    usual = store.build
    failing = True

    def build(rules, statistics, threads=None):
        if failing and threading.current_thread() is not threading.main_thread():
            raise error
        return usual(rules, statistics)

    monkeypatch.setattr(store, "build", build)
    matcher, known = start()
    with caplog.at_level(logging.WARNING):
        life(matcher, known)
        matcher.join()
    assert "merging rules failed and is tried again in 1 s" in caplog.text
    assert str(error) in caplog.text
    assert_right(matcher, known, EVENTS)
    assert len(matcher.store.snapshot.parts) > store.MAX_PARTS
    failing = False
    matcher.store._resume = 0.0
    matcher[5000] = known[5000] = "a > 1"
    check(matcher, known)
    assert len(matcher.store.snapshot.parts) <= store.MAX_PARTS
    assert matcher.store._failures == 0


def test_pauses_between_merges_that_fail_grow():
    matcher = Matcher()
    for pause in (1, 2, 4, 8, 16, 32, 60, 60):
        before = time.monotonic()
        matcher.store._put_off(MemoryError())
        assert before + pause <= matcher.store._resume < before + pause + 1


def test_writers_go_on_where_not_even_they_can_build(monkeypatch):
    """Rules stay pending, and are evaluated one by one."""

    def build(rules, statistics, threads=None):
        raise MemoryError

    matcher, known = start()
    usual = store.build
    monkeypatch.setattr(store, "build", build)
    for number in range(1000, 1200):
        matcher[number] = known[number] = "a = 1"
    matcher.join()
    assert_right(matcher, known, EVENTS)
    assert len(matcher.store.snapshot.pending) == 200
    monkeypatch.setattr(store, "build", usual)
    for number in range(1200, 1500):
        matcher[number] = known[number] = "a = 1"
    assert len(matcher.store.snapshot.pending) <= store.MOST_PENDING
    assert matcher.store._most_pending == store.MOST_PENDING
    matcher.join()
    assert_right(matcher, known, EVENTS)


def test_writers_do_not_make_parts_while_the_background_keeps_up(monkeypatch):
    """Pending rules are built in the background; if that is far behind, a writer builds them."""
    matcher = Matcher()
    for number in range(40):
        matcher[number] = f"a = {number}"
        time.sleep(0.001)
    matcher.join()
    assert len(matcher.store.snapshot.pending) <= store.MAX_PENDING
    monkeypatch.setattr(
        matcher.store, "_keep_up", lambda: None
    )  # the background thread does nothing
    for number in range(200):
        matcher[number] = f"a = {number}"
        assert len(matcher.store.snapshot.pending) <= store.MOST_PENDING
    assert sorted(matcher.match({"a": 7})) == [7]


@pytest.mark.parametrize("change", ["delete", "replace", "clear"])
def test_what_goes_while_pending_rules_become_a_part(monkeypatch, change):
    matcher = Matcher()
    known = {number: f"a = {number % 5}" for number in range(10)}
    matcher.update(known)
    pending_build = store.build

    def meanwhile(rules, statistics):
        built = pending_build(rules, statistics)
        if threading.current_thread() is not threading.main_thread() and 20 in known:
            if change == "delete":
                del matcher[20], known[20]
            elif change == "replace":
                matcher[20] = "a = 4"
                known[20] = "a = 4"
            else:
                matcher.clear()
                known.clear()
        return built

    monkeypatch.setattr(store, "build", meanwhile)
    for number in range(20, 20 + store.MAX_PENDING + 1):
        known[number] = f"a = {number % 5}"
        with matcher.store.lock:
            matcher[number] = known[number]
    matcher.join()
    assert_right(matcher, known, EVENTS)
    assert set(matcher) == set(known)
