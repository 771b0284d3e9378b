"""What each method asks of the service, and how its answer is read: for both clients."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote

from matchwood.client.answers import (
    Accepted,
    Delivered,
    Rule,
    accepted_of,
    delivered_of,
    rule_of,
)
from matchwood.language.json_form import to_json
from matchwood.language.tree import Node

T = TypeVar("T")
LINES = "application/x-ndjson"
Event = Mapping[str, Any]


class Call(NamedTuple, Generic[T]):
    """A request, and what its answer means."""

    method: str
    path: str
    read: Callable[[Any], T]
    json: Any = None
    params: Mapping[str, Any] | None = None
    content: bytes | None = None
    headers: Mapping[str, str] | None = None
    rule: object = None  # whose errors have their place in it
    timeout: float | None = None  # seconds, beyond what the client allows

    def sent(self) -> dict[str, Any]:
        """The body and its type, for httpx."""
        if self.json is None:
            return {"content": self.content, "headers": dict(self.headers or {})}
        headers = {"Content-Type": "application/json", **(self.headers or {})}
        return {"content": dumps(self.json), "headers": headers}


def _nothing(form: Any) -> None:
    return None


def _itself(form: Any) -> Any:
    return form


def dumps(form: object) -> bytes:
    """JSON, in which times are texts; they compare with times all the same."""
    return json.dumps(form, ensure_ascii=False, allow_nan=False, default=_plain).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, date):  # or a datetime
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    if hasattr(value, "item"):  # a number of NumPy's
        return value.item()
    raise TypeError(f"an event holds what JSON can, found {type(value).__name__}")


def rule_form(rule: object) -> Any:
    """A rule as it is sent: its text, or the JSON form of a tree."""
    if isinstance(rule, Node):
        return to_json(rule)
    if hasattr(rule, "as_rule"):
        return to_json(rule.as_rule())
    return rule


def given(**fields: Any) -> dict[str, Any]:
    """The fields that are given, and not None."""
    return {name: value for name, value in fields.items() if value is not None}


# Rules


def _rule_path(rule_id: str) -> str:
    return f"/rules/{quote(rule_id, safe='')}"


def get_rule(rule_id: str) -> Call[Rule]:
    return Call("GET", _rule_path(rule_id), rule_of)


def put_rule(
    rule_id: str, rule: object, tags: Iterable[str] = (), priority: float = 0
) -> Call[None]:
    form = {"rule": rule_form(rule), "tags": sorted(tags), "priority": float(priority)}
    return Call("PUT", _rule_path(rule_id), _nothing, form, rule=rule)


def several(ids: Any) -> list[str]:
    """Ids that are given together, each once; a single one is refused, as `Matcher.remove` does.

    >>> several(["a", "b", "a"])
    ['a', 'b']
    """
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        found = "one id" if isinstance(ids, str) else type(ids).__name__
        raise TypeError(
            f"remove takes several ids, such as a list, found {found}: write `remove([{ids!r}])`"
        )
    return list(dict.fromkeys(ids))


def delete_rule(rule_id: str) -> Call[None]:
    return Call("DELETE", _rule_path(rule_id), _nothing)


def list_rules(after: str, limit: int, search: str) -> Call[dict[str, Any]]:
    params = {"after": after, "limit": limit, "search": search}
    return Call("GET", "/rules", _itself, params=params)


def replace_rules(rules: Any, version: int | None, dry_run: bool) -> Call[dict[str, Any]]:
    pairs = rules.items() if isinstance(rules, Mapping) else rules
    lines = []
    for one in pairs:
        if isinstance(one, Rule):
            form: dict[str, Any] = {**one._asdict(), "tags": sorted(one.tags)}
        else:
            form = {"id": one[0], "rule": one[1]}
        lines.append(dumps({**form, "rule": rule_form(form["rule"])}))
    headers = {"Content-Type": LINES}
    if version is not None:
        headers["If-Match"] = f'"{version}"'
    params = {"dry_run": "true"} if dry_run else None
    body = b"\n".join(lines)
    return Call("PUT", "/rules", _itself, params=params, content=body, headers=headers)


# Matching


def match(
    events: Sequence[Event], tags: Iterable[str] | None, limit: int | None, **more: Any
) -> Call[list[dict[str, Any]]]:
    wanted = None if tags is None else sorted(tags)
    form = given(events=list(events), tags=wanted, limit=limit, **more)
    return Call("POST", "/match", lambda answer: list(answer["results"]), form)


def ids_of(result: dict[str, Any]) -> list[str]:
    return [one["id"] for one in result["matches"]]


def check(rule: object) -> Call[dict[str, Any]]:
    return Call("POST", "/check", _itself, {"rule": rule_form(rule)}, rule=rule)


def explain(rule: object, event: Event) -> Call[dict[str, Any]]:
    form = {"rule": rule_form(rule), "event": dict(event)}
    return Call("POST", "/explain", _itself, form, rule=rule)


# Events


def publish(event: Event) -> Call[Accepted]:
    return Call("POST", "/events", accepted_of, dict(event))


def publish_batch(events: Iterable[Event]) -> Call[list[Accepted]]:
    body = b"\n".join(map(dumps, events))

    def read(form: Any) -> list[Accepted]:
        return [accepted_of(one) for one in form["results"]]

    return Call("POST", "/events", read, content=body, headers={"Content-Type": LINES})


# Subscriptions


def subscribe(
    rule: object, subscriber: str, validity: float | None, webhook: str | None
) -> Call[dict[str, Any]]:
    delivery = None if webhook is None else {"kind": "webhook", "url": webhook}
    seconds = None if validity is None else float(validity)
    form = given(rule=rule_form(rule), subscriber=subscriber, validity=seconds, delivery=delivery)
    return Call("POST", "/subscriptions", _itself, form, rule=rule)


def list_subscriptions(after: str, limit: int, search: str) -> Call[dict[str, Any]]:
    params = {"after": after, "limit": limit, "search": search}
    return Call("GET", "/subscriptions", _itself, params=params)


def subscription_path(name: str) -> str:
    return f"/subscriptions/{quote(name, safe='')}"


def read_subscription(name: str) -> Call[dict[str, Any]]:
    return Call("GET", subscription_path(name), _itself)


def change_subscription(
    name: str, rule: object, subscriber: str | None, webhook: str | None
) -> Call[dict[str, Any]]:
    delivery = None if webhook is None else {"kind": "webhook", "url": webhook}
    form = given(rule=rule_form(rule), subscriber=subscriber, delivery=delivery)
    return Call("PATCH", subscription_path(name), _itself, form, rule=rule)


def renew(name: str, validity: float | None) -> Call[dict[str, Any]]:
    form = given(validity=None if validity is None else float(validity))
    return Call("POST", f"{subscription_path(name)}/renew", _itself, form)


def cancel(name: str) -> Call[None]:
    return Call("DELETE", subscription_path(name), _nothing)


def poll(name: str, wait: float, limit: int, ack: int | None) -> Call[list[Delivered]]:
    params = given(wait=wait, limit=limit, ack=ack)

    def read(form: Any) -> list[Delivered]:
        return [delivered_of(one) for one in form["events"]]

    path = f"{subscription_path(name)}/events"
    return Call("GET", path, read, params=params, timeout=wait)


def acknowledge(name: str, event: int) -> Call[int]:
    path = f"{subscription_path(name)}/ack"
    return Call("POST", path, lambda form: int(form["cursor"]), {"event": event})


# The service itself


def _schema_of(answer: Any) -> dict[str, Any] | None:
    form: dict[str, Any] | None = answer["schema"]
    return form


def schema() -> Call[dict[str, Any] | None]:
    return Call("GET", "/schema", _schema_of)


def set_schema(form: Mapping[str, Any] | None) -> Call[dict[str, Any] | None]:
    if form is None:
        return Call("DELETE", "/schema", _schema_of)
    return Call("PUT", "/schema", _schema_of, dict(form))


def extend_schema(form: Mapping[str, Any]) -> Call[dict[str, Any] | None]:
    return Call("POST", "/schema/extensions", _schema_of, dict(form))


def status() -> Call[dict[str, Any]]:
    return Call("GET", "/status", _itself)
