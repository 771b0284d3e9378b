"""Clocks that jump, as after a change of time or in a machine that slept."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.delivery.receiver import Receiver
from service.delivery.test_webhooks import until
from service.serving import Served, served, settings_in

real_time = time.time
DAY = 86_400.0


class Clock:
    """The time of day, as far as it is ahead of the real one."""

    ahead = 0.0

    def __call__(self) -> float:
        return real_time() + self.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "time", clock)
    return clock


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    running = Receiver()
    yield running
    running.close()


@pytest.fixture
def running(clock: Clock, tmp_path: Path) -> Iterator[Served]:
    webhooks = {"private_addresses": True, "first_delay": 0.2, "longest_delay": 0.4}
    with served(settings_in(tmp_path, webhooks=webhooks)) as service:
        yield service


@pytest.mark.slow
def test_events_keep_their_order_and_arrive_whatever_the_clock_does(
    running: Served, clock: Clock
) -> None:
    made = running.subscribe("n >= 0", validity=20 * DAY)
    for number, ahead in enumerate((0.0, -DAY, 3_600.0, -40 * DAY, 5 * DAY, 0.0)):
        clock.ahead = ahead
        running.publish({"n": number})
        assert running.http.get("/readyz").status_code == 200
    found = running.fetch(made)
    assert [one["event"]["n"] for one in found] == list(range(6))
    assert [one["id"] for one in found] == list(range(1, 7))
    assert running.fetch(made, ack=3)[0]["id"] == 4
    running.run(running.service.rates.take())
    assert all(rate >= 0 for rate in running.service.rates.samples[-1])


@pytest.mark.slow
def test_webhooks_are_tried_again_though_the_clock_was_put_back(
    running: Served, clock: Clock, receiver: Receiver
) -> None:
    answers = iter([500, 500])
    receiver.answer = lambda message: next(answers, 204)
    running.subscribe(
        "n >= 0", validity=30 * DAY, delivery={"kind": "webhook", "url": receiver.url}
    )
    running.publish([{"n": 0}, {"n": 1}])
    until(lambda: len(receiver.calls) == 1)
    clock.ahead = -10 * DAY  # the next attempt would be in ten days by this clock
    until(lambda: len(receiver.calls) == 4)
    assert receiver.numbers() == [0, 0, 0, 1]


@pytest.mark.slow
def test_subscriptions_end_by_the_clock_and_sessions_do_not(running: Served, clock: Clock) -> None:
    short = running.subscribe("n = 1", validity=100)
    long = running.subscribe("n = 1", validity=20 * DAY)
    clock.ahead = 2 * DAY
    assert running.publish({"n": 1})["matched"] == 1
    until(lambda: running.http.get("/status").json()["subscriptions"] == 1)
    clock.ahead = 0.0
    assert len(running.fetch(long)) == 1
    headers = running.as_subscriber(short)
    assert running.http.get(f"/subscriptions/{short['id']}", headers=headers).status_code == 403
