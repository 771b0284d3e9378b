"""Parsing a stream that arrives in arbitrary parts, and the backoff between attempts."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from matchwood.client.answer_types import Delivered
from matchwood.client.event_stream import (
    LONGEST_WAIT,
    EventStreamParser,
    StreamMessage,
    WatchProgress,
)

STREAM = (
    "retry: 1000\n\n: still here\n\n"
    'id: 5\nevent: match\ndata: {"text": "é\u2028"}\n\n'
    "data: one\r\ndata:two\r\n\r\nid\n\nevent: end\ndata\n\n"
).encode()
FOUND = [
    StreamMessage("", "", ""),
    StreamMessage("match", "5", '{"text": "é\u2028"}'),
    StreamMessage("message", "5", "one\ntwo"),
    StreamMessage("end", "", ""),
]


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_any_pieces(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    messages = EventStreamParser()
    found = []
    for low, high in pairwise(places):
        found += messages.add(STREAM[low:high])
    assert found == FOUND


def test_what_came_before_is_not_told_again() -> None:
    progress = WatchProgress(7, None, True)
    assert progress.headers()["Last-Event-ID"] == "7"
    data = '{"id": %d, "published": "", "event": {}}'
    assert progress.read(StreamMessage("match", "7", data % 7)) is None
    event = progress.read(StreamMessage("match", "8", data % 8))
    assert event == Delivered(8, "", {})
    assert progress.due(at_once=True) is None
    progress.handled(event)
    assert progress.due() is None  # not so soon
    assert progress.due(at_once=True) == 8
    assert progress.due(at_once=True) is None


def test_waits_grow_and_start_again() -> None:
    progress = WatchProgress(None, None, True)
    waits = [progress.wait() for _ in range(12)]
    assert waits[0] <= 0.5
    assert LONGEST_WAIT / 2 <= waits[-1] <= LONGEST_WAIT
    progress.read(StreamMessage("", "", ""))
    assert progress.wait() <= 0.5
