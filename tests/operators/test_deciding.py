"""The engine with operators: the answers of `evaluate`, each call at most once per event."""

import pickle
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

from matcher.expected import assert_right, batches, singles
from matchwood import Matcher, RuleError, operator
from matchwood.index.build.segment import build
from matchwood.index.file.array_file import IndexFileError
from matchwood.lab.workloads.overlapping import Overlapping
from matchwood.language import parse
from matchwood.match.store import part_store as store
from matchwood.match.store.merge_process import build_elsewhere
from matchwood.operators import Operator, Operators, deciding
from matchwood.operators.residue import MAX_OPTIONS, residue
from operators.random_calls import FUNCTIONS, event, rule


class Counted:
    """Operators that count the calls made of each event."""

    def __init__(self):
        self.calls = Counter()

    def operators(self):
        return Operators(
            Operator(name, self._counting(name, function)) for name, function in FUNCTIONS.items()
        )

    def _counting(self, name, function):
        def count(event, *arguments):
            self.calls[id(event), name, arguments] += 1
            return function(event, *arguments)

        return count


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_random_rules(seed):
    some = random.Random(seed)
    rules = {number: rule(some) for number in range(60)}
    events = [event(some) for _ in range(30)]
    operators = Counted().operators()
    assert assert_right(Matcher(rules, operators=operators), rules, events, operators)


@pytest.mark.slow
def test_random_rules_that_are_pending_or_come_and_go(tmp_path):
    some = random.Random(99)
    rules = {number: rule(some) for number in range(40)}
    events = [event(some) for _ in range(20)]
    operators = Counted().operators()
    matcher = Matcher({n: rules[n] for n in range(20)}, operators=operators)
    for number in range(20, 35):  # few enough to stay pending
        matcher[number] = rules[number]
    assert_right(matcher, {n: rules[n] for n in range(35)}, events, operators)
    del matcher[3]
    matcher[4] = rules[39]
    left = {n: rules[n] for n in range(35) if n != 3} | {4: rules[39]}
    assert_right(matcher, left, events, operators)
    matcher.compact()
    assert_right(matcher, left, events, operators)
    matcher.save(tmp_path / "rules.mw")
    loaded = Matcher.load(tmp_path / "rules.mw", operators=operators)
    assert_right(loaded, left, events, operators)
    with pytest.raises(RuleError, match="no operator is registered as"):
        Matcher.load(tmp_path / "rules.mw")


def test_tags_and_limits_hold_for_rules_with_calls():
    yes = {"yes": lambda a: True}
    matcher = Matcher(operators=yes)
    for number in range(20):
        matcher.add(number, "yes(a)", tags={"even" if number % 2 == 0 else "odd"}, priority=number)
    for _ in range(2):
        assert sorted(matcher.match({"a": 1}, tags={"odd"})) == list(range(1, 20, 2))
        assert matcher.match({"a": 1}, limit=3) == [19, 18, 17]
        assert matcher.match({"a": 1}, tags={"even"}, limit=2) == [18, 16]
        found = matcher.match_batch([{"a": 1}, {}], tags={"even"}, limit=2).to_pydict()
        assert found == {"event": [0, 0], "rule_id": [18, 16]}
        matcher.compact()


def test_a_call_is_made_at_most_once_an_event_whatever_asks_for_it():
    some = random.Random(5)
    counted = Counted()
    rules = {number: rule(some).replace("?v, ?v", "?v, ?w") for number in range(200)}
    matcher = Matcher({n: rules[n] for n in range(190)}, operators=counted.operators())
    for number in range(190, 200):
        matcher[number] = rules[number]
    kept = []
    for _ in range(20):
        one = event(some) | {"i": 1, "j": 2}
        kept.append(one)
        counted.calls.clear()
        matcher.match(one, bindings=True)
        assert counted.calls
        assert max(counted.calls.values()) == 1
    counted.calls.clear()
    matcher.match_batch(kept)
    assert max(counted.calls.values()) == 1


def test_no_call_is_made_for_what_the_index_decides():
    counted = Counted()
    rules = {1: "a = 1 and fickle(i, 0)", 2: "a = 2 or fickle(i, 0)", 3: "a = 3 and mob(i, ?n)"}
    matcher = Matcher(rules, operators=counted.operators())
    assert matcher.match({"a": 2, "i": 1}) == [2]
    assert not counted.calls
    assert sorted(matcher.match({"a": 1, "i": 1})) == [1, 2]
    assert len(counted.calls) == 1


def test_no_call_is_made_for_tests_of_truth_that_the_index_decides():
    counted = Counted()
    rules = {
        1: "(a = 1 and fickle(i, 0)) is not true",
        2: "a = 3 and (fickle(i, 0) or b > 1) is unknown",
        3: "(mob(i, ?n) and ?n > 9) is not true and a = 3",
        4: "at_least(2, a = 3, fickle(i, 0), b > 1)",
    }
    trees = map(parse, rules.values())
    assert not any(residue(tree).whole for tree in trees)
    operators = counted.operators()
    matcher = Matcher(rules, operators=operators)
    assert matcher.match({"a": 2, "b": 1, "i": 1}) == [1]
    assert not counted.calls
    some = random.Random(3)
    events = [event(some) | {"a": some.choice([1, 3])} for _ in range(40)]
    right = assert_right(matcher, rules, events, operators)
    assert {rule_id for _, rule_id in right} == set(rules)


def test_a_constraint_on_one_call_is_looked_at_before_the_next_is_made():
    made = []

    def count(name, value):
        def answer(image):
            made.append(name)
            return [value]

        return answer

    operators = {"first": count("first", 3), "second": count("second", 9)}
    rule_ = "first(i, ?n) and ?n > 5 and second(i, ?m) and ?m > ?n"
    matcher = Matcher({1: rule_}, operators=operators)
    for _ in range(20):  # soon it is known that `first` is the one that fails
        matcher.match({"i": 1})
    made.clear()
    assert matcher.match({"i": 1}) == []
    assert made == ["first"]


def test_rules_of_more_options_than_are_written_out():
    wide = " and ".join(f"(fickle(i, {n}) or fickle(j, {n}))" for n in range(8))
    odd = " xor ".join(f"fickle(i, {n})" for n in range(9))
    far = "a = 1 and not (mob(i, ?n) and boats(j, ?m) and ?n = ?m)"
    assert MAX_OPTIONS < 2**8
    assert all(residue(parse(text)).whole is not None for text in (wide, odd, far))
    rules = {1: wide, 2: odd, 3: f"not ({wide})", 4: far, 5: f"b > 1 and ({odd})"}
    some = random.Random(8)
    events = [event(some) for _ in range(60)]
    counted = Counted()
    operators = counted.operators()
    matcher = Matcher(rules, operators=operators)
    assert_right(matcher, rules, events, operators)
    counted.calls.clear()
    matcher.match({"a": 2, "i": 1, "j": 1, "b": 0})
    assert not any(name in ("mob", "boats") for _, name, _ in counted.calls)


def test_bindings():
    operators = {"boats": lambda i: [5, 1], "guards": lambda i: [1, 2]}
    rules = {
        "s5": "boats(image, ?y) and guards(image, ?z) and ?y > 2 * ?z",
        "plain": "image = 'x'",
        "either": "guards(image, ?k) and ?k > 1 or boats(image, ?k) and ?k > 9",
        "no": "boats(image, ?y) and ?y > 7",
    }
    right = {
        "s5": [{"y": 5, "z": 1}, {"y": 5, "z": 2}],
        "plain": [],
        "either": [{"k": 2}],
    }
    matcher = Matcher(rules, operators=operators)
    assert matcher.match({"image": "x"}, bindings=True) == right
    pending = Matcher(operators=operators)
    for rule_id, text in rules.items():
        pending[rule_id] = text
    assert pending.match({"image": "x"}, bindings=True) == right
    assert Matcher({1: "a = 1"}).match({"a": 1}, bindings=True) == {1: []}


def test_failures_are_counted_and_reported_with_rule_and_operator(caplog):
    @operator("broken")
    def broken(event, value):
        raise KeyError("no such model")

    @operator("late", timeout=0.01)
    async def late(event, value):
        import asyncio

        await asyncio.sleep(30)

    rules = {
        "first": "broken(a)",
        "second": "broken(a) and b = 1",
        "third": "late(a)",
        "ok": "b = 1",
    }
    matcher = Matcher(rules, operators=[broken, late])
    assert matcher.match({"a": 1, "b": 1}) == ["ok"]
    matcher.match_batch([{"a": 1, "b": 1}, {"a": 2}])
    failures = {one.operator: one for one in matcher.operator_report().failures}
    assert failures["broken"].count == 3
    assert failures["broken"].kind == "exception"
    assert "no such model" in failures["broken"].reason
    assert sorted(failures["broken"].rules) == ["first", "second"]
    assert failures["late"].kind == "timeout"
    assert failures["late"].rules == ["third"]
    figures = {one.operator: one for one in matcher.operator_report().operators}
    assert (figures["broken"].calls, figures["broken"].failed) == (3, 3)
    assert (figures["late"].failed, figures["late"].timed_out) == (0, 3)
    assert "broken(a) in rule" in str(matcher.operator_report())
    assert matcher.operator_report().to_dict()["failures"]
    assert len(caplog.records) == 2  # once per kind of failure, not once per event


def test_operators_with_a_batch_form_are_asked_about_many_events_at_once():
    sizes = []

    @operator("score", batch=True)
    def score(values, least):
        sizes.append(len(values))
        return pa.compute.greater(values, least)

    rules = {n: f"score(a, {n}) and b > {n}" for n in range(5)} | {9: "not score(a, 3)"}
    matcher = Matcher(rules, operators=[score])
    some = random.Random(1)
    events = [{"a": some.randrange(7), "b": some.randrange(7)} for _ in range(200)]
    right = assert_right(matcher, rules, events, Operators.of([score]))
    sizes.clear()
    assert batches(matcher, events, "sweep") == right
    assert len(sizes) <= 10
    table = pa.Table.from_pylist(events)
    found = matcher.match_batch(table)
    assert set(zip(*found.to_pydict().values(), strict=True)) == right


def test_events_that_one_call_decides():
    """One literal each, some negated; calls that fail, and arguments that are missing."""

    def odd(number):
        if number == 13:
            raise ValueError("unlucky")
        return bool(number % 2)

    rules = {
        "odd": "a = 1 and odd(b)",
        "even": "a = 2 and not odd(b)",
        "both": "a = 3 and odd(b) and odd(c)",
        "free": "a = 4 and (b = 2 or odd(b))",
    }
    some = random.Random(5)
    events = [{"a": a, "b": b, "c": some.randrange(9)} for a in range(6) for b in range(15)]
    events += [{"a": a} for a in range(6)]
    operators = {"odd": odd}
    assert assert_right(Matcher(rules, operators=operators), rules, events, operators)


def test_many_open_events_are_decided_in_portions(monkeypatch):
    monkeypatch.setattr(deciding, "MOST_OPEN_CLAUSES", 20)
    some = random.Random(3)
    rules = {number: rule(some) for number in range(30)}
    operators = Counted().operators()
    events = [event(some) for _ in range(40)]
    assert_right(Matcher(rules, operators=operators), rules, events, operators)


def test_bad_rules_are_refused_with_their_place():
    operators = {"mob": lambda i: [1]}
    matcher = Matcher(operators=operators)
    bad = {
        1: "a = 1 and mob(i, ?n) and (?n > 5 or a = 2)",
        2: "mob(i) and nowhere(i)",
        3: "mob(i, ?n) and ?n > 0",
    }
    refused = dict(matcher.update(bad, errors="collect"))
    assert list(matcher) == [3]
    assert refused[1].column == 18
    assert "no operator is registered as 'nowhere'" in str(refused[2])
    with pytest.raises(RuleError, match="directly under 'or'"):
        matcher[5] = bad[1]
    assert len(matcher) == 1


def test_numbers_of_calls_are_given_anew_when_most_are_gone():
    operators = {"same": lambda a, b: a == b}
    matcher = Matcher({0: "same(a, 0)"}, operators=operators)
    for number in range(3_000):
        matcher[1] = f"same(a, {number})"
        if number % 500 == 0:
            assert singles(matcher, [{"a": number}]) == {(0, 1)} | (
                {(0, 0)} if not number else set()
            )
    matcher.compact()
    assert matcher.match({"a": 2_999}) == [1]
    assert len(matcher.store.decider.calls) < 1_100


def test_copies_have_operators():
    matcher = Matcher({1: "mob(i, ?n)"}, operators={"mob": _mob})
    assert pickle.loads(pickle.dumps(matcher)).match({"i": 1}) == [1]


def _mob(image):
    return [image]


def test_rules_with_calls_that_were_merged_elsewhere():
    some = random.Random(12)
    rules = [rule(some) for _ in range(40)] + ["a = 1", "b > 2 and a = 2"]
    here, elsewhere = build(rules, None), build_elsewhere(rules, None)
    assert elsewhere is not None
    assert elsewhere.segment.costly.tolist() == here.segment.costly.tolist()
    assert elsewhere.segment.operators == here.segment.operators
    assert len(here.segment.costly) > 20


def test_merges_while_events_are_matched(monkeypatch):
    """Readers find what the rules of the moment say, whatever is merged meanwhile."""
    monkeypatch.setattr(store, "MAX_PENDING", 2)
    some = random.Random(13)
    operators = Counted().operators()
    rules = {number: rule(some) for number in range(60)}
    matcher = Matcher(operators=operators)
    events = [event(some) for _ in range(10)]
    for number, text in rules.items():
        matcher[number] = text
        matcher.match(events[number % 10])
    matcher.join()
    assert_right(matcher, rules, events, operators)


def test_files_that_name_rules_that_are_not_there_are_refused(tmp_path):
    matcher = Matcher({1: "mob(i, ?n)", 2: "a = 1"}, operators={"mob": _mob})
    [part] = matcher.store.snapshot.parts
    part.segment.costly = np.array([5], np.int32)
    matcher.save(tmp_path / "rules.mw")
    with pytest.raises(IndexFileError, match="names rules with calls that it does not have"):
        Matcher.load(tmp_path / "rules.mw", operators={"mob": _mob})


def test_threads_share_what_is_learned():
    operators = Counted().operators()
    some = random.Random(14)
    rules = {number: rule(some) for number in range(50)}
    events = [event(some) for _ in range(12)]
    matcher = Matcher(rules, operators=operators)
    right = [sorted(matcher.match(one)) for one in events]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: sorted(matcher.match(events[n % 12])), range(120)))
    assert found == [right[n % 12] for n in range(120)]


def test_near_misses_of_rules_with_calls():
    matcher = Matcher(
        {1: "mob(i, ?n) and ?n > 5 and a = 1", 2: "a = 1 and b = 2 and c = 3"},
        operators={"mob": _mob},
    )
    near = {one.id: one.lacked for one in matcher.why_not({"i": 3, "a": 1})}
    assert near[1] == ["mob(i, ?n) and ?n > 5"]
    assert len(near[2]) == 2
    assert matcher.explain(1, {"i": 9, "a": 1}).truth is True


def test_whether_any_rule_calls_an_operator():
    matcher = Matcher({1: "a = 1 and startswith(s, 'x')"}, operators={"mob": _mob})
    assert not matcher.calls_operators
    matcher[2] = "mob(i, ?n)"
    assert matcher.calls_operators
    matcher.compact()
    assert matcher.calls_operators
    del matcher[2]
    matcher.compact()
    assert not matcher.calls_operators


def test_states_are_used_again_event_after_event_and_by_many_threads():
    """Where every event leaves all clauses open, what one worked with is there for the next."""
    workload = Overlapping(rules=60, predicates=20, matched=0.1)
    matcher = Matcher(dict(enumerate(workload.texts())), operators=workload.operators())
    start, predicates = workload.subscriptions

    def right(event):
        true = workload.truth(event)
        bounds = zip(start[:-1].tolist(), start[1:].tolist(), strict=True)
        return {rule for rule, (low, high) in enumerate(bounds) if true[predicates[low:high]].all()}

    def found(event):
        return set(matcher.match({"event": event}))

    events = list(range(200))
    assert [found(event) for event in events[:50]] == [right(event) for event in events[:50]]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(found, events)) == [right(event) for event in events]
    assert any(right(event) for event in events)
    batch = matcher.match_batch([{"event": event} for event in events]).to_pydict()
    pairs = set(zip(batch["event"], batch["rule_id"], strict=True))
    assert pairs == {(event, rule) for event in events for rule in right(event)}
