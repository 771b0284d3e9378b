"""Sends dead letters again when that is requested."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from sqlalchemy import Row

from matchwood.service.delivery.dead_letters import DeadLetters
from matchwood.service.delivery.due_events import DueEvent
from matchwood.service.delivery.webhook_calls import Webhook
from matchwood.service.delivery.webhooks import Send
from matchwood.service.storage.readers import Readers

log = logging.getLogger("matchwood.service")
# Letters that are sent at the same time.
LETTERS_AT_ONCE = 20
# Seconds to wait after an error, for instance of the database.
RETRY_SECONDS = 1


class DeadLetterReplay:
    """Sends each letter once per request, whatever the answer."""

    def __init__(
        self,
        dead_letters: DeadLetters,
        readers: Readers,
        webhook_of: Callable[[int], Webhook | None],
        send: Send,
    ) -> None:
        self._dead_letters = dead_letters
        self._readers = readers
        self._webhook_of = webhook_of
        self._send = send

    async def run(self) -> None:
        """Send letters whenever some are marked, until cancelled."""
        requested = self._dead_letters.requested
        while True:
            await requested.wait()
            requested.clear()
            try:
                while letters := await self._readers.run(
                    self._dead_letters.to_replay, LETTERS_AT_ONCE
                ):
                    await asyncio.gather(*map(self._replay, letters))
            except Exception:
                log.exception("dead letters could not be sent again")
                await asyncio.sleep(RETRY_SECONDS)
                requested.set()

    async def _replay(self, letter: Row[Any]) -> None:
        webhook = self._webhook_of(letter.subscription)
        error: str | None = "the subscription no longer has a webhook"
        if webhook is not None:
            event = DueEvent(letter.event, letter.published, letter.body)
            error = await self._send(webhook, letter.subscription, event)
        await self._dead_letters.replayed(letter, error)
