"""A process that forks while threads write, merge and match: the child works as if alone."""

import asyncio
import gc
import os
import signal
import threading
import time
from contextlib import contextmanager

import pytest
from numba.core.compiler_lock import global_compiler_lock

from match.event.stub_strategies import StubStrategy, choice_of
from matcher.expected import assert_right
from matchwood import Matcher
from matchwood.index.build.gc_pause import collection_paused
from matchwood.language import strings
from matchwood.match.event.strategy_choice import MEASURED_EVERY, NEVER_MEASURED
from matchwood.match.patterns import expressions as patterns_expressions
from matchwood.match.store import part_store as store
from matchwood.operators import operator
from matchwood.operators.learning import Calls
from matchwood.warm import warm_up

SECONDS = 30  # a child that takes longer has failed
EVENTS = [{"a": value, "name": f"x{value} of {value}"} for value in range(4)] + [{}]


@pytest.fixture(autouse=True, scope="module")
def kernels():
    """No child waits for the compiler, which may take longer than a child may."""
    warm_up()


def in_child(work):
    """Run something in a forked process; an error there is raised here."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(SECONDS)  # one that hangs is ended
        try:
            work()
            os._exit(0)
        except BaseException as error:
            os.write(writing, f"{type(error).__name__}: {error}".encode()[:4000])
            os._exit(1)
    os.close(writing)
    said = os.read(reading, 4096).decode()
    os.close(reading)
    _, status = os.waitpid(child, 0)
    assert status == 0, said or "the child hangs"


@contextmanager
def beside(*works):
    """Run each function again and again, in a thread of its own."""
    ended = threading.Event()
    errors = []

    def again(work):
        number = 0
        try:
            while not ended.is_set():
                work(number)
                number += 1
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=again, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert not errors, errors


def rule(number):
    return f"a = {number % 4} and (name rlike 'x{number % 4}.*of' or name like '%{number}%')"


def life_of_a_child(matcher, path):
    """Do everything a child may do; it has the rules of the moment of the fork, and its own."""
    known = {rule_id: str(tree) for rule_id, tree in matcher.items()}
    assert set(matcher) == set(known)
    assert_right(matcher, known, EVENTS)
    for number in range(30):
        matcher[1_000_000 + number] = known[1_000_000 + number] = rule(number)
    some = {2_000_000 + number: rule(number) for number in range(20)}
    matcher.update(some)
    known |= some
    gone = sorted(known)[:3]
    assert matcher.remove(gone) == 3
    for rule_id in gone:
        del known[rule_id]
    matcher.join()
    assert_right(matcher, known, EVENTS)
    matcher.save(path)
    assert_right(Matcher.load(path), known, EVENTS)
    assert gc.isenabled()


@pytest.mark.slow
def test_forks_while_rules_are_added_and_merged(tmp_path):
    matcher = Matcher({number: rule(number) for number in range(100)})

    def one_by_one(number):
        matcher[200 + number % 100] = rule(number)

    def in_bulk(number):
        matcher.update({600 + (50 * number + i) % 200: rule(i) for i in range(50)})
        matcher.remove(range(600, 650))

    def match(number):
        matcher.match(EVENTS[number % len(EVENTS)])
        matcher.match_batch(EVENTS)

    with beside(one_by_one, in_bulk, match):
        for number in range(8):
            time.sleep(0.01 * (number % 4))
            in_child(lambda: life_of_a_child(matcher, tmp_path / "child"))
    matcher.join()
    assert_right(matcher, {i: str(tree) for i, tree in matcher.items()}, EVENTS)


@pytest.mark.parametrize("moment", ["merging", "adding"])
def test_a_fork_in_the_middle_of_a_change(tmp_path, monkeypatch, moment):
    """The child finds a lock held, and what it guards half changed."""
    matcher = Matcher({number: rule(number) for number in range(50)})
    inside, forked = threading.Event(), threading.Event()
    name = "_locate" if moment == "adding" else "build"
    usual = getattr(store, name)

    def slow(*arguments):
        result = usual(*arguments)
        if threading.current_thread() is not threading.main_thread() and not inside.is_set():
            inside.set()
            assert forked.wait(SECONDS)
        return result

    monkeypatch.setattr(store, name, slow)

    def change():
        if moment == "adding":
            matcher.update({number: rule(number) for number in range(40, 90)})
        else:
            for number in range(100, 100 + store.MAX_PENDING + 1):
                matcher[number] = rule(number)

    thread = threading.Thread(target=change)
    thread.start()
    assert inside.wait(SECONDS)
    assert (moment == "adding") == (not matcher.store.lock.acquire(blocking=False))
    if moment == "merging":
        matcher.store.lock.release()
    try:
        in_child(lambda: life_of_a_child(matcher, tmp_path / "child"))
    finally:
        forked.set()
        thread.join()
    matcher.join()


def test_what_another_thread_was_making_is_made_in_the_child():
    matcher = Matcher({number: rule(number) for number in range(50)})
    ready = matcher.store.snapshot.parts[0]._matchers
    patterns = ready.matcher.patterns["name"]
    patterns.hits("x1 of 1")
    ready._lock.acquire()
    ready._matcher = None
    patterns._lock.acquire()
    forked = threading.Event()

    def fork():
        in_child(lambda: assert_right(matcher, {n: rule(n) for n in range(50)}, EVENTS))
        forked.set()

    thread = threading.Thread(target=fork)
    thread.start()
    assert forked.wait(SECONDS)
    thread.join()


def test_a_strategy_that_was_being_prepared_is_tried_again_in_the_child():
    begun, ended = threading.Event(), threading.Event()

    def prepare():
        begun.set()
        assert ended.wait(SECONDS)

    choice = choice_of(StubStrategy("slow", prepare=prepare))
    for _ in range(9):  # the first one loads kernels
        choice.learn_push(10_000, 1e-3)
    assert begun.wait(SECONDS)
    assert choice.every == NEVER_MEASURED

    def work():
        assert choice.settled() is False
        assert choice.every == MEASURED_EVERY
        begun.clear()
        ended.set()
        for _ in range(8):
            choice.learn_push(10_000, 1e-3)
        assert begun.wait(SECONDS)

    in_child(work)
    ended.set()
    assert choice.settled()


def test_expressions_that_are_being_searched_with_are_compiled_anew():
    one = patterns_expressions.Expression("a+")
    some = patterns_expressions.ExpressionSet(["a|b", "c|d", "needed+"])
    assert one.finds("aa")
    compiled, together = one._compiled, some._sets[0]._together
    filtered = some._filters[0]._filter
    assert strings.regular_expression("a+") is compiled
    strings._asked += [compiled, together, filtered]

    def work():
        assert one.finds("aa")
        assert one._compiled is not compiled
        assert strings.rlike("aa", "a+")
        assert strings.regular_expression("a+") is one._compiled
        assert some.found("needed, xd") == [1, 2]
        assert some._sets[0]._together is not together
        assert some._filters[0]._filter is not filtered

    try:
        in_child(work)
    finally:
        strings._asked.clear()
    assert one._compiled is compiled


@operator("near_enough", timeout=5)
def near_enough(_, value):
    return value > 1


@operator("far_enough")
async def far_enough(_, value):
    await asyncio.sleep(0)
    return value > 2


def test_operators_with_threads_and_loops_answer_in_the_child():
    operators = {"near_enough": near_enough, "far_enough": far_enough}
    matcher = Matcher(
        {"near": "near_enough(a)", "far": "far_enough(a) and b = 1"}, operators=operators
    )
    event = {"a": 3, "b": 1}
    assert sorted(matcher.match(event)) == ["far", "near"]

    def work():
        begun = time.monotonic()
        for _ in range(3):
            assert sorted(matcher.match(event)) == ["far", "near"]
        assert matcher.operator_report().failures == []
        assert time.monotonic() - begun < 4

    in_child(work)
    assert sorted(matcher.match(event)) == ["far", "near"]  # here all goes on
    calls = matcher.store.decider.calls
    calls._lock.acquire()
    matcher.store.decider.report._lock.acquire()
    thread = threading.Thread(target=in_child, args=(work,))
    thread.start()
    thread.join()
    calls._lock.release()
    matcher.store.decider.report._lock.release()
    assert isinstance(calls, Calls)


def test_a_fork_waits_for_the_compiler():
    inside = threading.Event()
    ended = []

    def compile_something():
        with global_compiler_lock:
            inside.set()
            time.sleep(0.3)
            ended.append(True)

    thread = threading.Thread(target=compile_something)
    thread.start()
    assert inside.wait(SECONDS)

    def work():
        assert ended
        with global_compiler_lock:
            pass

    in_child(work)
    thread.join()
    with global_compiler_lock:  # it is free here, too
        pass


def test_garbage_is_collected_in_the_child():
    inside, ended = threading.Event(), threading.Event()

    def build():
        with collection_paused():
            inside.set()
            ended.wait(SECONDS)

    thread = threading.Thread(target=build)
    thread.start()
    assert inside.wait(SECONDS)
    assert not gc.isenabled()

    def work():
        assert gc.isenabled()

    in_child(work)
    ended.set()
    thread.join()
    assert gc.isenabled()
