"""The roster of subscriptions: numbers that begin late, expiry, cursors."""

import time

import numpy as np
import pytest

from matchwood.service.rules.subscription_roster import LARGEST, SubscriptionRoster

FUTURE = time.time() + 1_000_000  # a whole suite may run before this test


def test_a_roster_that_begins_late() -> None:
    numbers = np.array([5_000_000, 5_000_002])
    roster = SubscriptionRoster.of(numbers, np.array([FUTURE, 1.0]), np.array([7, 8]))
    assert roster.alive == 2
    assert (roster.cursor(5_000_000), roster.cursor(3)) == (7, 0)
    asked = np.array([3, 5_000_000, 5_000_001, 5_000_002, 9_000_000], np.uint32)
    assert roster.live(asked, time.time()).tolist() == [5_000_000]
    assert roster.expired(time.time()) == [5_000_002]
    roster.enter(5_100_000, FUTURE, 9)
    assert roster.is_live(5_100_000)
    assert not roster.acknowledge(5_000_000, 6)
    assert roster.acknowledge(5_000_000, 9)
    with pytest.raises(OverflowError):
        roster.enter(LARGEST + 1, FUTURE, 0)
