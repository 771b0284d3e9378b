"""CloudEvents 1.0: events in its JSON format, and with its attributes in headers (binary mode).

A CloudEvent is matched and stored as the object of its JSON format, whichever way it came, so that
rules name its attributes as they are (`type = 'order'`) and its data below them (`data.price > 9`).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from matchwood.language.errors import EventError
from matchwood.service.delivery.due_events import DueEvent
from matchwood.service.delivery.event_bodies import JSON, EventBatch, dumps, loads
from matchwood.service.problems import RequestProblem, event_problem
from matchwood.service.times import iso

# The media types of one event, and of a list of events.
CLOUD_EVENT = "application/cloudevents+json"
CLOUD_EVENTS = "application/cloudevents-batch+json"
VERSION = "1.0"
# The prefix of headers that have attributes.
PREFIX = "ce-"
REQUIRED = ("id", "source", "type")
# What a service's own events have as source and type, if they are delivered as CloudEvents.
OWN_SOURCE = "/matchwood"
OWN_TYPE = "matchwood.event"
# The attribute that has the data of a subscription.
RULE_DATA = "ruledata"
_NAME = re.compile("[a-z0-9]+")
# Attributes that hold the event's data.
_DATA = ("data", "data_base64")
# Characters that stay as they are in headers: all printable ones but the space, `"` and `%`.
_SAFE = "".join(c for c in map(chr, range(0x21, 0x7F)) if c not in '"%')


def problem_of(event: Mapping[str, Any]) -> str | None:
    """What is wrong with an object as a CloudEvent."""
    if event.get("specversion") != VERSION:
        return f"specversion must be {VERSION!r}, found {event.get('specversion')!r:.100}"
    for name in REQUIRED:
        if not isinstance(event.get(name), str) or not event[name]:
            return f"{name} must be a string that is not empty, found {event.get(name)!r:.100}"
    for name, value in event.items():
        if name in _DATA:
            continue
        if not _NAME.fullmatch(name):
            return f"an attribute has lower-case letters and digits, found {name!r:.100}"
        if not isinstance(value, str | int | None):
            return f"{name} must be a string, an integer or a boolean, found {value!r:.100}"
    if "data_base64" in event:
        if "data" in event:
            return "it has both data and data_base64"
        try:
            base64.b64decode(event["data_base64"], validate=True)
        except (binascii.Error, TypeError, ValueError):
            return "data_base64 is not base64"
    return None


def check_cloud_events(kind: str, batch: EventBatch) -> None:
    """Raise a problem if what came with one of the media types is something else."""
    if batch.single is not (kind == CLOUD_EVENT):
        expected = "one event" if kind == CLOUD_EVENT else "a list of events"
        raise RequestProblem("bad-request", f"{kind} is {expected}")
    for index, event in enumerate(batch.events):
        if (problem := problem_of(event)) is not None:
            error = EventError(f"it is no CloudEvent: {problem}")
            raise event_problem(error, None if batch.single else index)


# Binary mode


def is_binary(headers: Mapping[str, str]) -> bool:
    """Whether the headers of a request have the attributes of a CloudEvent."""
    return f"{PREFIX}specversion" in headers


def from_binary(headers: Mapping[str, str], body: bytes) -> bytes:
    """The JSON format of an event in binary mode; names of headers are in lower case."""
    event: dict[str, Any] = {
        name.removeprefix(PREFIX): unquote(value)
        for name, value in headers.items()
        if name.startswith(PREFIX)
    }
    kind = headers.get("content-type", "")
    if body:
        event["datacontenttype"] = kind or JSON
        event |= _data_of(kind, body)
    return dumps(event).encode()


def _data_of(kind: str, body: bytes) -> dict[str, Any]:
    if not kind or _is_json(kind):
        try:
            return {"data": loads(body)}
        except ValueError as error:
            raise RequestProblem("bad-request", f"the data is not JSON: {error}") from None
    if kind.startswith("text/"):
        try:
            return {"data": body.decode()}
        except UnicodeDecodeError:
            pass
    return {"data_base64": base64.b64encode(body).decode()}


def _is_json(kind: str) -> bool:
    plain = kind.partition(";")[0].strip().lower()
    return plain == JSON or plain.endswith("+json")


# Deliveries


def delivered(event: DueEvent, data: str = "") -> dict[str, Any]:
    """An event as a CloudEvent: one that was published as such is as it was.

    The data of the subscription, if it has any, is one more attribute, whose value is JSON text.
    """
    form: dict[str, Any] = json.loads(event.body)
    carried = {RULE_DATA: data} if data else {}
    if problem_of(form) is None:
        return form | carried
    about = {"specversion": VERSION, "id": str(event.number), "source": OWN_SOURCE}
    about |= {"type": OWN_TYPE, "time": iso(event.at), "datacontenttype": JSON}
    return {**about, **carried, "data": form}


def structured(event: DueEvent, data: str = "") -> tuple[dict[str, str], bytes]:
    """The headers and the body that deliver an event in the JSON format."""
    return {"Content-Type": CLOUD_EVENT}, dumps(delivered(event, data)).encode()


def binary(event: DueEvent, data: str = "") -> tuple[dict[str, str], bytes]:
    """The headers and the body that deliver an event in binary mode."""
    form = delivered(event, data)
    headers = {
        PREFIX + name: quote(_text(value), safe=_SAFE)
        for name, value in form.items()
        if name not in (*_DATA, "datacontenttype") and value is not None
    }
    kind = form.get("datacontenttype")
    if "data_base64" in form:
        body = base64.b64decode(form["data_base64"])
    elif isinstance(kind, str) and not _is_json(kind) and isinstance(form.get("data"), str):
        body = form["data"].encode()
    else:
        body = dumps(form["data"]).encode() if "data" in form else b""
    if body:
        shown = kind if isinstance(kind, str) and kind.isascii() and kind.isprintable() else JSON
        headers["Content-Type"] = shown
    return headers, body


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
