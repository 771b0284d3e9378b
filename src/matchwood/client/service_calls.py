"""Calls of the service: each function makes a request and says how to read its answer.

Both clients send what these functions return.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote

from matchwood.client.answer_types import (
    Accepted,
    Delivered,
    Rule,
    accepted_of,
    delivered_of,
    rule_of,
)
from matchwood.language.errors import EventError
from matchwood.language.events import EventMapping
from matchwood.language.json.form import to_json
from matchwood.language.tree import Node

T = TypeVar("T")
# The media type of JSON.
JSON = "application/json"
# The media type of JSON lines.
LINES = "application/x-ndjson"


class ServiceCall(NamedTuple, Generic[T]):
    """A request, and the function that reads its answer."""

    method: str
    path: str
    read: Callable[[Any], T]
    json: Any = None
    params: Mapping[str, Any] | None = None
    content: bytes | None = None
    headers: Mapping[str, str] | None = None
    rule: object = None  # the rule in which errors of the answer have their position
    timeout: float | None = None  # seconds to wait in addition to the client's timeout

    def sent(self) -> dict[str, Any]:
        """The body and its type, for httpx."""
        if self.json is None:
            return {"content": self.content, "headers": dict(self.headers or {})}
        headers = {"Content-Type": JSON, **(self.headers or {})}
        return {"content": dumps(self.json), "headers": headers}


def _nothing(form: Any) -> None:
    return None


def _itself(form: Any) -> Any:
    return form


def dumps(form: object) -> bytes:
    """JSON. Times become text, which still compares with times in rules."""
    return json.dumps(form, ensure_ascii=False, allow_nan=False, default=_plain).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, date):  # or a datetime
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    if hasattr(value, "item"):  # a NumPy scalar
        return value.item()
    raise TypeError(f"an event may contain only JSON values, found {type(value).__name__}")


def rule_form(rule: object) -> Any:
    """A rule as it is sent: as text, or a tree in its JSON form."""
    if isinstance(rule, Node):
        return to_json(rule)
    if hasattr(rule, "as_rule"):
        return to_json(rule.as_rule())
    return rule


def _present(**fields: Any) -> dict[str, Any]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


# Rules


# Where one rule is, by the parameter `id`: a path cannot have every id (`..` is one).
RULE = "/rule"


def get_rule(rule_id: str) -> ServiceCall[Rule]:
    return ServiceCall("GET", RULE, rule_of, params={"id": rule_id})


def put_rule(
    rule_id: str, rule: object, tags: Iterable[str] = (), priority: float = 0, data: object = None
) -> ServiceCall[None]:
    form = {"rule": rule_form(rule), "tags": sorted(tags), "priority": float(priority)}
    form |= {} if data is None else {"data": data}
    return ServiceCall("PUT", RULE, _nothing, form, params={"id": rule_id}, rule=rule)


def distinct_ids(ids: Any, what: str = "id") -> list[str]:
    """The ids of an iterable, each once; a single id is refused, as by `Matcher.remove`.

    >>> distinct_ids(["a", "b", "a"])
    ['a', 'b']
    """
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        shown = f"one {what}" if isinstance(ids, str) else type(ids).__name__
        raise TypeError(
            f"remove takes several {what}s, such as a list, found {shown}: "
            f"write `remove([{ids!r}])`"
        )
    return list(dict.fromkeys(ids))


def delete_rule(rule_id: str) -> ServiceCall[None]:
    return ServiceCall("DELETE", RULE, _nothing, params={"id": rule_id})


def list_rules(after: str, limit: int, search: str) -> ServiceCall[dict[str, Any]]:
    params = {"after": after, "limit": limit, "search": search}
    return ServiceCall("GET", "/rules", _itself, params=params)


def replace_rules(rules: Any, version: int | None, dry_run: bool) -> ServiceCall[dict[str, Any]]:
    pairs = rules.items() if isinstance(rules, Mapping) else rules
    lines = []
    for pair in pairs:
        if isinstance(pair, Rule):
            form: dict[str, Any] = {**pair._asdict(), "tags": sorted(pair.tags)}
        else:
            form = {"id": pair[0], "rule": pair[1]}
        lines.append(dumps({**form, "rule": rule_form(form["rule"])}))
    headers = {"Content-Type": LINES}
    if version is not None:
        headers["If-Match"] = f'"{version}"'
    params = {"dry_run": "true"} if dry_run else None
    body = b"\n".join(lines)
    return ServiceCall("PUT", "/rules", _itself, params=params, content=body, headers=headers)


# Matching


def match(
    events: Sequence[EventMapping], tags: Iterable[str] | None, limit: int | None, **more: Any
) -> ServiceCall[list[dict[str, Any]]]:
    wanted = None if tags is None else sorted(tags)
    form = _present(
        events=[event_form(event) for event in events], tags=wanted, limit=limit, **more
    )
    return ServiceCall(
        "POST",
        "/match",
        lambda answer: list(answer["results"]),
        content=_with_events(form),
        headers={"Content-Type": JSON},
    )


def ids_of(result: dict[str, Any]) -> list[str]:
    return [match["id"] for match in result["matches"]]


def check(rule: object) -> ServiceCall[dict[str, Any]]:
    return ServiceCall("POST", "/check", _itself, {"rule": rule_form(rule)}, rule=rule)


def explain(rule: object, event: EventMapping) -> ServiceCall[dict[str, Any]]:
    content = _with_events({"rule": rule_form(rule), "event": event_form(event)})
    headers = {"Content-Type": JSON}
    return ServiceCall("POST", "/explain", _itself, content=content, headers=headers, rule=rule)


# Events


def event_form(event: EventMapping) -> dict[str, Any]:
    """An event as it is sent; an EventError if it is not a mapping."""
    if not isinstance(event, Mapping):
        raise EventError(
            f"an event is a mapping of names to values, found {type(event).__name__}: "
            "for several events there are publish_batch and match_batch"
        )
    return dict(event)


def _publishing(kind: str, idempotency_key: str | None) -> dict[str, str]:
    """The headers of a request that publishes."""
    headers = {"Content-Type": kind}
    if idempotency_key is not None:
        headers["Idempotency-Key"] = idempotency_key
    return headers


def publish(event: EventMapping, idempotency_key: str | None) -> ServiceCall[Accepted]:
    content = _event_json(event)
    headers = _publishing(JSON, idempotency_key)
    return ServiceCall("POST", "/events", accepted_of, content=content, headers=headers)


def publish_batch(
    events: Iterable[EventMapping], idempotency_key: str | None
) -> ServiceCall[list[Accepted]]:
    if isinstance(events, Mapping):
        raise EventError("publish_batch takes several events, found one: use publish for it")
    body = b"\n".join(map(_event_json, events))

    def read(form: Any) -> list[Accepted]:
        return [accepted_of(result) for result in form["results"]]

    headers = _publishing(LINES, idempotency_key)
    return ServiceCall("POST", "/events", read, content=body, headers=headers)


def _event_json(event: EventMapping) -> bytes:
    return _with_events(event_form(event))


def _with_events(form: object) -> bytes:
    """JSON in which there are events; an EventError if one cannot be written."""
    try:
        return dumps(form)
    except (ValueError, RecursionError) as error:
        raise EventError(f"an event cannot be written as JSON: {error}") from error


# Subscriptions


def subscribe(
    rule: object, subscriber: str, validity: float | None, webhook: str | None, data: object
) -> ServiceCall[dict[str, Any]]:
    delivery = None if webhook is None else {"kind": "webhook", "url": webhook}
    seconds = None if validity is None else float(validity)
    form = _present(
        rule=rule_form(rule), subscriber=subscriber, validity=seconds, delivery=delivery, data=data
    )
    return ServiceCall("POST", "/subscriptions", _itself, form, rule=rule)


def list_subscriptions(after: str, limit: int, search: str) -> ServiceCall[dict[str, Any]]:
    params = {"after": after, "limit": limit, "search": search}
    return ServiceCall("GET", "/subscriptions", _itself, params=params)


def subscription_path(name: str) -> str:
    return f"/subscriptions/{quote(name, safe='')}"


def read_subscription(name: str) -> ServiceCall[dict[str, Any]]:
    return ServiceCall("GET", subscription_path(name), _itself)


def change_subscription(
    name: str, rule: object, subscriber: str | None, webhook: str | None, data: object
) -> ServiceCall[dict[str, Any]]:
    """`data` is `...` if it stays as it was."""
    delivery = None if webhook is None else {"kind": "webhook", "url": webhook}
    form = _present(rule=rule_form(rule), subscriber=subscriber, delivery=delivery)
    if data is not ...:
        form["data"] = data
    return ServiceCall("PATCH", subscription_path(name), _itself, form, rule=rule)


def renew(name: str, validity: float | None) -> ServiceCall[dict[str, Any]]:
    form = _present(validity=None if validity is None else float(validity))
    return ServiceCall("POST", f"{subscription_path(name)}/renew", _itself, form)


def rotate_ticket(name: str) -> ServiceCall[str]:
    path = f"{subscription_path(name)}/ticket"
    return ServiceCall("POST", path, lambda form: str(form["ticket"]))


def cancel(name: str) -> ServiceCall[None]:
    return ServiceCall("DELETE", subscription_path(name), _nothing)


def poll(name: str, wait: float, limit: int, ack: int | None) -> ServiceCall[list[Delivered]]:
    params = _present(wait=wait, limit=limit, ack=ack)

    def read(form: Any) -> list[Delivered]:
        return [delivered_of(event) for event in form["events"]]

    path = f"{subscription_path(name)}/events"
    return ServiceCall("GET", path, read, params=params, timeout=wait)


def acknowledge(name: str, event: int) -> ServiceCall[int]:
    path = f"{subscription_path(name)}/ack"
    return ServiceCall("POST", path, lambda form: int(form["cursor"]), {"event": event})


# The service itself


def _schema_of(answer: Any) -> dict[str, Any] | None:
    form: dict[str, Any] | None = answer["schema"]
    return form


def schema() -> ServiceCall[dict[str, Any] | None]:
    return ServiceCall("GET", "/schema", _schema_of)


def set_schema(form: Mapping[str, Any] | None) -> ServiceCall[dict[str, Any] | None]:
    if form is None:
        return ServiceCall("DELETE", "/schema", _schema_of)
    return ServiceCall("PUT", "/schema", _schema_of, dict(form))


def extend_schema(form: Mapping[str, Any]) -> ServiceCall[dict[str, Any] | None]:
    return ServiceCall("POST", "/schema/extensions", _schema_of, dict(form))


def status() -> ServiceCall[dict[str, Any]]:
    return ServiceCall("GET", "/status", _itself)
