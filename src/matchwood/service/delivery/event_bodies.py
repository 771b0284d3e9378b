"""Events in the bodies of requests: JSON, JSON lines and Arrow streams."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from matchwood.language.errors import EventError
from matchwood.language.events import MAX_DEPTH, Event
from matchwood.service.nesting import nests_within
from matchwood.service.problems import RequestProblem, event_problem
from matchwood.service.settings import Limits

# The media type of JSON.
JSON = "application/json"
# The media types of JSON lines; the first is the one that is documented.
LINES = ("application/x-ndjson", "application/jsonl", "application/ndjson")
# The media type of an Arrow stream.
ARROW = "application/vnd.apache.arrow.stream"


class EventBatch(NamedTuple):
    """The events of a request."""

    events: Sequence[Mapping[str, Any]]
    bodies: list[str]  # the same events as JSON
    single: bool  # it was one event, rather than a batch


def loads(text: str | bytes) -> Any:
    """Parse strict JSON: the constants NaN and Infinity, which Python accepts, are refused."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not valid JSON")


# Parses strict JSON at any place of a text.
STRICT = json.JSONDecoder(parse_constant=_no_constant)
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def dumps(value: Any) -> str:
    return _COMPACT.encode(value)


def events_of(kind: str, body: bytes, limits: Limits) -> EventBatch:
    """Parse the events of a body of a media type, and check the form and size of each."""
    if kind == JSON or kind.endswith("+json"):
        events, single = _from_json(body)
    elif kind in LINES:
        events, single = _from_lines(body, limits), False
    elif kind == ARROW:
        events, single = _from_arrow(body, limits), False
    else:
        kinds = ", ".join((JSON, LINES[0], ARROW))
        raise RequestProblem("unsupported-media-type", f"expected one of {kinds}, found {kind!r}")
    check_count(len(events), limits)
    bodies = [checked_json(event, index, limits) for index, event in enumerate(events)]
    return EventBatch(events, bodies, single)


def check_count(count: int, limits: Limits) -> None:
    if count > limits.batch_events:
        raise RequestProblem(
            "batch-too-large",
            f"a batch may have at most {limits.batch_events:,} events, found {count:,}",
            limit=limits.batch_events,
        )


def checked_json(event: Any, index: int, limits: Limits) -> str:
    """An event as JSON, or a problem if it cannot be matched or is too large."""
    if not isinstance(event, dict):
        error = EventError(f"an event must be an object, found {_type_name(event)}")
        raise event_problem(error, index)
    try:
        body = dumps(event)
        size = len(body.encode("utf-8"))
    except (ValueError, TypeError, RecursionError) as error:
        raise event_problem(EventError(f"cannot be written as JSON: {error}"), index) from None
    check_size(size, index, limits)
    check_readable(event, index)
    return body


def check_size(size: int, index: int, limits: Limits) -> None:
    if size > limits.event_bytes:
        raise RequestProblem(
            "event-too-large",
            f"event {index} of the batch has {size:,} bytes, the limit is {limits.event_bytes:,}",
            index=index,
            limit=limits.event_bytes,
        )


def check_readable(event: dict[str, Any], index: int) -> None:
    """Raise a problem if no matcher, or no subscriber, can read the event.

    Flat events can always be read. `Event` does not look into lists of lists, which parsers of
    JSON limit as well, so their levels are counted here.
    """
    if check_depth(event, index):
        try:
            Event(event)
        except EventError as error:
            raise event_problem(error, index) from None


def check_depth(event: dict[str, Any], index: int) -> bool:
    """Whether an event holds objects or lists; a problem if they nest too deeply."""
    if not any(isinstance(value, dict | list) for value in event.values()):
        return False
    if not nests_within(event, MAX_DEPTH):
        error = EventError(f"objects and lists nest at most {MAX_DEPTH} deep")
        raise event_problem(error, index)
    return True


def _from_json(body: bytes) -> tuple[list[Any], bool]:
    try:
        value = loads(body)
    except ValueError as error:
        raise RequestProblem("bad-request", f"the body is not JSON: {error}") from None
    return (value, False) if isinstance(value, list) else ([value], True)


def _from_lines(body: bytes, limits: Limits) -> list[Any]:
    lines = [line for line in body.split(b"\n") if line.strip()]
    check_count(len(lines), limits)
    events = []
    for index, line in enumerate(lines):
        try:
            events.append(loads(line))
        except ValueError as error:
            detail = f"line {index + 1} is not JSON: {error}"
            raise RequestProblem("bad-request", detail, index=index) from None
    return events


def _from_arrow(body: bytes, limits: Limits) -> list[Any]:
    import pyarrow as pa

    from matchwood.arrow.reading import rows_of

    try:
        table = pa.ipc.open_stream(body).read_all()
        table.validate(full=True)
        check_count(table.num_rows, limits)
        rows = rows_of(table)
    except (pa.ArrowException, OSError) as error:
        raise RequestProblem("bad-request", f"the body is not an Arrow stream: {error}") from None
    except EventError as error:
        raise event_problem(error) from None
    return [{name: _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    """A value of Arrow as JSON. A time becomes text, which still compares with times in rules."""
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


def _type_name(value: Any) -> str:
    names = {list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
