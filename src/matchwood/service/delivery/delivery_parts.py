"""`DeliveryParts`: all parts on an event's way, from the outbox to the subscribers."""

from __future__ import annotations

import asyncio

from matchwood.service.delivery import acceptance
from matchwood.service.delivery.cursors import Cursors
from matchwood.service.delivery.dead_letter_replay import DeadLetterReplay
from matchwood.service.delivery.dead_letters import DeadLetters
from matchwood.service.delivery.due_events import DueEvents
from matchwood.service.delivery.outbox import Outbox
from matchwood.service.delivery.retention import EventRetention
from matchwood.service.delivery.watchers import Watchers
from matchwood.service.delivery.webhook_calls import WebhookCalls
from matchwood.service.delivery.webhooks import WebhookSender
from matchwood.service.metrics import Metrics
from matchwood.service.rules.subscription_roster import SubscriptionRoster
from matchwood.service.settings import Settings
from matchwood.service.storage.storage_parts import StorageParts


class DeliveryParts:
    """Makes the parts, loads them from the database, and starts and stops them."""

    def __init__(
        self,
        storage: StorageParts,
        roster: SubscriptionRoster,
        settings: Settings,
        metrics: Metrics,
    ) -> None:
        engine, writer, readers = storage.engine, storage.writer, storage.readers
        self._engine = engine
        self.outbox = Outbox(roster, recent_bytes=settings.limits.recent_bytes)
        self.watchers = Watchers(self.outbox)
        self.cursors = Cursors(roster, writer)
        self.due_events = DueEvents(engine, readers, self.outbox)
        self.retention = EventRetention(self.outbox, readers, writer, metrics, settings.retention)
        most_letters = settings.limits.dead_letters_per_subscription
        self.dead_letters = DeadLetters(engine, writer, metrics, most_letters)
        self._calls = WebhookCalls(settings.webhooks, metrics)
        self.webhooks = WebhookSender(
            engine,
            writer,
            roster,
            self.due_events,
            self.cursors,
            self.watchers,
            self.dead_letters,
            self._calls.send,
            settings.webhooks,
        )
        self._replay = DeadLetterReplay(
            self.dead_letters, readers, self.webhooks.of, self._calls.send
        )
        self._replaying: asyncio.Task[None] | None = None

    def load(self) -> None:
        """Load what the database has."""
        acceptance.restore(self._engine, self.outbox)
        self.dead_letters.load()
        self.webhooks.load()

    def start(self) -> None:
        """Begin to deliver, in the running event loop."""
        self.watchers.start()
        self._replaying = asyncio.create_task(self._replay.run())
        self.webhooks.start()

    async def close(self) -> None:
        """Stop delivering. What was acknowledged is not written yet: see `flush`."""
        if self._replaying is not None:
            self._replaying.cancel()
            await asyncio.gather(self._replaying, return_exceptions=True)
        await self.webhooks.close()
        self._calls.close()

    async def flush(self) -> None:
        """Write what was acknowledged, and the attempts of webhooks."""
        await self.cursors.write()
        await self.webhooks.write_attempts()
