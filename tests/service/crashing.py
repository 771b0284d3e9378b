"""A service that is killed repeatedly while events are published, and what must hold then.

Every event whose acceptance was answered reaches every subscription that it matches and that was
there when it was published; nothing reaches anybody that was not published, or does not match.
"""

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from matchwood.language import evaluate, parse
from service.delivery.receiver import Receiver
from service.serving import free_port

Event = dict[str, Any]
AWAY = (httpx.TransportError,)  # the server is dead, or dies while it answers


class Forking:
    """A process that has loaded everything, and forks servers on request."""

    def __init__(self) -> None:
        self._parent = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("forked.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._said() == "warm"

    def _said(self) -> str:
        assert self._parent.stdout is not None
        return self._parent.stdout.readline().strip()

    def start(self, settings: Path, log: Path) -> int:
        """Start a server, and return the number of its process."""
        assert self._parent.stdin is not None
        self._parent.stdin.write(f"{settings}\t{log}\n")
        self._parent.stdin.flush()
        return int(self._said())

    def close(self) -> None:
        self._parent.kill()
        self._parent.wait()
        for stream in (self._parent.stdin, self._parent.stdout):
            if stream is not None:
                stream.close()


class Crashing:
    """The servers that are killed, one after another."""

    def __init__(self, folder: Path, database: str, forking: Forking) -> None:
        self._forking = forking
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        settings = [f"port = {self.port}", f'data = "{folder}"', "snapshot_seconds = 0.5"]
        settings += ["heartbeat = 0.3"]  # so that a stream notices soon that it is to stop
        settings += [f'database = "{database}"', 'log_level = "warning"', "[webhooks]"]
        settings += ["private_addresses = true", "first_delay = 0.05", "longest_delay = 0.2"]
        settings += ["attempts = 100000"]
        self._settings, self._log = folder / "service.toml", folder / "log"
        self._settings.write_text("\n".join(settings), encoding="utf-8")
        self.child = 0

    def start(self) -> None:
        self.child = self._forking.start(self._settings, self._log)

    def wait(self) -> None:
        until = time.monotonic() + 60
        while True:
            try:
                if httpx.get(f"{self.url}/readyz").status_code == 200:
                    return
            except AWAY:
                pass
            assert time.monotonic() < until, "the service does not come back"
            time.sleep(0.02)

    def kill(self) -> None:
        os.kill(self.child, signal.SIGKILL)

    def close(self) -> None:
        try:
            os.kill(self.child, signal.SIGKILL)
        except ProcessLookupError:
            pass


class Publisher:
    """Publishes until told to stop, and remembers what was certainly accepted."""

    def __init__(self, url: str, name: str, seed: int) -> None:
        self.name = name
        self.sent: dict[int, Event] = {}
        self.accepted: dict[int, tuple[float, int]] = {}  # n → when it was sent, and its id
        self._random = random.Random(seed)
        self._url = url

    def run(self, stopped: threading.Event) -> None:
        numbers = itertools.count()
        with httpx.Client(base_url=self._url, timeout=30) as http:
            while not stopped.is_set():
                batch = []
                for _ in range(self._random.choice((1, 1, 5, 20))):
                    n = next(numbers)
                    batch.append({"p": self.name, "n": n, "g": self._random.randrange(10)})
                    self.sent[n] = batch[-1]
                began = time.monotonic()
                try:
                    answer = http.post("/events", json=batch)
                except AWAY:
                    time.sleep(0.05)
                    continue
                if answer.status_code == 202:
                    for event, result in zip(batch, answer.json()["results"], strict=True):
                        self.accepted[event["n"]] = (began, result["id"])
                else:
                    assert answer.status_code == 503, answer.text


class Subscriber:
    """A subscription, and all that it was sent."""

    def __init__(self, rule: str, made: dict[str, Any], since: float) -> None:
        self.rule = parse(rule)
        self.made = made
        self.since = since  # it was there from then on
        self.until = float("inf")
        self.got: dict[int, Event] = {}

    @property
    def path(self) -> str:
        return f"/subscriptions/{self.made['id']}"

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.made['ticket']}"}

    def take(self, message: dict[str, Any]) -> None:
        known = self.got.setdefault(message["id"], message["event"])
        assert known == message["event"], "an id stands for two events"

    def poll(self, http: httpx.Client, wait: float) -> int:
        """Fetch what is there, acknowledging what came before."""
        last = max(self.got, default=0)
        asked = {"ack": last, "wait": wait, "limit": 1_000}
        answer = http.get(f"{self.path}/events", params=asked, headers=self.headers)
        if answer.status_code == 503:
            return 1
        assert answer.status_code == 200, answer.text
        for message in answer.json()["events"]:
            self.take(message)
        return len(answer.json()["events"])

    def run_poll(self, url: str, stopped: threading.Event) -> None:
        with httpx.Client(base_url=url, timeout=30) as http:
            while not stopped.is_set():
                try:
                    self.poll(http, 0.5)
                except AWAY:
                    time.sleep(0.02)

    def run_stream(self, url: str, stopped: threading.Event) -> None:
        with httpx.Client(base_url=url, timeout=5) as http:
            while not stopped.is_set():
                last = {"Last-Event-ID": str(max(self.got))} if self.got else {}
                try:
                    stream = http.stream(
                        "GET", f"{self.path}/stream", headers={**self.headers, **last}
                    )
                    with stream as response:
                        for line in response.iter_lines():
                            if line.startswith("data: "):
                                self.take(json.loads(line[6:]))
                            if stopped.is_set():
                                break
                except AWAY:
                    time.sleep(0.02)


class Trial:
    """Publishers and subscribers, and a service that is killed."""

    def __init__(
        self, folder: Path, database: str, forking: Forking, kills: int, seed: int
    ) -> None:
        self.kills = kills
        self.random = random.Random(seed)
        self.receiver = Receiver()
        self.server = Crashing(folder, database, forking)
        self.publishers = [
            Publisher(self.server.url, name, seed + n) for n, name in enumerate("ab")
        ]
        self.subscribers: list[Subscriber] = []
        self.errors: list[BaseException] = []
        self.stopped = threading.Event()

    def close(self) -> None:
        self.stopped.set()
        self.server.close()
        self.receiver.close()

    def run(self) -> dict[str, int]:
        self.server.start()
        self.server.wait()
        for n in range(12):
            delivery = {"kind": "webhook", "url": self.receiver.url} if n == 11 else None
            self.subscribe(self.rule(), delivery)
        works: list[Callable[..., None]] = [one.run for one in self.publishers]
        threads = [self._thread(work, self.stopped) for work in works]
        following = threading.Event()
        fetching = [
            self._thread(one.run_poll if n % 2 else one.run_stream, self.server.url, following)
            for n, one in enumerate(self.subscribers[:8])
        ]
        for _ in range(self.kills):
            time.sleep(self.random.uniform(0.05, 0.8))
            self.churn()
            self.server.kill()
            self.server.start()
            if self.random.random() < 0.3:  # while it starts
                time.sleep(self.random.uniform(0, 0.3))
                self.server.kill()
                self.server.start()
            self.server.wait()
        time.sleep(0.3)
        self.stopped.set()
        _join(threads)
        following.set()
        _join(fetching)
        if self.errors:
            raise self.errors[0]
        self.drain()
        return self.check()

    def rule(self) -> str:
        groups = self.random.sample(range(10), self.random.randint(1, 4))
        return f"g in ({', '.join(map(str, groups))})" + self.random.choice(("", " and p = 'a'"))

    def subscribe(self, rule: str, delivery: dict[str, str] | None = None) -> None:
        asked: dict[str, Any] = {"rule": rule, "subscriber": "crash"}
        if delivery:
            asked["delivery"] = delivery
        made = httpx.post(f"{self.server.url}/subscriptions", json=asked, timeout=30)
        assert made.status_code == 201, made.text
        self.subscribers.append(Subscriber(rule, made.json(), time.monotonic()))

    def churn(self) -> None:
        """One comes, and one of those that nobody follows goes."""
        self.subscribe(self.rule())
        leaving = self.random.choice(self.subscribers[12:])
        if leaving.until == float("inf") and self.random.random() < 0.5:
            leaving.until = time.monotonic()
            httpx.delete(f"{self.server.url}{leaving.path}", headers=leaving.headers, timeout=30)

    def drain(self) -> None:
        """Everybody fetches what is left; the webhook is waited for."""
        with httpx.Client(base_url=self.server.url, timeout=30) as http:
            for one in self.subscribers:
                if one.until == float("inf") and one.made["delivery"]["kind"] == "pull":
                    while one.poll(http, 0):
                        pass
            hooked = self.subscribers[11]
            until = time.monotonic() + 60
            while True:
                for _, body in list(self.receiver.calls):
                    hooked.take(json.loads(body))
                if not self.missing(hooked) or time.monotonic() > until:
                    break
                time.sleep(0.1)

    def missing(self, one: Subscriber) -> list[tuple[str, int]]:
        got = {(event["p"], event["n"]) for event in one.got.values()}
        return [
            (publisher.name, n)
            for publisher in self.publishers
            for n, (began, _) in publisher.accepted.items()
            if one.since < began < one.until - 1
            and (publisher.name, n) not in got
            and evaluate(one.rule, publisher.sent[n]) is True
        ]

    def check(self) -> dict[str, int]:
        sent = {one.name: one.sent for one in self.publishers}
        ids = [number for one in self.publishers for _, number in one.accepted.values()]
        assert len(set(ids)) == len(ids), "an id was given twice"
        delivered = 0
        for one in self.subscribers:
            for event in one.got.values():
                assert sent[event["p"]].get(event["n"]) == event, "an event was invented"
                assert evaluate(one.rule, event) is True, "an event came that does not match"
            delivered += len(one.got)
            if one.until == float("inf"):
                assert not self.missing(one), f"{one.made['id']} lacks {self.missing(one)[:5]}"
        return {
            "accepted": len(ids),
            "sent": sum(len(one.sent) for one in self.publishers),
            "delivered": delivered,
            "subscriptions": len(self.subscribers),
        }

    def _thread(self, work: Callable[..., None], *given: Any) -> threading.Thread:
        def run() -> None:
            try:
                work(*given)
            except BaseException as error:
                self.errors.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        return thread


def _join(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
