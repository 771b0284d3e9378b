"""`Client`: the service from a program that waits for each answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any, TypeVar

import httpx

from matchwood.client import service_calls
from matchwood.client.answer_types import Accepted, Delivered, Rule, Ticket, rule_of
from matchwood.client.event_stream import SILENCE, EventStreamParser, WatchProgress
from matchwood.client.readiness import ASK_SECONDS, READY_SECONDS, ReadinessWait
from matchwood.client.service_calls import ServiceCall
from matchwood.client.service_error import ServiceError, error_of
from matchwood.client.service_lists import ServiceLists
from matchwood.language import parse
from matchwood.language.events import EventMapping
from matchwood.language.tree import Node

T = TypeVar("T")
# Seconds to wait for an answer, unless the options say otherwise.
TIMEOUT = 30.0


class Client:
    """The service at a URL; `key` is an API key, if the service has keys.

    Names are those of the library: `rules` is a mapping of ids to rules, and `match` returns the
    ids of those that are true of an event.
    """

    def __init__(
        self, url: str = "http://127.0.0.1:8600", key: str | None = None, **options: Any
    ) -> None:
        """`options` go to httpx.Client: timeouts, certificates, a transport."""
        options.setdefault("timeout", TIMEOUT)
        self._http = httpx.Client(base_url=url, **options)
        self._key = key
        self.rules = ServiceRules(self)
        self.lists = ServiceLists(self)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    # Matching

    def match(
        self, event: EventMapping, *, tags: Iterable[str] | None = None, limit: int | None = None
    ) -> list[str]:
        """The ids of the rules that are true of an event, at most `limit` of highest priority."""
        return service_calls.ids_of(self.send(service_calls.match([event], tags, limit))[0])

    def match_batch(
        self,
        events: Iterable[EventMapping],
        *,
        tags: Iterable[str] | None = None,
        limit: int | None = None,
    ) -> list[list[str]]:
        """For each event the ids of the rules that are true of it."""
        results = self.send(service_calls.match(list(events), tags, limit))
        return [service_calls.ids_of(result) for result in results]

    def why_not(self, event: EventMapping, n: int = 5) -> list[dict[str, Any]]:
        """The `n` rules that came nearest to matching, with what each lacked."""
        return list(self.send(service_calls.match([event], None, 0, why_not=n))[0]["near"])

    def explain(self, rule: object, event: EventMapping) -> dict[str, Any]:
        """Whether each node of a rule is true, false or undefined; `text` shows it as a tree."""
        return self.send(service_calls.explain(rule, event))

    def check(self, rule: object) -> dict[str, Any]:
        """Whether a rule is valid, and if not, where its error is."""
        return self.send(service_calls.check(rule))

    # Events

    def publish(self, event: EventMapping, *, idempotency_key: str | None = None) -> Accepted:
        """Publish an event. It will be delivered to every subscription that it matched.

        With an `idempotency_key`, any name, it may be published again: it is accepted once.
        """
        return self.send(service_calls.publish(event, idempotency_key))

    def publish_batch(
        self, events: Iterable[EventMapping], *, idempotency_key: str | None = None
    ) -> list[Accepted]:
        """Publish many events; either all are accepted, or none."""
        return self.send(service_calls.publish_batch(events, idempotency_key))

    # Subscriptions

    def subscribe(
        self,
        rule: object,
        subscriber: str,
        *,
        validity: float | None = None,
        webhook: str | None = None,
        data: object = None,
    ) -> Subscription:
        """Subscribe to events for `validity` seconds. Keep the `ticket` of the result.

        `data`, any JSON, comes with each event that is delivered.
        """
        form = self.send(service_calls.subscribe(rule, subscriber, validity, webhook, data))
        return Subscription(self, Ticket(form["id"], form["ticket"]), form)

    def subscription(self, name: str, ticket: str) -> Subscription:
        """A subscription that was created before."""
        return Subscription(self, Ticket(name, ticket), None)

    def subscriptions(self, search: str = "") -> Iterator[dict[str, Any]]:
        """All subscriptions whose subscriber or rule contains `search`; for administrators."""
        after: str | None = ""
        while after is not None:
            page = self.send(service_calls.list_subscriptions(after, 1_000, search))
            yield from page["subscriptions"]
            after = page["next"]

    # The service itself

    def schema(self) -> dict[str, Any] | None:
        """The event schema in its dict form; None if any event is accepted."""
        return self.send(service_calls.schema())

    def set_schema(self, form: Mapping[str, Any] | None) -> None:
        """Set the schema, or with None remove it; for administrators."""
        self.send(service_calls.set_schema(form))

    def extend_schema(self, form: Mapping[str, Any]) -> dict[str, Any] | None:
        """Add domains, attributes and types to the schema, and optional attributes to its types."""
        return self.send(service_calls.extend_schema(form))

    def wait_until_ready(
        self, seconds: float = READY_SECONDS, tell: Callable[[str], None] | None = None
    ) -> None:
        """Wait until the service is ready; `tell` is called with what it is waiting for.

        A service that was just started loads its rules, and perhaps compiles kernels, before it
        answers. After so many seconds the last refusal is raised. A service that does not answer
        at all is waited for thirty seconds at most.
        """
        wait = ReadinessWait(seconds, tell)
        while True:
            try:
                if wait.answered(self._http.get("/readyz")):
                    return
            except httpx.ConnectError as error:
                wait.refused(error)
            time.sleep(ASK_SECONDS)

    def status(self) -> dict[str, Any]:
        """The numbers of rules, subscriptions, waiting events and more."""
        return self.send(service_calls.status())

    def send(self, call: ServiceCall[T], secret: str | None = None) -> T:
        """Make a request. A refusal is raised as a RuleError, EventError or ServiceError."""
        sent = call.sent()
        response = self._http.request(
            call.method,
            call.path,
            params=call.params,
            content=sent["content"],
            headers={**self.authorisation(secret), **sent["headers"]},
            timeout=allowed_time(self._http.timeout, call.timeout),
        )
        if response.is_error:
            raise error_of(response, call.rule)
        return call.read(response.json() if response.content else None)

    def authorisation(self, secret: str | None = None) -> dict[str, str]:
        bearer = secret or self._key
        return {} if bearer is None else {"Authorization": f"Bearer {bearer}"}

    def stream(self, path: str, secret: str, headers: Mapping[str, str]) -> Any:
        allowed = streaming_time(self._http.timeout)
        headers = {**self.authorisation(secret), **headers}
        return self._http.stream("GET", path, headers=headers, timeout=allowed)


def allowed_time(usual: httpx.Timeout, more: float | None) -> httpx.Timeout:
    """The timeout of a request that asks the service to wait for `more` seconds."""
    if not more or usual.read is None:
        return usual
    return httpx.Timeout(
        connect=usual.connect, read=usual.read + more, write=usual.write, pool=usual.pool
    )


def streaming_time(usual: httpx.Timeout) -> httpx.Timeout:
    """The timeout of a stream: how long it may be silent."""
    return httpx.Timeout(connect=usual.connect, read=SILENCE, write=usual.write, pool=usual.pool)


class ServiceRules(MutableMapping[str, Any]):
    """The rules of the service: a mapping of ids to rules."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getitem__(self, rule_id: str) -> Node:
        """The rule as a tree; `str` of it is its text."""
        return parse(self.details(rule_id).rule)

    def __setitem__(self, rule_id: str, rule: object) -> None:
        self.add(rule_id, rule)

    def __delitem__(self, rule_id: str) -> None:
        try:
            self._client.send(service_calls.delete_rule(rule_id))
        except ServiceError as error:
            raise (KeyError(rule_id) if error.status == 404 else error) from None

    def __iter__(self) -> Iterator[str]:
        return (rule.id for rule in self.find())

    def __len__(self) -> int:
        return int(self._client.send(service_calls.list_rules("", 1, ""))["count"])

    def __contains__(self, rule_id: object) -> bool:
        try:
            return isinstance(rule_id, str) and bool(self.details(rule_id))
        except KeyError:
            return False

    def add(
        self,
        rule_id: str,
        rule: object,
        *,
        tags: Iterable[str] = (),
        priority: float = 0,
        data: object = None,
    ) -> None:
        """Set a rule, with tags to select it by, a priority, and data that it carries."""
        self._client.send(service_calls.put_rule(rule_id, rule, tags, priority, data))

    def remove(self, ids: Iterable[str]) -> int:
        """Remove rules, one request each. Returns how many existed.

        To remove a single rule, use `del`, which raises a KeyError if there is none.
        """
        removed = 0
        for rule_id in service_calls.distinct_ids(ids):
            try:
                del self[rule_id]
                removed += 1
            except KeyError:
                pass
        return removed

    def details(self, rule_id: str) -> Rule:
        """A rule with its tags, priority and data."""
        try:
            return self._client.send(service_calls.get_rule(rule_id))
        except ServiceError as error:
            raise (KeyError(rule_id) if error.status == 404 else error) from None

    def find(self, search: str = "") -> Iterator[Rule]:
        """The rules whose id or text contains `search`, in the order of ids."""
        after: str | None = ""
        while after is not None:
            page = self._client.send(service_calls.list_rules(after, 1_000, search))
            yield from map(rule_of, page["rules"])
            after = page["next"]

    def replace(
        self, rules: Any, *, version: int | None = None, dry_run: bool = False
    ) -> dict[str, Any]:
        """Replace all rules in one step by a mapping, pairs or `Rule`s.

        With `version`, only if the rules still have that version; with `dry_run`, nothing is
        changed, and the result says what would be.
        """
        return self._client.send(service_calls.replace_rules(rules, version, dry_run))


class Subscription:
    """A subscription, and the events that match it."""

    def __init__(self, client: Client, ticket: Ticket, form: dict[str, Any] | None) -> None:
        self._client = client
        self.id = ticket.id
        self.ticket = ticket.ticket
        self._form = form

    def __repr__(self) -> str:
        return f"<Subscription {self.id}>"

    @property
    def form(self) -> dict[str, Any]:
        """As the service last described it: rule, subscriber, created, expires, delivery."""
        return self._form if self._form is not None else self.read()

    def _send(self, call: ServiceCall[T]) -> T:
        return self._client.send(call, self.ticket)

    def read(self) -> dict[str, Any]:
        """Fetch the subscription from the service."""
        self._form = self._send(service_calls.read_subscription(self.id))
        return self._form

    def change(
        self,
        rule: object = None,
        *,
        subscriber: str | None = None,
        webhook: str | None = None,
        data: object = ...,
    ) -> None:
        """Change the rule, the name of the subscriber, the webhook, or the data (None: none)."""
        self._form = self._send(
            service_calls.change_subscription(self.id, rule, subscriber, webhook, data)
        )

    def renew(self, validity: float | None = None) -> None:
        """Extend the subscription: it expires `validity` seconds from now."""
        self._form = self._send(service_calls.renew(self.id, validity))

    def rotate_ticket(self) -> str:
        """Replace the ticket, and return the new one: the one before is refused from now on."""
        self.ticket = self._send(service_calls.rotate_ticket(self.id))
        return self.ticket

    def cancel(self) -> None:
        """Cancel the subscription."""
        self._send(service_calls.cancel(self.id))

    def events(
        self, *, wait: float = 0, limit: int = 100, acknowledge: int | None = None
    ) -> list[Delivered]:
        """The next events that are not acknowledged; waits up to `wait` seconds for the first."""
        return self._send(service_calls.poll(self.id, wait, limit, acknowledge))

    def acknowledge(self, event: Delivered | int) -> None:
        """Acknowledge all events up to this one; they are not delivered again."""
        number = event if isinstance(event, int) else event.id
        self._send(service_calls.acknowledge(self.id, number))

    def watch(
        self, *, after: int | None = None, limit: int | None = None, acknowledge: bool = True
    ) -> Iterator[Delivered]:
        """Yield events as they match, without end; a stream that breaks off is resumed.

        An event is acknowledged some time after the caller asks for the next one, so that an
        event whose handling fails is delivered again. `limit` is the number of events to yield.
        """
        progress = WatchProgress(after, limit, acknowledge)
        path = f"{service_calls.subscription_path(self.id)}/stream"
        try:
            while not progress.finished():
                try:
                    with self._client.stream(path, self.ticket, progress.headers()) as response:
                        if response.is_error:
                            response.read()
                            raise error_of(response)
                        for event in self._received(response, progress):
                            yield event
                            progress.handled(event)
                            if progress.finished():
                                break
                    pause = 0.0 if progress.finished() else progress.wait()
                except httpx.TransportError:
                    pause = progress.wait()
                except ServiceError as error:
                    if error.status not in (429, 503):
                        raise
                    pause = progress.wait(error)
                time.sleep(pause)
        finally:
            self._acknowledge(progress, at_once=True)

    def _received(self, response: httpx.Response, progress: WatchProgress) -> Iterator[Delivered]:
        messages = EventStreamParser()
        for part in response.iter_bytes():
            for message in messages.add(part):
                self._acknowledge(progress)
                event = progress.read(message)
                if event is not None:
                    yield event

    def _acknowledge(self, progress: WatchProgress, at_once: bool = False) -> None:
        number = progress.due(at_once)
        if number is not None:
            try:
                self.acknowledge(number)
            except (ServiceError, httpx.TransportError):
                pass  # the event is delivered again, which callers have to expect anyway
