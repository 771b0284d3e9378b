"""Several threads that write at the same time: every change is made, and none is seen half."""

import copy
import pickle
import sys
import threading

import pytest

from matcher.test_threads import run
from matchwood import Matcher
from matchwood.match.store import rule_store
from matchwood.operators import operator


@pytest.fixture
def busy():
    """Switch between threads as often as Python can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.slow
def test_no_rule_is_lost_between_two_writers(busy):
    matcher = Matcher({"x": "a = 1"})

    def writer(name):
        def write(number):
            matcher[f"{name}{number}"] = "a = 1"
            if number % 50 == 49:
                matcher.remove(f"{name}{number - i}" for i in range(40))
            if number % 200 == 199:
                matcher.update({f"{name}+{number}+{i}": "a = 1" for i in range(5)})

        return write

    def whole(rounds, name):
        singles = {f"{name}{n}" for n in range(rounds) if n % 50 < 10 or n > rounds // 50 * 50 - 1}
        bulk = {f"{name}+{n}+{i}" for n in range(199, rounds, 200) for i in range(5)}
        return singles | bulk

    rounds = run(writer("p"), writer("q"), seconds=3)
    expected = {"x"} | whole(rounds[0], "p") | whole(rounds[1], "q")
    assert set(matcher) == expected
    assert len(matcher) == len(expected)
    assert set(matcher.match({"a": 1})) == expected


@pytest.mark.slow
def test_all_that_goes_over_rules_goes_over_those_of_one_moment(busy):
    """Of two rules that are added and removed together, readers see both or neither."""
    matcher = Matcher(dict.fromkeys(range(40), "a = 1"))

    def change(number):
        if number % 2:
            matcher.remove([100, 101])
        else:
            matcher.update({100: "a = 1", 101: "a = 1"})

    def paired(ids):
        found = set(ids)
        assert (100 in found) == (101 in found)
        assert len(found) >= 40

    def go_over(number):
        paired(list(matcher))
        paired(rule_id for rule_id, _ in matcher.items())
        assert len(list(matcher.values())) in (40, 42)
        copied = Matcher()
        copied.update(matcher)
        paired(copied)
        assert matcher.stats().rules in (40, 42)
        assert len(matcher) in (40, 42)
        if number % 5 == 0:
            paired(copy.copy(matcher))
            paired(pickle.loads(pickle.dumps(matcher)))

    run(change, go_over, go_over, seconds=2)


def test_only_one_of_two_threads_takes_a_rule_out(busy):
    matcher = Matcher()
    taken = []

    def take(number):
        matcher.setdefault(number % 3, "a = 1")
        rule = matcher.pop(number % 3, None)
        if rule is not None:
            taken.append(str(rule))
        try:
            matcher.popitem()
        except KeyError:
            pass

    run(take, take, take, seconds=1)
    assert set(taken) == {"a = 1"}


@pytest.mark.parametrize("change", ["add", "update"])
def test_the_first_id_decides_of_what_type_ids_are(monkeypatch, change):
    """Even if two threads add the first rule at the same time."""
    matcher = Matcher()
    usual = rule_store.check_ids
    done = threading.Event()

    def meanwhile(ids, strings):
        usual(ids, strings)
        if not done.is_set():
            done.set()
            matcher["first"] = "a = 1"

    monkeypatch.setattr(rule_store, "check_ids", meanwhile)
    with pytest.raises(TypeError, match="ids of this matcher are strings, found 7"):
        matcher.update({7: "a = 1"}) if change == "update" else matcher.add(7, "a = 1")
    assert list(matcher) == ["first"]


def test_where_rules_are_is_made_once(tmp_path):
    """Two threads that need it at the same time, after a load, get the same one."""
    Matcher(dict.fromkeys(range(100), "a = 1")).save(tmp_path / "rules")
    matcher = Matcher.load(tmp_path / "rules")
    found = []
    with matcher.store.lock:
        thread = threading.Thread(target=lambda: found.append(matcher.store.where))
        thread.start()
        mine = matcher.store.where
        matcher[1000] = "a = 1"
    thread.join()
    assert found[0] is mine
    assert 1000 in found[0]


def test_an_explanation_of_a_rule_that_goes_meanwhile():
    matcher = Matcher({"a": "b = 1"})
    assert str(matcher.explain("b = 2", {"b": 2})).startswith("true")
    assert str(matcher.explain("a", {"b": 2})).startswith("false")


def test_bindings_are_those_of_the_rules_that_matched():
    def near(_, place):
        del matcher["x"]  # while the event is being matched
        return [{"v": 1}]

    matcher = Matcher({"x": "near(a, ?v)"}, operators={"near": operator("near", binds="v")(near)})
    assert matcher.match({"a": 1}, bindings=True) == {"x": [{"v": 1}]}
    assert matcher.match({"a": 1}, bindings=True) == {}
