"""Subscriptions against a model: who gets which events, whatever happens in which order."""

import time
from typing import Any, ClassVar

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    rule,
    run_state_machine_as_test,
)

from matchwood.language import evaluate, parse
from service.serving import Served, served, settings_in

RULES = ("a = 0", "a >= 1", "b", "a = 1 or b", "not b", "a in (0, 2) and not b", "true")
EVENTS = st.fixed_dictionaries({}, optional={"a": st.integers(0, 2), "b": st.booleans()})
real_time = time.time


class Known:
    """What the model knows of a subscription."""

    def __init__(self, made: dict[str, Any], text: str, expires: float) -> None:
        self.made = made
        self.rule = parse(text)
        self.expires = expires
        self.waiting: list[tuple[int, dict[str, Any]]] = []
        self.cancelled = False


class Life(RuleBasedStateMachine):
    service: ClassVar[Served]
    ahead: ClassVar[float] = 0.0  # seconds that the clock was put forward

    known = Bundle("known")

    def __init__(self) -> None:
        super().__init__()
        self.subscriptions: list[Known] = []

    def teardown(self) -> None:
        for one in self.subscriptions:
            if self.is_live(one):
                self.request("DELETE", one)

    def all_ids(self) -> list[str]:
        page = self.service.http.get("/subscriptions?limit=1000").json()
        return [one["id"] for one in page["subscriptions"]]

    def is_live(self, one: Known) -> bool:
        return not one.cancelled and one.expires > time.time()

    def request(self, method: str, one: Known, path: str = "", **more: Any) -> Any:
        headers = self.service.as_subscriber(one.made)
        url = f"/subscriptions/{one.made['id']}{path}"
        answer = self.service.http.request(method, url, headers=headers, **more)
        # A moment before or after its end, either is right.
        if abs(one.expires - time.time()) > 5 or one.cancelled:
            assert (answer.status_code < 300) == self.is_live(one), answer.text
        return answer

    @rule(target=known, text=st.sampled_from(RULES), validity=st.sampled_from((100, 1_000)))
    def subscribe(self, text: str, validity: float) -> Known:
        made = self.service.subscribe(text, validity=validity)
        one = Known(made, text, time.time() + validity)
        self.subscriptions.append(one)
        return one

    @rule(events=st.lists(EVENTS, min_size=1, max_size=6))
    def publish(self, events: list[dict[str, Any]]) -> None:
        while any(abs(one.expires - time.time()) < 5 for one in self.subscriptions):
            type(self).ahead += 10  # nobody is about to go
        results = self.service.publish(events)["results"]
        for event, result in zip(events, results, strict=True):
            told = [
                one
                for one in self.subscriptions
                if self.is_live(one) and evaluate(one.rule, event) is True
            ]
            assert result["matched"] == len(told)
            for one in told:
                one.waiting.append((result["id"], event))

    @rule(one=known, data=st.data())
    def fetch_and_acknowledge(self, one: Known, data: st.DataObject) -> None:
        answer = self.request("GET", one, "/events")
        if answer.status_code == 200:
            found = [(event["id"], event["event"]) for event in answer.json()["events"]]
            assert found == one.waiting[:100]
            taken = data.draw(st.integers(0, len(found)))
            if taken:
                self.request("POST", one, "/ack", json={"event": found[taken - 1][0]})
                del one.waiting[:taken]

    @rule(one=known, text=st.sampled_from(RULES))
    def change(self, one: Known, text: str) -> None:
        if self.request("PATCH", one, json={"rule": text}).status_code == 200:
            one.rule = parse(text)

    @rule(one=known, validity=st.sampled_from((50, 2_000)))
    def renew(self, one: Known, validity: float) -> None:
        if self.request("POST", one, "/renew", json={"validity": validity}).status_code == 200:
            one.expires = time.time() + validity

    @rule(one=consumes(known))
    def cancel(self, one: Known) -> None:
        self.request("DELETE", one)
        one.cancelled = True

    @rule(seconds=st.sampled_from((20, 70, 500)))
    def time_passes(self, seconds: float) -> None:
        type(self).ahead += seconds

    @invariant()
    def those_that_live_are_listed(self) -> None:
        ids = set(self.all_ids())
        for one in self.subscriptions:
            if abs(one.expires - time.time()) > 5:
                assert (one.made["id"] in ids) == self.is_live(one)


@pytest.mark.slow
def test_the_life_of_subscriptions(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: real_time() + Life.ahead)
    with served(settings_in(tmp_path)) as running:
        Life.service = running
        run_state_machine_as_test(
            Life, settings=hypothesis_settings(max_examples=25, stateful_step_count=30)
        )
