"""`@operator`: what functions get, how they answer, and what becomes of those that fail."""

import asyncio
import pickle
import threading
import time
from datetime import UTC, date, datetime

import numpy as np
import pandas
import pyarrow as pa
import pytest

from matchwood import Matcher, operator, parse
from matchwood.language import evaluate
from matchwood.language.events import Event
from matchwood.operators import Operator, Operators, load
from matchwood.operators.registry import CallFailure
from operators import city  # a module with operators, beside this one


def truth(rule, event, *operators):
    return evaluate(parse(rule), event, operators=Operators.of(operators))


def test_a_function_gets_the_event_and_the_arguments():
    given = []

    @operator("near", cost=0.5)
    def near(event, *arguments):
        given.append((event["b"], arguments))
        return True

    assert truth("near(a, 'x', 5)", {"a": [1, None], "b": 2}, near) is True
    assert given == [(2, ([1, None], "x", 5))]
    assert near({"b": 3}, 1) is True
    assert near.cost == 0.5


def test_variables_are_left_out_and_their_places_told_to_who_asks():
    @operator("edge", binds=("low", "high"))
    def edge(event, *known, variables):
        rows = [{"low": 1, "high": 2}, {"low": 2, "high": 9}]
        if variables == (0, 1):
            return rows
        [place] = variables
        names = ("low", "high")
        return [row[names[place]] for row in rows if row[names[1 - place]] == known[0]]

    assert truth("edge(?a, ?b) and ?b > 8", {}, edge) is True
    assert truth("edge(2, ?b) and ?b = 9", {}, edge) is True
    assert truth("edge(?a, 2) and ?a = 1", {}, edge) is True
    assert truth("edge(?a, 3)", {}, edge) is False


def test_what_raises_or_answers_nonsense_is_undefined():
    @operator("broken")
    def broken(event, value):
        return {"raise": lambda: 1 / 0, "true": lambda: True}[value]()

    for value in ("raise", "true"):
        assert truth("broken(a, ?x)", {"a": value}, broken) is None
    call = parse("broken(a, ?x)")
    with pytest.raises(CallFailure, match="ZeroDivisionError") as failed:
        broken.ask(call, ["raise"], Event({}))
    assert failed.value.kind == "exception"
    with pytest.raises(CallFailure, match="answers with rows") as failed:
        broken.ask(call, ["true"], Event({}))
    assert failed.value.kind == "answer"


def test_what_takes_too_long_is_undefined_and_the_next_call_is_not_held_up():
    release = threading.Event()

    @operator("slow", timeout=0.05)
    def slow(event, wait):
        if wait:
            release.wait()
        return True

    started = time.monotonic()
    assert truth("slow(a)", {"a": True}, slow) is None
    assert time.monotonic() - started < 5
    assert truth("slow(a)", {"a": False}, slow) is True
    with pytest.raises(CallFailure, match=r"longer than 0\.05 s") as failed:
        slow.ask(parse("slow(a)"), [True], Event({}))
    assert failed.value.kind == "timeout"
    release.set()


def test_threads_that_never_end_are_not_heaped_up():
    release = threading.Event()

    @operator("stuck", timeout=0.001)
    def stuck(event):
        release.wait()

    before = threading.active_count()
    for _ in range(60):
        assert truth("stuck()", {}, stuck) is None
    assert threading.active_count() - before <= 40
    release.set()
    deadline = time.monotonic() + 10
    while stuck._watched._abandoned and time.monotonic() < deadline:
        time.sleep(0.01)
    assert stuck._watched._abandoned == 0


def test_coroutines_run_together():
    running = []

    @operator("ask", timeout=5)
    async def ask(event, value):
        running.append(value)
        while len(running) < 3:  # ends only if all three run at the same time
            await asyncio.sleep(0.001)
        return value > 1

    calls = [parse("ask(a)")] * 3
    found = ask.ask_many(calls, [[1], [2], [3]], [Event({})] * 3)
    assert found == [(), ((),), ((),)]
    assert truth("ask(a)", {"a": 4}, ask) is True


def test_coroutines_have_a_time_as_well():
    @operator("late", timeout=0.01)
    async def late(event, wait):
        await asyncio.sleep(wait)
        return True

    call = parse("late(a)")
    found = late.ask_many([call, call], [[60], [0]], [Event({})] * 2)
    assert isinstance(found[0], CallFailure)
    assert found[0].kind == "timeout"
    assert found[1] == ((),)


def test_a_batch_form_gets_columns_and_answers_with_one():
    @operator("score", batch=True)
    def score(texts, least):
        assert isinstance(texts, pa.Array)
        lengths = pa.array([len(text) for text in texts.to_pylist()])
        return pa.compute.greater(lengths, least)

    call = parse("score(a, 2)")
    found = score.ask_many([call] * 3, [["abc", 2], ["a", 2], ["abcd", 2]], [Event({})] * 3)
    assert found == [((),), (), ((),)]
    assert truth("score(a, 2)", {"a": "abc"}, score) is True


def test_one_bad_event_does_not_spoil_a_batch():
    @operator("half", batch=True, binds=("n",))
    def half(numbers):
        return [[{"n": 10 // number}] for number in numbers.to_pylist()]

    call = parse("half(a, ?n)")
    found = half.ask_many([call] * 3, [[1], [0], [5]], [Event({})] * 3)
    assert found[0] == ((10,),)
    assert isinstance(found[1], CallFailure)
    assert found[2] == ((2,),)


def test_a_batch_form_gets_columns_of_one_type():
    """Arrow would make one type of several, and other values with it."""
    seen = []

    @operator("kind", batch=True, binds=("shown",))
    def kind(values):
        seen.append(values.type)
        return [[{"shown": repr(value)}] for value in values.to_pylist()]

    noon = datetime(2026, 1, 1, 12)
    stamp = pandas.Timestamp(1767225600000000001)
    given = [0.5, True, 1, np.bool_(True), date(2026, 1, 1), noon, "y", b"x", stamp, np.int64(5)]
    given += [2, [0.5], [1], noon.replace(tzinfo=UTC), np.datetime64("2026-01-01T12", "h"), {"x"}]
    call = parse("kind(a, ?s)")
    found = kind.ask_many([call] * len(given), [[value] for value in given], [Event({})] * 16)
    alone = [kind.ask(call, [value], Event({})) for value in given]
    assert found == alone
    shown = [answer[0][0] for answer in found]
    plain = [0.5, True, 1, True, date(2026, 1, 1), noon, "y", b"x", stamp, 5, 2, [0.5], [1]]
    assert shown[:13] == [repr(value) for value in plain]
    assert pa.float64() in seen
    assert isinstance(kind.ask_many([call], [[[0.5, True]]], [Event({})])[0], CallFailure)


def test_a_batch_form_beside_the_other():
    @operator("even")
    def even(event, number):
        return number % 2 == 0

    @even.batch
    def columns(numbers):
        return [None if number == 3 else number % 2 == 0 for number in numbers.to_pylist()]

    assert truth("even(a)", {"a": 3}, even) is False
    found = even.ask_many([parse("even(a)")] * 2, [[3], [4]], [Event({})] * 2)
    assert found == [None, ((),)]


def test_registries():
    assert set(load("operators.city")) == {"borough", "people"}
    assert set(Operators.of(city)) == {"borough", "people"}
    assert Operators.of({"other": city.borough})["other"].name == "other"
    assert Operators.of({"plain": lambda a: a > 1})["plain"].function is not None
    with pytest.raises(ModuleNotFoundError, match=r"no module 'operators\.nowhere'"):
        load("operators.nowhere")
    with pytest.raises(ValueError, match="has none made by @operator"):
        load("operators.village")
    with pytest.raises(TypeError, match="found int"):
        Operators.of([5])
    with pytest.raises(ValueError, match="two operators are registered as 'twice'"):
        Operators([Operator("twice", print), Operator("twice", print)])


@pytest.mark.parametrize(
    "name",
    [
        "contains",
        "and",
        "a b",
        "1a",
        "",
        "any",
        "every",
        "At_Least",
        "lower",
        "list",
        "Unknown",
        "it",
    ],
)
def test_names_that_rules_could_not_call(name):
    with pytest.raises(ValueError, match="name"):
        operator(name)(print)


def test_operators_are_pickled_by_their_name():
    again = pickle.loads(pickle.dumps(Operators.of(city)))
    assert again["borough"] is city.borough
    matcher = Matcher({1: "borough(location, 'Bronx')"}, operators=city)
    copied = pickle.loads(pickle.dumps(matcher))
    assert copied.match({"location": "Bronx"}) == [1]


NO_ANSWERS = [
    *(float("nan"), 1, 0, 0.5, "false", "", b"no", NotImplemented, object(), print),
    *({}, [True], [False], np.array([False]), np.float64("nan"), np.int64(1), pa.scalar(False)),
]


@pytest.mark.parametrize("answer", NO_ANSWERS, ids=range(len(NO_ANSWERS)))
def test_what_is_no_answer_is_a_failed_call_and_never_true(answer):
    @operator("odd")
    def odd(event, value):
        return answer

    assert truth("odd(a)", {"a": 1}, odd) is None
    assert truth("not odd(a)", {"a": 1}, odd) is None
    assert evaluate(parse("odd(a)"), {"a": 1}, operators={"odd": lambda a: answer}) is None
    matcher = Matcher({1: "odd(a)", 2: "not odd(a)", 3: "a = 1"}, operators=[odd])
    assert matcher.match({"a": 1}) == [3]
    assert matcher.match_batch([{"a": 1}])["rule_id"].to_pylist() == [3]
    assert "it answers with True, False or None" in str(matcher.operator_report())


@pytest.mark.parametrize("answer", NO_ANSWERS, ids=range(len(NO_ANSWERS)))
def test_what_is_no_answer_in_a_column_spoils_no_other(answer):
    @operator("odd", batch=True)
    def odd(values):
        return [answer if value == 1 else np.bool_(value > 2) for value in values.to_pylist()]

    matcher = Matcher({1: "odd(a)", 2: "not odd(a)"}, operators=[odd])
    found = matcher.match_batch([{"a": 1}, {"a": 2}, {"a": 3}])
    assert sorted(zip(*found.to_pydict().values(), strict=True)) == [(1, 2), (2, 1)]
    assert "it answers with True, False or None" in str(matcher.operator_report())


def test_truths_of_numpy_and_arrow_are_answers():
    for answer, expected in [(np.True_, True), (np.False_, False), (None, None)]:
        odd = operator("odd")(lambda event, value, answer=answer: answer)
        assert truth("odd(a)", {"a": 1}, odd) is expected
    assert truth("odd(a, ?x)", {"a": 1}, operator("odd")(lambda event, a: np.False_)) is False
    columns = [
        lambda values: pa.array([True, False, None]),
        lambda values: np.array([True, False, None]),
        lambda values: pa.chunked_array([[True], [False, None]]),
    ]
    for column in columns:
        matcher = Matcher(
            {1: "odd(a)", 2: "not odd(a)"}, operators=[operator("odd", batch=True)(column)]
        )
        found = matcher.match_batch([{"a": 1}, {"a": 2}, {"a": 3}])
        assert sorted(zip(*found.to_pydict().values(), strict=True)) == [(0, 1), (1, 2)]
        assert not matcher.operator_report().failures


def test_a_call_without_variables_is_true_where_there_is_a_row():
    for rows, expected in [([], False), ([(1,)], True), (iter([None]), True), ({"n": 1}, True)]:
        mob = operator("mob")(lambda event, image, rows=rows: rows)
        assert truth("mob(a)", {"a": 1}, mob) is expected
