"""The values that the clients return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class Rule(NamedTuple):
    """A rule of the service."""

    id: str
    rule: str
    tags: frozenset[str]
    priority: float
    data: Any = None


class StoredList(NamedTuple):
    """A list with a name of the service, without its values."""

    name: str
    size: int  # the number of its values
    version: int
    at: str  # RFC 3339


class Accepted(NamedTuple):
    """A published event: its id, and the number of subscriptions that it matched."""

    id: int
    matched: int


class Delivered(NamedTuple):
    """An event that matched a subscription."""

    id: int
    published: str  # RFC 3339
    event: dict[str, Any]
    data: Any = None  # what the subscription carries


@dataclass(frozen=True)
class Ticket:
    """The credentials of a subscription. Keep them: the ticket is shown only once."""

    id: str
    ticket: str

    def __repr__(self) -> str:  # the ticket is a secret, and must not end up in logs
        return f"Ticket(id={self.id!r}, ticket=…)"


def rule_of(form: dict[str, Any]) -> Rule:
    tags = frozenset(form["tags"])
    return Rule(form["id"], form["rule"], tags, form["priority"], form.get("data"))


def accepted_of(form: dict[str, Any]) -> Accepted:
    return Accepted(form["id"], form["matched"])


def delivered_of(form: dict[str, Any]) -> Delivered:
    return Delivered(form["id"], form["published"], form["event"], form.get("data"))
