"""Events however they are given: their slices, keys and rows."""

import pyarrow as pa
import pytest

from matchwood import Matcher, operator
from matchwood.kernels.masks import EVENTS
from matchwood.language.events import Event
from matchwood.match.batch.codes.event_tables import Column
from matchwood.match.search.event_slices import admitted, slices_of

ROWS = [{"key": f"event {number}", "a": number} for number in range(EVENTS + 3)]


@pytest.mark.parametrize("events", [ROWS, pa.Table.from_pylist(ROWS)], ids=["dicts", "table"])
def test_slices_have_consecutive_events(events):
    slices = list(slices_of(events, None, None))
    assert [part.events for part in slices] == [EVENTS, 3]
    keys = [key for part in slices for key in part.keys.to_pylist()]
    assert keys == list(range(len(ROWS)))
    assert slices[1].row(2).raw["a"] == EVENTS + 2


@pytest.mark.parametrize("events", [ROWS, pa.Table.from_pylist(ROWS)], ids=["dicts", "table"])
def test_a_column_can_be_the_key(events):
    keys = [key for part in slices_of(events, "key", None) for key in part.keys.to_pylist()]
    assert keys == [row["key"] for row in ROWS]


def test_a_key_that_is_not_there():
    with pytest.raises(KeyError, match="no column 'id'"):
        list(slices_of(pa.Table.from_pylist(ROWS), "id", None))


def test_one_event_is_not_taken_for_many():
    with pytest.raises(TypeError, match="for one event there is match"):
        list(slices_of({"a": 1}, None, None))


@pytest.mark.parametrize("events", [ROWS[:5], pa.Table.from_pylist(ROWS[:5])])
def test_events_are_admitted_without_their_keys(events):
    seen = []
    slices = list(slices_of(admitted(events, "key", seen.append), "key", None))
    assert seen == [{"a": number} for number in range(5)]
    assert [part.events for part in slices] == [5]


def test_a_row_reads_only_the_columns_that_are_asked_for(monkeypatch):
    read = []
    python = Column.python
    monkeypatch.setattr(Column, "python", lambda self: read.append(self) or python(self))
    table = pa.table(
        {"a": [1, 2, None], "b": ["x", "y", "z"], "o": [{"p": 1}, {"p": 2}, None], "c": [0, 0, 0]}
    )
    [piece] = slices_of(table, None, None)
    events = [piece.row(number) for number in range(3)]
    whole = [Event(row) for row in table.to_pylist()]
    for name in ("a", "o.p", "o", "missing", "a.b"):
        assert [event[name] for event in events] == [event[name] for event in whole]
        assert [event.given(name) for event in events] == [event.given(name) for event in whole]
    assert len(read) == 2  # a, and o
    assert [event.raw for event in events] == [event.raw for event in whole]


def test_calls_and_pending_rules_of_a_table():
    seen = []

    @operator("noted")
    def noted(event, value):
        seen.append(dict(event))
        return value > 1

    rules = {1: "noted(a) and b = 'y'", 2: "odd(o.p) or a = 3", 3: "odd(a) and a < o.p"}
    matcher = Matcher(rules, operators=[noted, operator("odd")(lambda event, n: n % 2 == 1)])
    matcher[4] = "o.p > a and odd(o.p)"
    rows = [{"a": n % 5, "b": "xy"[n % 2], "o": {"p": n % 7}, "c": n} for n in range(100)]
    found = matcher.match_batch(pa.Table.from_pylist(rows)).to_pylist()
    right = {(n, i) for n, row in enumerate(rows) for i in matcher.match(row)}
    assert {(match["event"], match["rule_id"]) for match in found} == right
    assert all(set(event) == {"a", "b", "o", "o.p", "c"} for event in seen)
