"""Webhooks: the events of each subscription are sent in order, and tried again with growing pauses.

At most one call per subscription and a few per host are in progress at a time, so that a receiver
that is slow or unreachable does not hold up the others. An event that cannot be delivered becomes
a dead letter, and the next event has its turn. The number of failed attempts and the time of the
next one are written a moment later, many at a time; after a restart, the service continues there.

    idle ──new event──▶ queued per host ──▶ calling ──accepted──▶ next event, or idle
                              ▲                │ failed
                              └─── pausing ◀───┘
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from collections import Counter, defaultdict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, bindparam, select

from matchwood.service.delivery.cursors import Cursors
from matchwood.service.delivery.dead_letters import DeadLetters
from matchwood.service.delivery.due_events import DueEvent, DueEvents
from matchwood.service.delivery.watchers import Watchers
from matchwood.service.delivery.webhook_calls import Webhook
from matchwood.service.rules.subscription_roster import SubscriptionRoster
from matchwood.service.rules.subscription_store import name_of
from matchwood.service.settings import WebhookSettings
from matchwood.service.storage.database import subscriptions
from matchwood.service.storage.writer import Counters, DatabaseWriter

log = logging.getLogger("matchwood.service")
# Events that are sent to one subscription before others of the same host have their turn.
EVENTS_PER_TURN = 20
# Seconds until a webhook has its turn again after the service itself could not go on with it, for
# instance because the database could not be reached.
TROUBLE_SECONDS = 5.0
# Seconds that calls in progress are given to finish when the service closes.
CLOSING_SECONDS = 2
# Sends an event; returns what went wrong, or None.
Send = Callable[[Webhook, int, DueEvent], Awaitable[str | None]]
_UPDATE = (
    subscriptions.update()
    .where(subscriptions.c.number == bindparam("which"))
    .values(
        attempts=bindparam("failed"),
        retry_at=bindparam("due"),
        last_error=bindparam("error"),
        failing_since=bindparam("since"),
    )
)


@dataclass
class Failing:
    """The next event of a webhook is not accepted."""

    since: float  # the Unix time of the first failed call
    attempts: int = 0  # failed calls
    error: str = ""  # of the last one
    retry_at: float = 0.0  # when it is called again, as Unix time


class WebhookSender:
    """All webhooks of a service, and the subscriptions that are waiting for their turn."""

    def __init__(
        self,
        engine: Engine,
        writer: DatabaseWriter,
        roster: SubscriptionRoster,
        due_events: DueEvents,
        cursors: Cursors,
        watchers: Watchers,
        dead_letters: DeadLetters,
        send: Send,
        settings: WebhookSettings,
    ) -> None:
        self._engine = engine
        self._writer = writer
        self._roster = roster
        self._due_events = due_events
        self._cursors = cursors
        self._watchers = watchers
        self._dead_letters = dead_letters
        self._send = send
        self._settings = settings
        self._webhooks: dict[int, Webhook] = {}
        self._busy: set[int] = set()  # subscriptions that are queued, calling or pausing
        self._queues: dict[str, deque[int]] = defaultdict(deque)  # by host
        self._under_way: Counter[str] = Counter()  # calls in progress, by host
        self._failing: dict[int, Failing] = {}
        self._unwritten: set[int] = set()  # whose attempts have changed since they were written
        self._tasks: set[asyncio.Task[None]] = set()
        self._pauses: dict[int, asyncio.TimerHandle] = {}
        self._closing = False
        self._loop: asyncio.AbstractEventLoop | None = None

    def load(self) -> None:
        """Load the webhooks of the database."""
        row = subscriptions.c
        state = (row.failing_since, row.attempts, row.last_error, row.retry_at)
        query = select(row.number, row.url, row.secret, row.format, row.data, *state).where(
            row.kind == "webhook"
        )
        with self._engine.connect() as connection:
            for number, url, secret, form, data, *failing in connection.execute(query):
                self._webhooks[number] = Webhook(url, secret, form, data)
                self._watchers.follow(number, self._has_events)
                since, attempts, error, retry_at = failing
                if attempts:
                    self._failing[number] = Failing(since, attempts, error or "", retry_at)

    def __len__(self) -> int:
        return len(self._webhooks)

    def start(self) -> None:
        """Begin to call, in the running event loop."""
        self._loop = asyncio.get_running_loop()
        now = time.time()
        for number in list(self._webhooks):
            failing = self._failing.get(number)
            retry_at = 0.0 if failing is None else failing.retry_at
            left = min(retry_at - now, self._settings.longest_delay)
            if left > 0:
                self._busy.add(number)
                self._pause_for(number, left)
            else:
                self._has_events(number)

    async def close(self) -> None:
        """Give calls in progress a moment to finish, then cancel them."""
        self._closing = True
        for pause in self._pauses.values():
            pause.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSING_SECONDS)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def of(self, number: int) -> Webhook | None:
        """The webhook of a subscription, if it has one."""
        return self._webhooks.get(number)

    def changed(self, number: int, webhook: tuple[str, str, str, str] | None) -> None:
        """In any thread: a subscription has this URL, secret, format and data, or no webhook any
        more.
        """
        if self._loop is not None and not self._loop.is_closed():
            new = None if webhook is None else Webhook(*webhook)
            self._loop.call_soon_threadsafe(self._set, number, new)

    def _set(self, number: int, webhook: Webhook | None) -> None:
        if webhook is not None:
            self._webhooks[number] = webhook
            self._watchers.follow(number, self._has_events)
            self._has_events(number)
        elif self._webhooks.pop(number, None) is not None:
            self._forget_attempts(number)
            self._watchers.unfollow(number)

    # What operators see and do

    @property
    def failing(self) -> dict[int, Failing]:
        """The webhooks that do not accept their next event."""
        return dict(self._failing)

    @property
    def failing_seconds(self) -> float:
        """Seconds since the first failed call of the webhook that has failed longest."""
        since = min((failing.since for failing in self.failing.values()), default=math.inf)
        return round(max(0.0, time.time() - since), 3)

    def failing_of(self, number: int) -> Failing | None:
        """What is wrong with a webhook, if anything is."""
        return self._failing.get(number)

    def retry_now(self, number: int) -> bool:
        """Call a webhook now, rather than when its pause is over; False if it is not pausing."""
        pause = self._pauses.pop(number, None)
        if pause is None:
            return False
        pause.cancel()
        self._queue(number)
        return True

    async def skip(self, number: int, event: int) -> bool:
        """Make the next event of a webhook a dead letter; False if the next one is another."""
        due = await self._due_events.after(number, self._roster.cursor(number), 1)
        if not due or due[0].number != event:
            return False
        failing = self._failing.get(number, Failing(time.time()))
        error = f"skipped by hand: {failing.error or 'it had not failed'}"
        await self._dead_letters.add(number, due[0], failing.attempts, error)
        self._cursors.acknowledge(number, event)
        self._forget_attempts(number)
        self.retry_now(number)
        return True

    # Turns

    def _has_events(self, number: int) -> None:
        """There may be new events for a subscription."""
        if number in self._webhooks and number not in self._busy and not self._closing:
            self._busy.add(number)
            self._queue(number)

    def _queue(self, number: int) -> None:
        webhook = self._webhooks.get(number)
        if webhook is None:
            self._busy.discard(number)
            return
        self._queues[webhook.host].append(number)
        self._start_calls(webhook.host)

    def _start_calls(self, host: str) -> None:
        """Start as many turns for a host as the limits allow."""
        queue = self._queues[host]
        while (
            queue
            and not self._closing
            and self._under_way[host] < self._settings.under_way_a_host
            and len(self._tasks) < self._settings.under_way
        ):
            self._under_way[host] += 1
            task = asyncio.create_task(self._turn(queue.popleft(), host))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if not queue and not self._under_way[host]:
            del self._queues[host], self._under_way[host]

    async def _turn(self, number: int, host: str) -> None:
        try:
            pause = await self._deliver(number)
        except Exception:
            log.exception("a webhook could not be called", extra={"subscription": name_of(number)})
            pause = TROUBLE_SECONDS
        self._under_way[host] -= 1
        if (own := asyncio.current_task()) is not None:
            self._tasks.discard(own)  # so that it does not count against the limit below
        if pause is None:
            self._busy.discard(number)
            if self._due_events.any_after(number, self._roster.cursor(number)):
                # It came after `_deliver` had looked.
                self._has_events(number)
        elif pause == 0:
            self._queue(number)
        else:
            self._pause_for(number, pause)
        self._start_waiting_calls(host)

    def _pause_for(self, number: int, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._pauses[number] = loop.call_later(seconds, self._resume, number)

    def _start_waiting_calls(self, host: str) -> None:
        self._start_calls(host)
        if len(self._tasks) >= self._settings.under_way - 1:  # other hosts may have been waiting
            for other in list(self._queues):
                self._start_calls(other)

    def _resume(self, number: int) -> None:
        self._pauses.pop(number, None)
        self._queue(number)

    async def _deliver(self, number: int) -> float | None:
        """Send what is due. Returns the seconds to pause, or None if nothing is left to send."""
        due = await self._due_events.after(number, self._roster.cursor(number), EVENTS_PER_TURN)
        for event in due:
            webhook = self._webhooks.get(number)
            if webhook is None or not self._roster.is_live(number):
                return None
            if event.number <= self._roster.cursor(number):
                continue  # it was skipped or acknowledged by hand
            error = await self._send(webhook, number, event)
            if event.number <= self._roster.cursor(number):
                continue  # it was skipped while it was being sent
            if error is not None:
                failing = self._failed(number, event, error)
                if failing.attempts < self._settings.attempts:
                    return failing.retry_at - time.time()
                await self._dead_letters.add(number, event, failing.attempts, error)
            self._cursors.acknowledge(number, event.number)
            self._forget_attempts(number)
        return 0.0 if due else None

    def _failed(self, number: int, event: DueEvent, error: str) -> Failing:
        """Note a failed call, and when the next one is due."""
        now = time.time()
        failing = self._failing.setdefault(number, Failing(now))
        failing.attempts += 1
        failing.error = error
        pause = self._pause(failing.attempts)
        failing.retry_at = now + pause
        self._unwritten.add(number)
        about = {"subscription": name_of(number), "event": event.number, "error": error}
        about |= {"attempt": failing.attempts, "retry_in": round(pause, 3)}
        log.warning("a call of a webhook failed", extra=about)
        return failing

    def _pause(self, attempts: int) -> float:
        """Seconds to pause: twice as long after each attempt, with jitter."""
        grown = self._settings.first_delay * 2.0 ** min(attempts - 1, 40)
        longest = min(self._settings.longest_delay, grown)
        return longest * random.uniform(0.5, 1.0)

    def _forget_attempts(self, number: int) -> None:
        if self._failing.pop(number, None) is not None:
            self._unwritten.add(number)

    async def write_attempts(self) -> None:
        """Write the numbers of failed attempts that have changed since the last call."""
        changed, self._unwritten = self._unwritten, set()
        if not changed:
            return
        rows = [_row(number, self._failing.get(number)) for number in changed]

        def work(connection: Connection, counters: Counters) -> None:
            connection.execute(_UPDATE, rows)

        try:
            await asyncio.wrap_future(self._writer.submit(work))
        except BaseException:  # also if this task is cancelled: the next call writes them
            self._unwritten |= changed
            raise


def _row(number: int, failing: Failing | None) -> dict[str, Any]:
    """The columns of a subscription whose attempts have changed."""
    if failing is None:
        return {"which": number, "failed": 0, "due": 0.0, "error": None, "since": 0.0}
    return {
        "which": number,
        "failed": failing.attempts,
        "due": failing.retry_at,
        "error": failing.error,
        "since": failing.since,
    }
