"""One call of a webhook: signed, sent to an allowed address, and judged by its answer."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import logging
import time
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlsplit

from matchwood.service.delivery import cloud_events
from matchwood.service.delivery.due_events import DueEvent, envelope
from matchwood.service.delivery.event_bodies import JSON
from matchwood.service.delivery.webhook_connections import CallFailed, WebhookConnections
from matchwood.service.metrics import Metrics
from matchwood.service.rules.subscription_store import name_of
from matchwood.service.settings import WebhookSettings

log = logging.getLogger("matchwood.service")
# Characters of an error that are kept.
ERROR_LENGTH = 500


class Webhook(NamedTuple):
    """Where the events of a subscription are sent, the secret that signs them, and the format.

    `data` is the JSON that comes with each of them.
    """

    url: str
    secret: str
    format: str = "json"
    data: str = ""

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


def plain(event: DueEvent, data: str) -> tuple[dict[str, str], bytes]:
    """The headers and the body that deliver an event as streams and polls do."""
    return {"Content-Type": JSON}, envelope(event, data).encode()


# How each format of a subscription delivers an event, with the data of the subscription.
FORMATS: dict[str, Callable[[DueEvent, str], tuple[dict[str, str], bytes]]] = {
    "json": plain,
    "cloudevents": cloud_events.structured,
    "cloudevents-binary": cloud_events.binary,
}


class WebhookCalls:
    """Makes calls over connections that are kept open."""

    def __init__(self, settings: WebhookSettings, metrics: Metrics) -> None:
        self._timeout = settings.timeout
        self._delivered = metrics.webhook_calls.labels("delivered")
        self._failed = metrics.webhook_calls.labels("failed")
        self._connections = WebhookConnections(settings.private_addresses, settings.under_way)

    def close(self) -> None:
        self._connections.close()

    async def send(self, webhook: Webhook, subscription: int, event: DueEvent) -> str | None:
        """Send an event. Returns what went wrong, or None if it was accepted.

        A call that cannot even be made is a failed one, so that its event becomes a dead letter in
        the end and does not keep later ones waiting for ever.
        """
        try:
            headers, body = _made(webhook, subscription, event)
            async with asyncio.timeout(self._timeout):
                status = await self._connections.post(webhook.url, headers, body)
        except TimeoutError:
            problem = f"no answer within {self._timeout:g} s"
        except (CallFailed, OSError, ValueError) as error:
            problem = _told(error)
        except Exception as error:
            about = {"subscription": name_of(subscription), "event": event.number}
            log.exception("the call of a webhook could not be made", extra=about)
            problem = _told(error)
        else:
            problem = "" if 200 <= status < 300 else f"answered {status}"
        (self._failed if problem else self._delivered).inc()
        return problem or None


def _made(webhook: Webhook, subscription: int, event: DueEvent) -> tuple[dict[str, str], bytes]:
    """The headers and the body of a call."""
    kind, body = FORMATS[webhook.format](event, webhook.data)
    name = f"{name_of(subscription)}-{event.number}"
    timestamp = str(int(time.time()))
    headers = {
        **kind,
        "User-Agent": "matchwood",
        "Webhook-Id": name,
        "Webhook-Timestamp": timestamp,
        "Webhook-Signature": signature(webhook.secret, name, timestamp, body),
    }
    return headers, body


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:ERROR_LENGTH]
