"""Who is told of new events: streams and polls that are waiting, and webhooks."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from matchwood.service.delivery.outbox import Outbox


class Watch(asyncio.Event):
    """Is set whenever there is something new."""

    ended = False  # whether whoever watches may no longer do so


class Watchers:
    """Wakes those who wait for events of a subscription.

    The outbox reports new events in the writing thread; everybody is woken in the event loop.
    """

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watches: dict[int, set[Watch]] = defaultdict(set)
        self._followers: dict[int, Callable[[int], None]] = {}
        outbox.notify = self._wake_from_thread

    def start(self) -> None:
        """Wake from now on, in the running event loop."""
        self._loop = asyncio.get_running_loop()

    def _wake_from_thread(self, subscriptions: list[int]) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.wake, subscriptions)

    def wake(self, subscriptions: list[int]) -> None:
        """Wake all who wait for these subscriptions."""
        for subscription in subscriptions:
            for watch in self._watches.get(subscription, ()):
                watch.set()
            if (follower := self._followers.get(subscription)) is not None:
                follower(subscription)

    def end(self, subscription: int) -> None:
        """End all streams and waiting polls of a subscription."""
        for watch in self._watches.get(subscription, ()):
            watch.ended = True
            watch.set()

    @contextmanager
    def watching(self, subscription: int) -> Iterator[Watch]:
        """A `Watch` that is set whenever the subscription has new events."""
        watch = Watch()
        self._watches[subscription].add(watch)
        self._outbox.watch(subscription)
        try:
            yield watch
        finally:
            self._watches[subscription].discard(watch)
            if not self._watches[subscription]:
                del self._watches[subscription]
                self._stop_if_unused(subscription)

    def follow(self, subscription: int, follower: Callable[[int], None]) -> None:
        """Call `follower` whenever the subscription has new events, until `unfollow`."""
        self._followers[subscription] = follower
        self._outbox.watch(subscription)

    def unfollow(self, subscription: int) -> None:
        if self._followers.pop(subscription, None) is not None:
            self._stop_if_unused(subscription)

    def _stop_if_unused(self, subscription: int) -> None:
        if subscription not in self._watches and subscription not in self._followers:
            self._outbox.watch(subscription, False)
