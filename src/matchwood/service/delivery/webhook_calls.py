"""One call of a webhook: signed, sent to an allowed address, and judged by its answer."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import time
from typing import NamedTuple
from urllib.parse import urlsplit

import httpcore

from matchwood.service.delivery.addresses import GuardedBackend
from matchwood.service.delivery.due_events import DueEvent, envelope
from matchwood.service.metrics import Metrics
from matchwood.service.rules.subscription_store import name_of
from matchwood.service.settings import WebhookSettings

# Bytes of an answer's body that are read before the connection is given up; nobody uses them.
ANSWER_BYTES = 64 << 10
# Characters of an error that are kept.
ERROR_LENGTH = 500
# Seconds that an idle connection is kept open.
KEEPALIVE_SECONDS = 30.0


class Webhook(NamedTuple):
    """Where the events of a subscription are sent, and the secret that signs them."""

    url: str
    secret: str

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc


def signature(secret: str, name: str, timestamp: str, body: bytes) -> str:
    """The signature of a call, as defined by Standard Webhooks.

    >>> signature("whsec_c2VjcmV0", "s1-7", "1700000000", b"{}")
    'v1,fxyj4AC+QVNANAYFxobfgJvXk3wySvV4al5Ypf+55hg='
    """
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{name}.{timestamp}.".encode() + body
    digest = hmac.new(key, signed, hashlib.sha256).digest()
    return "v1," + base64.b64encode(digest).decode()


class WebhookCalls:
    """Makes calls over a pool of connections."""

    def __init__(self, settings: WebhookSettings, metrics: Metrics) -> None:
        self._timeout = settings.timeout
        self._metrics = metrics
        self._pool = httpcore.AsyncConnectionPool(
            max_connections=None,
            max_keepalive_connections=settings.under_way,
            keepalive_expiry=KEEPALIVE_SECONDS,
            network_backend=GuardedBackend(settings.private_addresses),
        )

    async def close(self) -> None:
        await self._pool.aclose()

    async def send(self, webhook: Webhook, subscription: int, event: DueEvent) -> str | None:
        """Send an event. Returns what went wrong, or None if it was accepted."""
        body = envelope(event).encode()
        name = f"{name_of(subscription)}-{event.number}"
        timestamp = str(int(time.time()))
        headers = {
            "Host": webhook.host,
            "Content-Type": "application/json",
            "User-Agent": "matchwood",
            "Webhook-Id": name,
            "Webhook-Timestamp": timestamp,
            "Webhook-Signature": signature(webhook.secret, name, timestamp, body),
        }
        try:
            async with asyncio.timeout(self._timeout):
                status = await self._post(webhook.url, headers, body)
        except TimeoutError:
            problem = f"no answer within {self._timeout:g} s"
        except (
            httpcore.NetworkError,
            httpcore.ProtocolError,
            httpcore.TimeoutException,
            httpcore.UnsupportedProtocol,
            OSError,
            ValueError,
        ) as error:
            problem = f"{type(error).__name__}: {error}"[:ERROR_LENGTH]
        else:
            problem = "" if 200 <= status < 300 else f"answered {status}"
        self._metrics.webhook_calls.labels("failed" if problem else "delivered").inc()
        return problem or None

    async def _post(self, url: str, headers: dict[str, str], body: bytes) -> int:
        """The status of the answer; redirects are not followed."""
        sent = [(name.encode(), value.encode()) for name, value in headers.items()]
        sent.append((b"Content-Length", str(len(body)).encode()))
        async with self._pool.stream("POST", url, headers=sent, content=body) as response:
            size = 0
            async for part in response.aiter_stream():
                size += len(part)
                if size > ANSWER_BYTES:
                    break
            return int(response.status)
