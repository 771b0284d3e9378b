"""Webhooks: each subscription's events in order, signed, tried again with growing pauses.

A host has few calls under way at once, and a subscription one, so that who is slow or away holds
up nobody else. What cannot be delivered becomes a dead letter, and the next event has its turn.
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
from sqlalchemy import select

from matchwood.service.addresses import GuardedBackend
from matchwood.service.database import subscriptions
from matchwood.service.dead_letters import DeadLetters
from matchwood.service.deliveries import Due, due, envelope
from matchwood.service.subscriptions import name_of

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
        columns = (subscriptions.c.number, subscriptions.c.url, subscriptions.c.secret)
        wanted = select(*columns).where(subscriptions.c.kind == "webhook")
        with self._service.engine.connect() as connection:
            for number, url, secret in connection.execute(wanted):
                self._hooks[number] = Hook(url, secret)
                self._service.outbox.watch(number)

    def __len__(self) -> int:
        return len(self._hooks)

    def start(self) -> None:
        for number in list(self._hooks):
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
            self._attempts.pop(number, None)
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
            self._pauses[number] = asyncio.get_running_loop().call_later(
                pause, self._resume, number
            )
        self._next_of_all(host)

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
                self._attempts.pop(number, None)
                self._service.acknowledge(number, found[0].number)
                continue
            self._attempts[number] += 1
            if self._attempts[number] < self._settings.attempts:
                return self._pause(self._attempts[number])
            attempts = self._attempts.pop(number)
            await self._dead_letters.add(number, found[0], attempts, error)
        return 0.0

    def _pause(self, attempts: int) -> float:
        """Twice as long each time, and not for all at the same moment."""
        grown = self._settings.first_delay * 2.0 ** min(attempts - 1, 40)
        longest = min(self._settings.longest_delay, grown)
        return longest * random.uniform(0.5, 1.0)

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
