"""Subscriptions are created, read, changed, renewed and removed here.

A change is written to the database first; the roster and the index in memory follow, in the order
of the commits.
"""

from __future__ import annotations

import asyncio
import base64
import math
import secrets
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, Row, and_, delete, func, select

from matchwood.language import parse
from matchwood.language.errors import RuleError
from matchwood.match.parts.rule_checks import check_calls
from matchwood.match.store.rule_input import text_of
from matchwood.service.keys import hashed, matches_hash, new_secret
from matchwood.service.problems import RequestProblem, rule_problem
from matchwood.service.rules.carried_data import checked_data
from matchwood.service.rules.rule_index import SubscriptionIndex
from matchwood.service.rules.stored_lists import check_lists_stored
from matchwood.service.rules.subscription_roster import SubscriptionRoster
from matchwood.service.rules.timed_matching import Suspension
from matchwood.service.settings import Settings
from matchwood.service.storage.database import dead_letters, subscriptions
from matchwood.service.storage.row_pages import page_of
from matchwood.service.storage.writer import Counters, DatabaseWriter

# What is said of a subscription that does not exist, and of a wrong ticket: the same.
UNKNOWN_SUBSCRIPTION = "there is no such subscription, or this is not its ticket"
# Subscriptions that one statement deletes.
_DELETED_AT_ONCE = 500


class NewSubscription(NamedTuple):
    """A subscription to be created; its rule has been checked."""

    rule: str
    subscriber: str
    validity: float  # seconds
    kind: str = "pull"
    url: str | None = None
    format: str = "json"
    data: str = ""  # JSON


@dataclass
class CreatedSubscription:
    """A subscription that was created, with its secrets, which are shown only once."""

    number: int
    ticket: str
    secret: str | None
    expires: float


def name_of(number: int) -> str:
    """The public id of a subscription.

    >>> name_of(17), number_of("s17"), number_of("17")
    ('s17', 17, None)
    """
    return f"s{number}"


def number_of(name: str) -> int | None:
    """The number of a subscription's public id; None if it cannot be one."""
    digits = name[1:]
    if not name.startswith("s") or not digits.isascii() or not digits.isdecimal():
        return None
    return int(digits) if len(digits) <= 10 and str(int(digits)) == digits else None


def new_signing_secret() -> str:
    """A new secret to sign webhooks with, in the format of Standard Webhooks."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(24)).decode()


class SubscriptionStore:
    """All subscriptions of a service.

    `webhook_changed` is called in the writing thread with the URL, the secret, the format and the
    data of a subscription's webhook, or with None if it has no webhook any more.
    """

    def __init__(
        self,
        engine: Engine,
        writer: DatabaseWriter,
        roster: SubscriptionRoster,
        index: SubscriptionIndex,
        settings: Settings,
        check_rule: Callable[[object], None],
        webhook_changed: Callable[[int, tuple[str, str, str, str] | None], None],
    ) -> None:
        self._check_schema = check_rule  # raises a RuleError if a rule does not fit the schema
        self._webhook_changed = webhook_changed
        self._engine = engine
        self._writer = writer
        self._roster = roster
        self._index = index
        self._settings = settings
        self._by_key: dict[str, int] = {}
        self.suspended: set[int] = set()  # whose rules are not matched

    def load_counts(self) -> None:
        """Count the subscriptions of each key."""
        count = select(subscriptions.c.key, func.count()).group_by(subscriptions.c.key)
        stopped = select(subscriptions.c.number).where(subscriptions.c.suspended.is_not(None))
        with self._engine.connect() as connection:
            self._by_key = {row[0]: row[1] for row in connection.execute(count)}
            self.suspended = set(connection.scalars(stopped))

    # Reading

    def find(self, number: int | None) -> Row[Any] | None:
        """The row of a live subscription."""
        if number is None or not self._roster.is_live(number):
            return None
        with self._engine.connect() as connection:
            wanted = select(subscriptions).where(subscriptions.c.number == number)
            return connection.execute(wanted).one_or_none()

    def authorised(self, name: str, ticket: str | None, admin: bool = False) -> Row[Any]:
        """The row of a subscription, for the holder of its ticket or an administrator.

        Without the right ticket, the problem does not reveal whether the subscription exists.
        """
        if ticket is None and not admin:
            raise RequestProblem(
                "unauthenticated", "send the ticket as `Authorization: Bearer TICKET`"
            )
        row = self.find(number_of(name))
        if admin:
            if row is None:
                raise RequestProblem("not-found", f"there is no subscription {name!r}")
            return row
        stored = bytes(row.ticket) if row is not None else bytes(32)
        if not matches_hash(ticket or "", stored) or row is None:
            raise RequestProblem("forbidden", UNKNOWN_SUBSCRIPTION)
        return row

    def page(
        self, after: int, limit: int, search: str, kind: str | None = None
    ) -> tuple[list[Row[Any]], bool]:
        """Subscriptions in order of number, whose subscriber, rule or URL contains `search`.

        Second, whether there are more.
        """
        wanted = select(subscriptions).where(subscriptions.c.number > after)
        wanted = wanted.where(subscriptions.c.expires > time.time())
        if search:
            wanted = wanted.where(
                subscriptions.c.subscriber.icontains(search, autoescape=True)
                | subscriptions.c.rule.icontains(search, autoescape=True)
                | subscriptions.c.url.icontains(search, autoescape=True)
            )
        if kind is not None:
            wanted = wanted.where(subscriptions.c.kind == kind)
        return page_of(self._engine, wanted.order_by(subscriptions.c.number), limit)

    # Checking

    def check_data(self, data: object) -> str:
        """What a subscription carries as JSON text, or a problem."""
        return checked_data(data, self._settings.limits)

    def check_rule(self, rule: object) -> str:
        """The text of a valid rule, or a problem."""
        most = self._settings.limits.rule_bytes
        text = rule if isinstance(rule, str) else None
        try:
            tree = parse(rule)
            text = text_of(rule) if text is None else text
            matcher = self._index.matcher
            source = rule if isinstance(rule, str) else None  # errors show their position in it
            check_calls(tree, matcher.operators, matcher.schema, matcher.store.lists, source)
            self._check_schema(rule)
            if "\0" in text:
                raise RuleError("a rule must not contain the character U+0000")
        except RuleError as error:
            raise rule_problem(error) from None
        if len(text.encode()) > most:
            detail = f"a rule may have at most {most:,} bytes, found {len(text.encode()):,}"
            raise RequestProblem("rule-too-large", detail, limit=most)
        return text

    def check_validity(self, seconds: float | None) -> float:
        """The validity in seconds, the default if none was requested, or a problem."""
        longest = self._settings.longest_validity
        if seconds is None:
            return self._settings.validity
        if not 0 < seconds <= longest:
            detail = f"validity must be above 0 and at most {longest:g} seconds, found {seconds:g}"
            raise RequestProblem("invalid-request", detail)
        return seconds

    def _check_counts(self, key: str, more: int) -> None:
        limits = self._settings.limits
        for count, most, scope in (
            (self._roster.alive, limits.subscriptions, "in total"),
            (self._by_key.get(key, 0), limits.subscriptions_per_key, "with this key"),
        ):
            if count + more > most:
                detail = f"the limit is {most:,} subscriptions {scope}, there are {count:,}"
                raise RequestProblem("too-many-subscriptions", detail, limit=most)

    # Changing

    async def create(
        self, requested: Sequence[NewSubscription], key: str
    ) -> list[CreatedSubscription]:
        """Create subscriptions; once this returns, events are matched with them."""
        self._check_counts(key, len(requested))
        created = [
            CreatedSubscription(
                0, new_secret("ticket"), new_signing_secret() if wanted.url else None, 0.0
            )
            for wanted in requested
        ]
        indexed: list[Future[None]] = []

        def work(connection: Connection, counters: Counters) -> tuple[int, int]:
            check_lists_stored(connection, (wanted.rule for wanted in requested))
            first = counters.take("subscription", len(created))
            change = counters.take("change")
            now = time.time()
            rows = []
            for number, (wanted, new) in enumerate(zip(requested, created, strict=True), first):
                new.number, new.expires = number, now + wanted.validity
                row = {"number": number, "subscriber": wanted.subscriber, "rule": wanted.rule}
                row |= {"created": now, "expires": new.expires, "ticket": hashed(new.ticket)}
                row |= {"key": key, "kind": wanted.kind, "url": wanted.url, "secret": new.secret}
                row |= {"format": wanted.format, "data": wanted.data}
                rows.append(row | {"change": change, "cursor": counters["event"]})
            connection.execute(subscriptions.insert(), rows)
            return change, counters["event"]

        def applied(result: tuple[int, int]) -> None:
            change, cursor = result
            for wanted, new in zip(requested, created, strict=True):
                self._roster.enter(new.number, new.expires, cursor)
                if wanted.url and new.secret:
                    hook = wanted.url, new.secret, wanted.format, wanted.data
                    self._webhook_changed(new.number, hook)
            self._by_key[key] = self._by_key.get(key, 0) + len(created)
            rules = [
                (new.number, wanted.rule) for wanted, new in zip(requested, created, strict=True)
            ]
            indexed.append(self._index.submit(change, rules))

        await asyncio.wrap_future(self._writer.submit(work, applied))
        await asyncio.wrap_future(indexed[0])
        return created

    async def change(self, number: int, values: dict[str, Any]) -> None:
        """Set some columns of a subscription; once this returns, a new rule is in effect.

        The columns of a webhook (`kind`, `url`, `secret`, `format` and `data`) are set together.
        """
        indexed: list[Future[None]] = []
        rule = values.get("rule")

        def work(connection: Connection, counters: Counters) -> int:
            numbered: dict[str, Any] = {}
            if rule is not None:  # a new rule resumes a subscription that was suspended
                check_lists_stored(connection, [rule])
                numbered = {"change": counters.take("change"), "suspended": None}
            done = connection.execute(
                subscriptions.update()
                .where(subscriptions.c.number == number)
                .values(**values, **numbered)
            )
            if done.rowcount != 1:
                raise RequestProblem("forbidden", UNKNOWN_SUBSCRIPTION)
            return int(numbered.get("change", 0))

        def applied(change: int) -> None:
            if "expires" in values:
                self._roster.renew(number, values["expires"])
            if rule is not None:
                self.suspended.discard(number)
                indexed.append(self._index.submit(change, [(number, rule)]))
            if "kind" in values:
                named = (values["url"], values["secret"], values["format"], values["data"])
                hook = named if values["url"] else None
                self._webhook_changed(number, hook)

        await asyncio.wrap_future(self._writer.submit(work, applied))
        for applied_to_index in indexed:
            await asyncio.wrap_future(applied_to_index)

    def suspend(self, suspensions: Sequence[Suspension]) -> None:
        """Match some subscriptions no more, until their rules are changed; waits until it is so."""
        indexed: list[Future[None]] = []

        def work(connection: Connection, counters: Counters) -> int:
            change = counters.take("change")
            for number, reason in suspensions:
                own = subscriptions.c.number == number
                values = {"suspended": reason, "change": change}
                connection.execute(subscriptions.update().where(own).values(**values))
            return change

        def applied(change: int) -> None:
            numbers = [number for number, _ in suspensions]
            self.suspended.update(numbers)
            indexed.append(self._index.submit(change, (), numbers))

        self._writer.submit(work, applied).result()
        indexed[0].result()

    async def remove(self, numbers: Sequence[int], expired_by: float | None = None) -> int:
        """Remove subscriptions; with `expired_by`, only those that have expired by that time."""

        def work(connection: Connection, counters: Counters) -> tuple[int, list[tuple[int, str]]]:
            gone: list[tuple[int, str]] = []
            for low in range(0, len(numbers), _DELETED_AT_ONCE):
                by = math.inf if expired_by is None else expired_by
                chosen = subscriptions.c.number.in_(numbers[low : low + _DELETED_AT_ONCE])
                condition = and_(chosen, subscriptions.c.expires <= by)
                wanted = select(subscriptions.c.number, subscriptions.c.key).where(condition)
                gone += [(number, key) for number, key in connection.execute(wanted)]
                connection.execute(delete(subscriptions).where(condition))
                left = [number for number, _ in gone[-_DELETED_AT_ONCE:]]
                connection.execute(
                    delete(dead_letters).where(dead_letters.c.subscription.in_(left))
                )
            return counters.take("change"), gone

        def applied(result: tuple[int, list[tuple[int, str]]]) -> None:
            change, gone = result
            for number, key in gone:
                self._roster.leave(number)
                self.suspended.discard(number)
                self._webhook_changed(number, None)
                self._by_key[key] = self._by_key.get(key, 1) - 1
            self._index.submit(change, (), [number for number, _ in gone])

        done = await asyncio.wrap_future(self._writer.submit(work, applied))
        return len(done[1])
