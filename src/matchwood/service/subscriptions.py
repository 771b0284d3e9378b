"""The life of subscriptions: created, read, changed, renewed, cancelled, expired.

What is asked is written first; what is in memory (roster, index) follows in the order of commits.
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

from matchwood.language.errors import RuleError
from matchwood.language.text import parse
from matchwood.match.given import text_of
from matchwood.match.parts import check_calls
from matchwood.service.database import dead_letters, subscriptions
from matchwood.service.index import SubscriptionIndex
from matchwood.service.keys import hashed, is_secret_of, new_secret
from matchwood.service.problems import Problem, rule_problem
from matchwood.service.roster import Roster
from matchwood.service.settings import Settings
from matchwood.service.writer import Marks, Writer

UNKNOWN = "there is no such subscription, or the ticket is not its own"


class Wanted(NamedTuple):
    """A subscription as it is asked for, its rule checked."""

    rule: str
    subscriber: str
    validity: float
    kind: str = "pull"
    url: str | None = None


@dataclass
class Created:
    """A new subscription, and the secrets that nobody is told again."""

    number: int
    ticket: str
    secret: str | None
    expires: float


def name_of(number: int) -> str:
    """The id of a subscription, as people see it.

    >>> name_of(17), number_of("s17"), number_of("17")
    ('s17', 17, None)
    """
    return f"s{number}"


def number_of(name: str) -> int | None:
    digits = name[1:]
    if not name.startswith("s") or not digits.isascii() or not digits.isdecimal():
        return None
    return int(digits) if len(digits) <= 10 and str(int(digits)) == digits else None


def new_signing_secret() -> str:
    """What webhooks are signed with, in the form of Standard Webhooks."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(24)).decode()


class Subscriptions:
    """All subscriptions of a service."""

    def __init__(
        self,
        engine: Engine,
        writer: Writer,
        roster: Roster,
        index: SubscriptionIndex,
        settings: Settings,
        hooked: Callable[[int, tuple[str, str] | None], None],
    ) -> None:
        self._hooked = hooked  # is told of webhooks: their URL and secret, or None
        self._engine = engine
        self._writer = writer
        self._roster = roster
        self._index = index
        self._settings = settings
        self._by_key: dict[str, int] = {}
        self.fits: Callable[[object], None] = lambda rule: None  # a RuleError: it does not

    def load_counts(self) -> None:
        """How many each key has."""
        count = select(subscriptions.c.key, func.count()).group_by(subscriptions.c.key)
        with self._engine.connect() as connection:
            self._by_key = {row[0]: row[1] for row in connection.execute(count)}

    # Reading

    def find(self, number: int | None) -> Row[Any] | None:
        """The row of a subscription that lives."""
        if number is None or not self._roster.is_live(number):
            return None
        with self._engine.connect() as connection:
            wanted = select(subscriptions).where(subscriptions.c.number == number)
            return connection.execute(wanted).one_or_none()

    def authorised(self, name: str, ticket: str | None, admin: bool = False) -> Row[Any]:
        """The row of a subscription whose ticket was shown, or for an administrator.

        Whether one that is not there, or not one's own, exists is not told.
        """
        if ticket is None and not admin:
            raise Problem("unauthenticated", "send the ticket as `Authorization: Bearer TICKET`")
        row = self.find(number_of(name))
        if admin:
            if row is None:
                raise Problem("not-found", f"there is no subscription {name!r}")
            return row
        kept = bytes(row.ticket) if row is not None else bytes(32)
        if not is_secret_of(ticket or "", kept) or row is None:
            raise Problem("forbidden", UNKNOWN)
        return row

    def page(self, after: int, limit: int, search: str) -> list[Row[Any]]:
        """Some subscriptions in order of number, those whose subscriber or rule has a text."""
        wanted = select(subscriptions).where(subscriptions.c.number > after)
        wanted = wanted.where(subscriptions.c.expires > time.time())
        if search:
            wanted = wanted.where(
                subscriptions.c.subscriber.icontains(search, autoescape=True)
                | subscriptions.c.rule.icontains(search, autoescape=True)
            )
        with self._engine.connect() as connection:
            return list(connection.execute(wanted.order_by(subscriptions.c.number).limit(limit)))

    # Checking

    def check_rule(self, rule: object) -> str:
        """The text of a rule that can be matched, or a problem."""
        most = self._settings.limits.rule_bytes
        text = rule if isinstance(rule, str) else None
        try:
            tree = parse(rule)
            text = text_of(rule) if text is None else text
            matcher = self._index.matcher
            given = rule if isinstance(rule, str) else None  # errors show their place in it
            check_calls(tree, matcher.operators, matcher.schema, given)
            self.fits(rule)
            if "\0" in text:
                raise RuleError("a rule has no character of code 0")
        except RuleError as error:
            raise rule_problem(error) from None
        if len(text.encode()) > most:
            detail = f"a rule has at most {most:,} bytes, found {len(text.encode()):,}"
            raise Problem("rule-too-large", detail, limit=most)
        return text

    def check_validity(self, seconds: float | None) -> float:
        longest = self._settings.longest_validity
        if seconds is None:
            return self._settings.validity
        if not 0 < seconds <= longest:
            detail = f"validity is above 0 and at most {longest:g} seconds, found {seconds:g}"
            raise Problem("invalid-request", detail)
        return seconds

    def _check_counts(self, key: str, more: int) -> None:
        limits = self._settings.limits
        for found, most, whose in (
            (self._roster.alive, limits.subscriptions, "in all"),
            (self._by_key.get(key, 0), limits.subscriptions_a_key, "with this key"),
        ):
            if found + more > most:
                detail = f"the limit is {most:,} subscriptions {whose}, there are {found:,}"
                raise Problem("too-many-subscriptions", detail, limit=most)

    # Changing

    async def create(self, wanted: Sequence[Wanted], key: str) -> list[Created]:
        """Create subscriptions; when this returns, events match them."""
        self._check_counts(key, len(wanted))
        made = [
            Created(0, new_secret("ticket"), new_signing_secret() if one.url else None, 0.0)
            for one in wanted
        ]
        indexed: list[Future[None]] = []

        def work(connection: Connection, marks: Marks) -> tuple[int, int]:
            first = marks.take("subscription", len(made))
            change = marks.take("change")
            now = time.time()
            rows = []
            for number, (one, new) in enumerate(zip(wanted, made, strict=True), first):
                new.number, new.expires = number, now + one.validity
                row = {"number": number, "subscriber": one.subscriber, "rule": one.rule}
                row |= {"created": now, "expires": new.expires, "ticket": hashed(new.ticket)}
                row |= {"key": key, "kind": one.kind, "url": one.url, "secret": new.secret}
                rows.append(row | {"change": change, "cursor": marks["event"]})
            connection.execute(subscriptions.insert(), rows)
            return change, marks["event"]

        def applied(result: tuple[int, int]) -> None:
            change, cursor = result
            for one, new in zip(wanted, made, strict=True):
                self._roster.enter(new.number, new.expires, cursor)
                if one.url and new.secret:
                    self._hooked(new.number, (one.url, new.secret))
            self._by_key[key] = self._by_key.get(key, 0) + len(made)
            rules = [(new.number, one.rule) for one, new in zip(wanted, made, strict=True)]
            indexed.append(self._index.submit(change, rules))

        await asyncio.wrap_future(self._writer.submit(work, applied))
        await asyncio.wrap_future(indexed[0])
        return made

    async def change(self, number: int, values: dict[str, Any]) -> None:
        """Set some columns of a subscription; with a new rule, events match that afterwards."""
        indexed: list[Future[None]] = []
        rule = values.get("rule")

        def work(connection: Connection, marks: Marks) -> int:
            mark = {"change": marks.take("change")} if rule is not None else {}
            done = connection.execute(
                subscriptions.update()
                .where(subscriptions.c.number == number)
                .values(**values, **mark)
            )
            if done.rowcount != 1:
                raise Problem("forbidden", UNKNOWN)
            return mark.get("change", 0)

        def applied(change: int) -> None:
            if "expires" in values:
                self._roster.renew(number, values["expires"])
            if rule is not None:
                indexed.append(self._index.submit(change, [(number, rule)]))
            if "kind" in values:
                hook = (values["url"], values["secret"]) if values["url"] else None
                self._hooked(number, hook)

        await asyncio.wrap_future(self._writer.submit(work, applied))
        for one in indexed:
            await asyncio.wrap_future(one)

    async def remove(self, numbers: Sequence[int], expired_by: float | None = None) -> int:
        """Cancel subscriptions, or those of them that have expired by a time."""

        def work(connection: Connection, marks: Marks) -> tuple[int, list[tuple[int, str]]]:
            gone: list[tuple[int, str]] = []
            for low in range(0, len(numbers), 500):
                by = math.inf if expired_by is None else expired_by
                chosen = subscriptions.c.number.in_(numbers[low : low + 500])
                some = and_(chosen, subscriptions.c.expires <= by)
                wanted = select(subscriptions.c.number, subscriptions.c.key).where(some)
                gone += [(number, key) for number, key in connection.execute(wanted)]
                connection.execute(delete(subscriptions).where(some))
                left = [number for number, _ in gone[-500:]]
                connection.execute(
                    delete(dead_letters).where(dead_letters.c.subscription.in_(left))
                )
            return marks.take("change"), gone

        def applied(result: tuple[int, list[tuple[int, str]]]) -> None:
            change, gone = result
            for number, key in gone:
                self._roster.leave(number)
                self._hooked(number, None)
                self._by_key[key] = self._by_key.get(key, 1) - 1
            self._index.submit(change, (), [number for number, _ in gone])

        done = await asyncio.wrap_future(self._writer.submit(work, applied))
        return len(done[1])
