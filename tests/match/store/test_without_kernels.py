"""Few rules while kernels are being compiled: evaluated one by one, with the same answers."""

import operator
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from kernels.without_kernels import CompilingElsewhere, without_kernels  # noqa: F401
from matchwood import Matcher, RuleError, Schema, parse
from matchwood.kernels import readiness
from matchwood.kernels.masks import EVENTS
from matchwood.lab.workloads.abe_gen import AbeGen
from matchwood.language import evaluate
from matchwood.match.search.json_search import RejectedText
from matchwood.match.store.index_stats import Stats

FRIENDS = {"ann": ["bob", "eve"], "bob": ["ann"]}


def knows(user: str, friend: str | None = None) -> object:
    friends = FRIENDS.get(user, [])
    return friends if friend is None else friend in friends


OPERATORS = {"knows": knows, "big": lambda value: value > 10}
CALLING = {
    "friend": "knows(user, ?f) and age > 20",
    "either": "big(age) or knows(user, 'eve')",
    "both": "big(age) and not knows(user, 'bob')",
    "join": "knows(user, ?f) and knows(?f, user)",
    "plain": "age = 5",
}


@pytest.fixture
def workload() -> AbeGen:
    return AbeGen(rules=80, seed=3)


def is_evaluated(matcher: Matcher) -> bool:
    snapshot = matcher.store.snapshot
    return not snapshot.parts and len(snapshot.pending) == len(matcher)


def test_answers_are_those_of_evaluate(
    without_kernels: CompilingElsewhere,  # noqa: F811
    workload: AbeGen,
) -> None:
    rules = dict(enumerate(workload.texts()))
    trees = {rule_id: parse(text) for rule_id, text in rules.items()}
    events = list(workload.events(20))
    matcher = Matcher(rules)
    right = [[i for i, tree in trees.items() if evaluate(tree, event) is True] for event in events]
    assert sum(map(len, right)) > 30
    assert [sorted(matcher.match(event)) for event in events] == right
    names = {name for event in events for name in event}
    columns = {name: [event.get(name) for event in events] for name in names}
    for given in (events, iter(events), pa.table(columns)):
        table = matcher.match_batch(given).to_pylist()
        found = sorted((row["event"], row["rule_id"]) for row in table)
        assert found == [(n, i) for n, ids in enumerate(right) for i in ids]
    assert matcher.count(events[0]) == len(right[0])
    assert matcher.why_not(events[0])
    assert is_evaluated(matcher)


def test_operators_are_asked_once_per_event(
    without_kernels: CompilingElsewhere,  # noqa: F811
) -> None:
    asked: list[object] = []

    def big(value: int) -> bool:
        asked.append(value)
        return value > 10

    operators = {**OPERATORS, "big": big}
    events = [{"user": user, "age": age} for user in ("ann", "bob", "eve") for age in (5, 30)]
    matcher = Matcher(CALLING, operators=operators)
    for event in events:
        right = [
            i for i, text in CALLING.items() if evaluate(parse(text), event, operators=OPERATORS)
        ]
        asked.clear()
        assert sorted(matcher.match(event)) == sorted(right)
        assert len(asked) == 1  # by two rules
        bound = matcher.match(event, bindings=True)
        assert sorted(bound) == sorted(right)
    many = matcher.match_batch(events).to_pylist()
    right_pairs = {(n, i) for n, event in enumerate(events) for i in matcher.match(event)}
    assert {(row["event"], row["rule_id"]) for row in many} == right_pairs
    assert is_evaluated(matcher)


def test_tags_priorities_and_changes(
    without_kernels: CompilingElsewhere,  # noqa: F811
) -> None:
    matcher = Matcher({n: f"a > {n}" for n in range(100)})
    matcher.add(100, "a > 0", tags={"eu"}, priority=5)
    matcher.add(3, "a < 0")
    del matcher[4]
    assert sorted(matcher.match({"a": 6})) == [0, 1, 2, 5, 100]
    assert matcher.match({"a": 6}, limit=1) == [100]
    assert matcher.match({"a": 6}, tags={"eu"}) == [100]
    matcher.update({0: "a = 6", 1: "false"})
    assert sorted(matcher.match({"a": 6})) == [0, 2, 5, 100]
    assert str(matcher[0]) == "a = 6"
    assert len(matcher) == 100
    assert is_evaluated(matcher)


BAD = {
    "good": "a = 1",
    "syntax": "a = ",
    "unknown": "nothing(a)",
    "long": "a = 1 and (b in (1, 2",
    "isa": "isa(category, 'furniture')",
    "fine": "b like '%x%'",
}


def refusals(**options: object) -> tuple[dict[str, str], str, list[str]]:
    matcher = Matcher(**options)  # type: ignore[arg-type]
    refused = matcher.update(BAD, errors="collect")
    with pytest.raises(RuleError) as raised:
        Matcher(**options).update(BAD)  # type: ignore[arg-type]
    return {str(i): str(error) for i, error in refused}, str(raised.value), sorted(matcher)


def test_bad_rules_are_refused_as_when_they_are_built(
    without_kernels: CompilingElsewhere,  # noqa: F811
) -> None:
    schema = Schema.from_dict({"attributes": {"a": "number", "b": "string"}})
    several = ({}, {"schema": schema}, {"schema": schema, "enforce": True})
    pending = [refusals(**options) for options in several]
    without_kernels.end()
    time.sleep(2 * readiness._LOOK)
    assert [refusals(**options) for options in several] == pending


def test_kernels_take_over(
    without_kernels: CompilingElsewhere,  # noqa: F811
    workload: AbeGen,
) -> None:
    matcher = Matcher(enumerate(workload.texts()))
    events = list(workload.events(20))
    before = [sorted(matcher.match(event)) for event in events]
    assert is_evaluated(matcher)
    without_kernels.end()
    time.sleep(2 * readiness._LOOK)
    matcher.match(events[0])
    matcher.join()
    assert not matcher.store.snapshot.pending
    assert [sorted(matcher.match(event)) for event in events] == before


@pytest.mark.parametrize("given", [list, iter, pa.Table.from_pylist])
def test_kernels_take_over_between_two_slices_of_events(
    without_kernels: CompilingElsewhere,  # noqa: F811
    given: Callable[[list[Any]], Any],
) -> None:
    matcher = Matcher(operators=OPERATORS)
    for n in range(9, -1, -1):
        rule = f"a > {n} or knows(user, 'eve') and a = {n}"
        matcher.add(n, rule, priority=n, tags={"even"} if n % 2 == 0 else ())
    events = [{"a": n % 11, "user": "ann"} for n in range(3 * EVENTS)]
    chosen: list[dict[str, Any]] = [{}, {"limit": 2}, {"tags": {"even"}}]
    before = [sorted(pairs_of(matcher.match_batch(events, **options))) for options in chosen]
    counted = matcher.count_batch(events).sort_by("rule_id")
    started = [matcher.match_batches(given(events), **options) for options in chosen]
    first = [pairs_of(next(batches)) for batches in started]
    assert is_evaluated(matcher)
    without_kernels.end()
    time.sleep(2 * readiness._LOOK)
    rest = [[pair for batch in batches for pair in pairs_of(batch)] for batches in started]
    assert matcher.store._for_batches is not None  # built in the middle
    assert [sorted(pairs) for pairs in map(operator.add, first, rest)] == before
    assert matcher.count_batch(events).sort_by("rule_id") == counted


def pairs_of(matches: Any) -> list[tuple[int, int]]:
    return [(row["event"], row["rule_id"]) for row in matches.to_pylist()]


def test_figures_of_the_index_are_of_rules_that_are_built_for_them(
    without_kernels: CompilingElsewhere,  # noqa: F811
) -> None:
    matcher = Matcher({n: f"a > {n}" for n in range(20)})
    found: list[Stats] = []
    asked = threading.Thread(target=lambda: found.append(matcher.stats()))
    asked.start()
    asked.join(3 * readiness._LOOK)  # it waits, unless this process has loaded kernels before
    without_kernels.end()
    asked.join()
    assert (found[0].predicates, found[0].pending) == (20, 0)
    assert not matcher.store.snapshot.pending


def test_json_text_is_matched(
    without_kernels: CompilingElsewhere,  # noqa: F811
) -> None:
    matcher = Matcher({number: f"a >= {number}" for number in range(50)})
    rejects: list[RejectedText] = []
    lines = b'\n{"a": 3}\r\n \t\n{"a": 7}\n{bad\n{"a": 1}'
    table = matcher.match_json_batch(lines, rejects=rejects)
    matches = Counter(table["event"].to_pylist())
    assert matches == {0: 4, 1: 8, 3: 2}
    assert [rejected.line for rejected in rejects] == [5]
    assert sorted(matcher.match_json(b'{"a": 2}')) == [0, 1, 2]
    assert is_evaluated(matcher)
