"""Webhooks: each subscription's events in order, signed, tried again with growing pauses.

A host has few calls under way at once, and a subscription one, so that who is slow or away holds
up nobody else. What cannot be delivered becomes a dead letter, and the next event has its turn.
How often a call has failed, and when it is due again, is written a moment later, for many at once:
a service that starts again goes on from there.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import logging
import random
import time
from collections import Counter, defaultdict, deque
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import httpcore
from sqlalchemy import Connection, bindparam, select

from matchwood.service.addresses import GuardedBackend
from matchwood.service.database import subscriptions
from matchwood.service.dead_letters import DeadLetters
from matchwood.service.deliveries import Due, due, envelope
from matchwood.service.subscriptions import name_of
from matchwood.service.writer import Marks

if TYPE_CHECKING:
    from matchwood.service.service import Service

log = logging.getLogger("matchwood.service")
A_TURN = 20  # events that a subscription is sent before others have their turn
MOST_READ = 64 << 10  # bytes of an answer, which nobody looks at


class Hook(NamedTuple):
    """Where the events of a subscription go."""

    url: str
    secret: str

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc


def signature(secret: str, name: str, timestamp: str, body: bytes) -> str:
    """The signature of a call, as Standard Webhooks has it.

    >>> signature("whsec_c2VjcmV0", "s1-7", "1700000000", b"{}")
    'v1,fxyj4AC+QVNANAYFxobfgJvXk3wySvV4al5Ypf+55hg='
    """
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{name}.{timestamp}.".encode() + body
    digest = hmac.new(key, signed, hashlib.sha256).digest()
    return "v1," + base64.b64encode(digest).decode()


class Webhooks:
    """All webhooks of a service, and those who wait for their turn."""

    def __init__(self, service: Service, dead_letters: DeadLetters) -> None:
        self._service = service
        self._settings = service.settings.webhooks
        self._dead_letters = dead_letters
        self._hooks: dict[int, Hook] = {}
        self._busy: set[int] = set()  # waiting for a turn, under way, or pausing
        self._queues: dict[str, deque[int]] = defaultdict(deque)
        self._under_way: Counter[str] = Counter()
        self._attempts: Counter[int] = Counter()
        self._retry_at: dict[int, float] = {}  # in seconds, by the clock
        self._unwritten: set[int] = set()  # whose attempts have changed since they were written
        self._tasks: set[asyncio.Task[None]] = set()
        self._pauses: dict[int, asyncio.TimerHandle] = {}
        self._closing = False
        self._pool = httpcore.AsyncConnectionPool(
            max_connections=None,
            max_keepalive_connections=self._settings.under_way,
            keepalive_expiry=30.0,
            network_backend=GuardedBackend(self._settings.private_addresses),
        )

    def load(self) -> None:
        """The webhooks that the database has."""
        kept = subscriptions.c
        columns = (kept.number, kept.url, kept.secret, kept.attempts, kept.retry_at)
        wanted = select(*columns).where(kept.kind == "webhook")
        with self._service.engine.connect() as connection:
            for number, url, secret, attempts, retry_at in connection.execute(wanted):
                self._hooks[number] = Hook(url, secret)
                self._service.outbox.watch(number)
                if attempts:
                    self._attempts[number], self._retry_at[number] = attempts, retry_at

    def __len__(self) -> int:
        return len(self._hooks)

    def start(self) -> None:
        now = time.time()
        for number in list(self._hooks):
            left = min(self._retry_at.get(number, 0.0) - now, self._settings.longest_delay)
            if left > 0:
                self._busy.add(number)
                self._pause_for(number, left)
            else:
                self.woken(number)

    async def close(self) -> None:
        """Let calls that are under way finish, for a moment."""
        self._closing = True
        for pause in self._pauses.values():
            pause.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=2)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._pool.aclose()

    def set(self, number: int, hook: Hook | None) -> None:
        """A subscription has a webhook from now on, or none."""
        if hook is not None:
            self._hooks[number] = hook
            self._service.outbox.watch(number)
            self.woken(number)
        elif self._hooks.pop(number, None) is not None:
            self._forget_attempts(number)
            self._service.forget(number)

    # Turns

    def woken(self, number: int) -> None:
        """There may be something for a subscription."""
        if number in self._hooks and number not in self._busy and not self._closing:
            self._busy.add(number)
            self._queue(number)

    def _queue(self, number: int) -> None:
        hook = self._hooks.get(number)
        if hook is None:
            self._busy.discard(number)
            return
        self._queues[hook.host].append(number)
        self._next(hook.host)

    def _next(self, host: str) -> None:
        """Start what may start for a host."""
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
            log.exception("a webhook failed", extra={"subscription": name_of(number)})
            pause = self._settings.longest_delay
        self._under_way[host] -= 1
        if (own := asyncio.current_task()) is not None:
            self._tasks.discard(own)  # its place is free for the next
        if pause is None:
            self._busy.discard(number)
            cursor = self._service.roster.cursor(number)
            if self._service.outbox.after(number, cursor, 1):  # it came while we looked
                self.woken(number)
        elif pause == 0:
            self._queue(number)
        else:
            self._pause_for(number, pause)
        self._next_of_all(host)

    def _pause_for(self, number: int, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._pauses[number] = loop.call_later(seconds, self._resume, number)

    def _next_of_all(self, host: str) -> None:
        self._next(host)
        if len(self._tasks) >= self._settings.under_way - 1:  # others may have waited for a place
            for other in list(self._queues):
                self._next(other)

    def _resume(self, number: int) -> None:
        self._pauses.pop(number, None)
        self._queue(number)

    async def _deliver(self, number: int) -> float | None:
        """Send what is due; how long to pause then, None if nothing is left."""
        for _ in range(A_TURN):
            hook = self._hooks.get(number)
            if hook is None or not self._service.roster.is_live(number):
                return None
            found = await due(self._service, number, self._service.roster.cursor(number), 1)
            if not found:
                return None
            error = await self.send(hook, number, found[0])
            if error is None:
                self._forget_attempts(number)
                self._service.acknowledge(number, found[0].number)
                continue
            self._attempts[number] += 1
            attempts = self._attempts[number]
            if attempts < self._settings.attempts:
                pause = self._pause(attempts)
                self._retry_at[number] = time.time() + pause
                self._unwritten.add(number)
                return pause
            await self._dead_letters.add(number, found[0], attempts, error)
            self._forget_attempts(number)
        return 0.0

    def _pause(self, attempts: int) -> float:
        """Twice as long each time, and not for all at the same moment."""
        grown = self._settings.first_delay * 2.0 ** min(attempts - 1, 40)
        longest = min(self._settings.longest_delay, grown)
        return longest * random.uniform(0.5, 1.0)

    def _forget_attempts(self, number: int) -> None:
        if self._attempts.pop(number, 0):
            self._retry_at.pop(number, None)
            self._unwritten.add(number)

    async def keep_attempts(self) -> None:
        """Write how often calls have failed, where that has changed."""
        changed, self._unwritten = self._unwritten, set()
        if not changed:
            return
        rows = [
            {"which": one, "failed": self._attempts[one], "due": self._retry_at.get(one, 0.0)}
            for one in changed
        ]
        update = (
            subscriptions.update()
            .where(subscriptions.c.number == bindparam("which"))
            .values(attempts=bindparam("failed"), retry_at=bindparam("due"))
        )

        def work(connection: Connection, marks: Marks) -> None:
            connection.execute(update, rows)

        try:
            await asyncio.wrap_future(self._service.writer.submit(work))
        except BaseException:  # also where a service that closes does not wait for it
            self._unwritten |= changed
            raise

    # One call

    async def send(self, hook: Hook, number: int, event: Due) -> str | None:
        """Send an event; what went wrong, or None."""
        body = envelope(event).encode()
        name = f"{name_of(number)}-{event.number}"
        timestamp = str(int(time.time()))
        headers = {
            "Host": hook.host,
            "Content-Type": "application/json",
            "User-Agent": "matchwood",
            "Webhook-Id": name,
            "Webhook-Timestamp": timestamp,
            "Webhook-Signature": signature(hook.secret, name, timestamp, body),
        }
        try:
            async with asyncio.timeout(self._settings.timeout):
                status = await self._post(hook.url, headers, body)
        except TimeoutError:
            error = f"no answer within {self._settings.timeout:g} s"
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as wrong:
            error = f"{type(wrong).__name__}: {wrong}"[:500]
        except (OSError, httpcore.UnsupportedProtocol, ValueError) as wrong:
            error = f"{type(wrong).__name__}: {wrong}"[:500]
        else:
            error = "" if 200 <= status < 300 else f"answered {status}"
        self._service.metrics.webhook_calls.labels("failed" if error else "delivered").inc()
        return error or None

    async def _post(self, url: str, headers: dict[str, str], body: bytes) -> int:
        """The status of the answer; redirects are not followed."""
        given = [(name.encode(), value.encode()) for name, value in headers.items()]
        given.append((b"Content-Length", str(len(body)).encode()))
        async with self._pool.stream("POST", url, headers=given, content=body) as response:
            size = 0
            async for part in response.aiter_stream():
                size += len(part)
                if size > MOST_READ:
                    break
            return int(response.status)

    def of(self, number: int) -> Hook | None:
        return self._hooks.get(number)
