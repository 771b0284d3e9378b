"""Streams, polls and webhooks are woken by new events, and only for as long as they wait."""

import asyncio
import time

import numpy as np

from matchwood.service.delivery.outbox import Outbox, StoredEvent
from matchwood.service.delivery.watchers import Watchers
from matchwood.service.rules.subscription_roster import SubscriptionRoster


def stored(number: int, *matches: int) -> StoredEvent:
    return StoredEvent(number, time.time(), "{}", np.array(matches, np.uint32))


def test_a_subscription_is_watched_until_nobody_waits_for_it() -> None:
    async def main() -> None:
        outbox = Outbox(SubscriptionRoster())
        watchers = Watchers(outbox)
        watchers.start()
        called: list[int] = []
        watchers.follow(1, called.append)
        with watchers.watching(1) as first, watchers.watching(1) as second:
            await asyncio.to_thread(outbox.add, [stored(1, 1, 2)])  # as the writing thread does
            await asyncio.wait_for(asyncio.gather(first.wait(), second.wait()), 10)
        assert called == [1]
        outbox.add([stored(2, 1)])  # the streams have ended, the webhook is still told
        await asyncio.sleep(0)
        assert called == [1, 1]
        watchers.unfollow(1)
        assert outbox._watched_among(np.array([1], np.uint32)) == []
        outbox.add([stored(3, 1)])
        await asyncio.sleep(0)
        assert called == [1, 1]

    asyncio.run(main())
