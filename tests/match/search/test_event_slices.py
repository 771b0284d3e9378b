"""Events however they are given: their slices, keys and rows."""

import pyarrow as pa
import pytest

from matchwood.kernels.masks import EVENTS
from matchwood.match.search.event_slices import admitted, slices_of

ROWS = [{"key": f"event {number}", "a": number} for number in range(EVENTS + 3)]


@pytest.mark.parametrize("events", [ROWS, pa.Table.from_pylist(ROWS)], ids=["dicts", "table"])
def test_slices_have_consecutive_events(events):
    slices = list(slices_of(events, None))
    assert [part.events for part in slices] == [EVENTS, 3]
    keys = [key for part in slices for key in part.keys.to_pylist()]
    assert keys == list(range(len(ROWS)))
    assert slices[1].row(2).raw["a"] == EVENTS + 2


@pytest.mark.parametrize("events", [ROWS, pa.Table.from_pylist(ROWS)], ids=["dicts", "table"])
def test_a_column_can_be_the_key(events):
    keys = [key for part in slices_of(events, "key") for key in part.keys.to_pylist()]
    assert keys == [row["key"] for row in ROWS]


def test_a_key_that_is_not_there():
    with pytest.raises(KeyError, match="no column 'id'"):
        list(slices_of(pa.Table.from_pylist(ROWS), "id"))


def test_one_event_is_not_taken_for_many():
    with pytest.raises(TypeError, match="for one event there is match"):
        list(slices_of({"a": 1}, None))


@pytest.mark.parametrize("events", [ROWS[:5], pa.Table.from_pylist(ROWS[:5])])
def test_events_are_admitted_without_their_keys(events):
    seen = []
    slices = list(slices_of(admitted(events, "key", seen.append), "key"))
    assert seen == [{"a": number} for number in range(5)]
    assert [part.events for part in slices] == [5]
