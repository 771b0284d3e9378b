"""Events out of JSON, JSON lines and Arrow streams."""

import datetime
import decimal
import json

import pyarrow as pa
import pytest

from matchwood.service.delivery.event_bodies import events_of
from matchwood.service.problems import RequestProblem
from matchwood.service.settings import Limits
from service.serving import Served


def arrow(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def test_an_arrow_stream_is_published(service: Served) -> None:
    when = datetime.datetime(2026, 5, 4, 10, tzinfo=datetime.UTC)
    table = pa.table(
        {
            "arrow": [1, None, 3],
            "when": pa.array([when, None, when], pa.timestamp("us", "UTC")),
            "price": pa.array([decimal.Decimal("1.50"), None, None], pa.decimal128(10, 2)),
            "tags": [["a"], [], None],
            "place": [{"city": "Rome"}, None, None],
        }
    )
    made = service.subscribe("arrow >= 1 and when > timestamp '2026-01-01'")
    headers = {"Content-Type": "application/vnd.apache.arrow.stream"}
    answer = service.http.post("/events", content=arrow(table), headers=headers)
    assert [one["matched"] for one in answer.json()["results"]] == [1, 0, 1]
    first = service.fetch(made)[0]["event"]
    assert first["when"] == "2026-05-04T10:00:00+00:00"
    assert (first["tags"], first["place"]) == (["a"], {"city": "Rome"})


def test_lines_may_be_empty_and_bodies_have_one_form() -> None:
    given = events_of("application/x-ndjson", b'{"a": 1}\r\n\n{"b":"\xc3\xa9"}\n', Limits())
    assert given.bodies == ['{"a":1}', '{"b":"é"}']
    assert not given.single
    assert events_of("application/json", b"[]", Limits()).events == []
    assert events_of("application/cloudevents+json", b'{"a": 1}', Limits()).single


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", b"{"),
        ("application/json", b"\xff"),
        ("application/x-ndjson", b'{"a": 1}\n{"a":'),
        ("application/vnd.apache.arrow.stream", b"nonsense"),
        ("application/vnd.apache.arrow.stream", b""),
        ("application/json", json.dumps([1]).encode()),
        ("text/plain", b"{}"),
    ],
)
def test_what_cannot_be_read_is_a_problem(kind: str, body: bytes) -> None:
    with pytest.raises(RequestProblem):
        events_of(kind, body, Limits())
