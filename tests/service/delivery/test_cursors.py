"""What was being written when its task is cancelled, as when a service closes, is not lost."""

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, select

from matchwood.service.delivery.delivery_parts import DeliveryParts
from matchwood.service.delivery.webhooks import Failing
from matchwood.service.metrics import Metrics
from matchwood.service.rules.subscription_roster import SubscriptionRoster
from matchwood.service.storage.database import subscriptions
from matchwood.service.storage.storage_parts import StorageParts
from service.serving import settings_in

SUBSCRIPTION = 3


@pytest.fixture
def storage(tmp_path) -> Iterator[StorageParts]:
    storage = StorageParts(settings_in(tmp_path))
    storage.writer.counters.take("event", 10)
    row = {"number": SUBSCRIPTION, "subscriber": "ann", "rule": "true", "created": 0.0}
    row |= {"expires": time.time() + 1_000_000, "ticket": b"", "key": "", "kind": "webhook"}
    row |= {"url": "http://127.0.0.1", "secret": "whsec_", "change": 0, "cursor": 0}
    with storage.engine.begin() as connection:
        connection.execute(subscriptions.insert().values(**row))
    storage.writer.start()
    yield storage
    storage.writer.close()
    asyncio.run(storage.close())


def stored(engine: Engine) -> tuple[int, int]:
    columns = (subscriptions.c.cursor, subscriptions.c.attempts)
    with engine.connect() as connection:
        return tuple(connection.execute(select(*columns)).one())


def test_a_write_that_is_cancelled_is_made_by_the_next_one(tmp_path, storage: StorageParts) -> None:
    roster = SubscriptionRoster()
    roster.enter(SUBSCRIPTION, time.time() + 1_000_000, 0)
    let_go = threading.Event()

    async def main() -> None:
        delivery = DeliveryParts(storage, roster, settings_in(tmp_path), Metrics(dict))
        delivery.load()
        storage.writer.submit(lambda connection, counters: let_go.wait(60))
        delivery.cursors.acknowledge(SUBSCRIPTION, 7)
        delivery.webhooks._failing[SUBSCRIPTION] = Failing(time.time(), attempts=2)
        delivery.webhooks._unwritten.add(SUBSCRIPTION)
        for write in (delivery.cursors.write, delivery.webhooks.write_attempts):
            task = asyncio.create_task(write())
            await asyncio.sleep(0)  # it has submitted its work, for which the writer is not free
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert stored(storage.engine) == (0, 0)
        let_go.set()
        await delivery.flush()
        await delivery.close()

    asyncio.run(main())
    assert stored(storage.engine) == (7, 2)
