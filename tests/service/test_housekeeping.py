"""Housekeeping goes on after an error, and a lost lock is reported once."""

import asyncio
import logging

import pytest

from matchwood.service.housekeeping import Housekeeping, LockWatch
from matchwood.service.storage.database_lock import DatabaseLock, DatabaseTaken
from matchwood.service.storage.readers import Readers


def test_a_task_that_fails_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        rounds = 0
        enough = asyncio.Event()

        async def work() -> None:
            nonlocal rounds
            rounds += 1
            if rounds == 3:
                enough.set()
            raise OSError("the database is away")

        housekeeping = Housekeeping()
        housekeeping.every(0.001, "fail", work)
        await asyncio.wait_for(enough.wait(), 10)
        await housekeeping.close()

    asyncio.run(main())
    assert caplog.records[0].work == "fail"  # type: ignore[attr-defined]


class LostLock(DatabaseLock):
    def renew(self) -> None:
        raise DatabaseTaken("another process serves this database now")


def test_a_lost_lock_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    readers = Readers()
    reports: list[str] = []
    watch = LockWatch(LostLock(), readers, lambda: reports.append("lost"))

    async def main() -> None:
        await watch.check()
        await watch.check()

    asyncio.run(main())
    readers.close()
    assert (watch.is_lost, reports) == (True, ["lost"])
    assert [line.levelno for line in caplog.records] == [logging.CRITICAL]
