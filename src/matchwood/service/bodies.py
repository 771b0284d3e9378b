"""Bodies of requests: events out of JSON, JSON lines and Arrow streams."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

from fastapi import Request

from matchwood.language.errors import EventError
from matchwood.language.events import Event
from matchwood.service.problems import Problem, event_problem
from matchwood.service.settings import Limits

JSON = "application/json"
LINES = ("application/x-ndjson", "application/jsonl", "application/ndjson")
ARROW = "application/vnd.apache.arrow.stream"


class Given(NamedTuple):
    """Events of a request, and whether it was one event rather than a batch of one."""

    events: list[dict[str, Any]]
    bodies: list[str]  # the same as JSON
    single: bool


def kind_of(request: Request) -> str:
    """The media type of a body, without parameters; JSON where it is not told."""
    return request.headers.get("content-type", JSON).partition(";")[0].strip().lower() or JSON


def loads(text: str | bytes) -> Any:
    """JSON without what only Python reads: no NaN, no infinity."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"JSON has no {name}")


def dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def events_of(kind: str, body: bytes, limits: Limits) -> Given:
    """The events of a body, each checked for its form and size."""
    if kind == JSON or kind.endswith("+json"):
        given, single = _from_json(body)
    elif kind in LINES:
        given, single = _from_lines(body, limits), False
    elif kind == ARROW:
        given, single = _from_arrow(body, limits), False
    else:
        kinds = ", ".join((JSON, LINES[0], ARROW))
        raise Problem("unsupported-media-type", f"expected one of {kinds}, found {kind!r}")
    check_count(len(given), limits)
    bodies = [checked(event, index, limits) for index, event in enumerate(given)]
    return Given(given, bodies, single)


def check_count(count: int, limits: Limits) -> None:
    if count > limits.batch_events:
        raise Problem(
            "batch-too-large",
            f"a batch has at most {limits.batch_events:,} events, found {count:,}",
            limit=limits.batch_events,
        )


def checked(event: Any, index: int, limits: Limits) -> str:
    """An event as JSON, if it is an object that can be matched and is within its limit."""
    if not isinstance(event, dict):
        error = EventError(f"an event is an object, found {_named(event)}")
        raise event_problem(error, index)
    try:
        body = dumps(event)
        body.encode("utf-8")
    except (ValueError, TypeError, RecursionError) as error:
        raise event_problem(EventError(f"cannot be written as JSON: {error}"), index) from None
    if len(body) > limits.event_bytes:
        raise Problem(
            "event-too-large",
            f"event {index} of the batch has {len(body):,} bytes, the limit is "
            f"{limits.event_bytes:,}",
            index=index,
            limit=limits.event_bytes,
        )
    check_readable(event, index)
    return body


def check_readable(event: dict[str, Any], index: int) -> None:
    """Refuse an event that no matcher can read; one without objects within it always can be."""
    if any(isinstance(value, dict | list) for value in event.values()):
        try:
            Event(event)
        except EventError as error:
            raise event_problem(error, index) from None


def _from_json(body: bytes) -> tuple[list[Any], bool]:
    try:
        found = loads(body)
    except ValueError as error:
        raise Problem("bad-request", f"the body is not JSON: {error}") from None
    return (found, False) if isinstance(found, list) else ([found], True)


def _from_lines(body: bytes, limits: Limits) -> list[Any]:
    lines = [line for line in body.split(b"\n") if line.strip()]
    check_count(len(lines), limits)
    found = []
    for index, line in enumerate(lines):
        try:
            found.append(loads(line))
        except ValueError as error:
            detail = f"line {index + 1} is not JSON: {error}"
            raise Problem("bad-request", detail, index=index) from None
    return found


def _from_arrow(body: bytes, limits: Limits) -> list[Any]:
    import pyarrow as pa

    from matchwood.arrow.reading import rows_of

    try:
        table = pa.ipc.open_stream(body).read_all()
        table.validate(full=True)
        check_count(table.num_rows, limits)
        rows = rows_of(table)
    except (pa.ArrowException, OSError) as error:
        raise Problem("bad-request", f"the body is not an Arrow stream: {error}") from None
    except EventError as error:
        raise event_problem(error) from None
    return [{name: _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    """A value of Arrow as JSON has it; a time is text, which compares with times all the same."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return str(value)


def _named(value: Any) -> str:
    names = {list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
