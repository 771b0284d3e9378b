"""What the service answers, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class Rule(NamedTuple):
    """A rule of the service."""

    id: str
    rule: str
    tags: frozenset[str]
    priority: float


class Accepted(NamedTuple):
    """An event that was published: its id, and how many subscriptions it matched."""

    id: int
    matched: int


class Delivered(NamedTuple):
    """An event that matched a subscription."""

    id: int
    published: str  # RFC 3339
    event: dict[str, Any]


@dataclass(frozen=True)
class Ticket:
    """What it takes to come back to a subscription: keep it, nobody is told it again."""

    id: str
    ticket: str

    def __repr__(self) -> str:  # a ticket is a secret, and repr goes into logs
        return f"Ticket(id={self.id!r}, ticket=…)"


def rule_of(form: dict[str, Any]) -> Rule:
    return Rule(form["id"], form["rule"], frozenset(form["tags"]), form["priority"])


def accepted_of(form: dict[str, Any]) -> Accepted:
    return Accepted(form["id"], form["matched"])


def delivered_of(form: dict[str, Any]) -> Delivered:
    return Delivered(form["id"], form["published"], form["event"])
