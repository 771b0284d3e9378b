"""`AsyncClient`: the service from asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any, TypeVar

import httpx

from matchwood.client import service_calls
from matchwood.client.answer_types import Accepted, Delivered, Rule, Ticket, rule_of
from matchwood.client.event_stream import EventStreamParser, WatchProgress
from matchwood.client.readiness import ASK_SECONDS, READY_SECONDS, ReadinessWait
from matchwood.client.service_calls import ServiceCall
from matchwood.client.service_error import ServiceError, error_of
from matchwood.client.service_lists import AsyncServiceLists
from matchwood.client.synchronous import TIMEOUT, allowed_time, streaming_time
from matchwood.language import parse
from matchwood.language.events import EventMapping
from matchwood.language.tree import Node

T = TypeVar("T")


class AsyncClient:
    """The service at a URL: the methods of `Client`, awaited."""

    def __init__(
        self, url: str = "http://127.0.0.1:8600", key: str | None = None, **options: Any
    ) -> None:
        """`options` go to httpx.AsyncClient: timeouts, certificates, a transport."""
        options.setdefault("timeout", TIMEOUT)
        self._http = httpx.AsyncClient(base_url=url, **options)
        self._key = key
        self.rules = AsyncServiceRules(self)
        self.lists = AsyncServiceLists(self)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    # Matching

    async def match(
        self, event: EventMapping, *, tags: Iterable[str] | None = None, limit: int | None = None
    ) -> list[str]:
        """The ids of the rules that are true of an event, at most `limit` of highest priority."""
        return service_calls.ids_of((await self.send(service_calls.match([event], tags, limit)))[0])

    async def match_batch(
        self,
        events: Iterable[EventMapping],
        *,
        tags: Iterable[str] | None = None,
        limit: int | None = None,
    ) -> list[list[str]]:
        """For each event the ids of the rules that are true of it."""
        results = await self.send(service_calls.match(list(events), tags, limit))
        return [service_calls.ids_of(result) for result in results]

    async def why_not(self, event: EventMapping, n: int = 5) -> list[dict[str, Any]]:
        """The `n` rules that came nearest to matching, with what each lacked."""
        results = await self.send(service_calls.match([event], None, 0, why_not=n))
        return list(results[0]["near"])

    async def explain(self, rule: object, event: EventMapping) -> dict[str, Any]:
        """Whether each node of a rule is true, false or undefined; `text` shows it as a tree."""
        return await self.send(service_calls.explain(rule, event))

    async def check(self, rule: object) -> dict[str, Any]:
        """Whether a rule is valid, and if not, where its error is."""
        return await self.send(service_calls.check(rule))

    # Events

    async def publish(self, event: EventMapping, *, idempotency_key: str | None = None) -> Accepted:
        """Publish an event. It will be delivered to every subscription that it matched.

        With an `idempotency_key`, any name, it may be published again: it is accepted once.
        """
        return await self.send(service_calls.publish(event, idempotency_key))

    async def publish_batch(
        self, events: Iterable[EventMapping], *, idempotency_key: str | None = None
    ) -> list[Accepted]:
        """Publish many events; either all are accepted, or none."""
        return await self.send(service_calls.publish_batch(events, idempotency_key))

    # Subscriptions

    async def subscribe(
        self,
        rule: object,
        subscriber: str,
        *,
        validity: float | None = None,
        webhook: str | None = None,
        data: object = None,
    ) -> AsyncSubscription:
        """Subscribe to events for `validity` seconds. Keep the `ticket` of the result.

        `data`, any JSON, comes with each event that is delivered.
        """
        form = await self.send(service_calls.subscribe(rule, subscriber, validity, webhook, data))
        return AsyncSubscription(self, Ticket(form["id"], form["ticket"]), form)

    def subscription(self, name: str, ticket: str) -> AsyncSubscription:
        """A subscription that was created before; its `form` is empty until `read`."""
        return AsyncSubscription(self, Ticket(name, ticket), {})

    async def subscriptions(self, search: str = "") -> AsyncIterator[dict[str, Any]]:
        """All subscriptions whose subscriber or rule contains `search`; for administrators."""
        after: str | None = ""
        while after is not None:
            page = await self.send(service_calls.list_subscriptions(after, 1_000, search))
            for subscription in page["subscriptions"]:
                yield subscription
            after = page["next"]

    # The service itself

    async def schema(self) -> dict[str, Any] | None:
        """The event schema in its dict form; None if any event is accepted."""
        return await self.send(service_calls.schema())

    async def set_schema(self, form: Mapping[str, Any] | None) -> None:
        """Set the schema, or with None remove it; for administrators."""
        await self.send(service_calls.set_schema(form))

    async def extend_schema(self, form: Mapping[str, Any]) -> dict[str, Any] | None:
        """Add domains, attributes and types to the schema, and optional attributes to its types."""
        return await self.send(service_calls.extend_schema(form))

    async def wait_until_ready(
        self, seconds: float = READY_SECONDS, tell: Callable[[str], None] | None = None
    ) -> None:
        """Wait until the service is ready; `tell` is called with what it is waiting for."""
        wait = ReadinessWait(seconds, tell)
        while True:
            try:
                if wait.answered(await self._http.get("/readyz")):
                    return
            except httpx.ConnectError as error:
                wait.refused(error)
            await asyncio.sleep(ASK_SECONDS)

    async def status(self) -> dict[str, Any]:
        """The numbers of rules, subscriptions, waiting events and more."""
        return await self.send(service_calls.status())

    async def send(self, call: ServiceCall[T], secret: str | None = None) -> T:
        """Make a request. A refusal is raised as a RuleError, EventError or ServiceError."""
        sent = call.sent()
        response = await self._http.request(
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


class AsyncServiceRules:
    """The rules of the service, by id."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def get(self, rule_id: str) -> Node:
        """The rule as a tree; a KeyError if there is none."""
        return parse((await self.details(rule_id)).rule)

    async def count(self) -> int:
        """The number of rules."""
        return int((await self._client.send(service_calls.list_rules("", 1, "")))["count"])

    async def add(
        self,
        rule_id: str,
        rule: object,
        *,
        tags: Iterable[str] = (),
        priority: float = 0,
        data: object = None,
    ) -> None:
        """Set a rule, with tags to select it by, a priority, and data that it carries."""
        await self._client.send(service_calls.put_rule(rule_id, rule, tags, priority, data))

    async def remove(self, ids: Iterable[str]) -> int:
        """Remove rules, one request each. Returns how many existed."""
        removed = 0
        for rule_id in service_calls.distinct_ids(ids):
            try:
                await self._client.send(service_calls.delete_rule(rule_id))
                removed += 1
            except ServiceError as error:
                if error.status != 404:
                    raise
        return removed

    async def details(self, rule_id: str) -> Rule:
        """A rule with its tags, priority and data."""
        try:
            return await self._client.send(service_calls.get_rule(rule_id))
        except ServiceError as error:
            raise (KeyError(rule_id) if error.status == 404 else error) from None

    async def find(self, search: str = "") -> AsyncIterator[Rule]:
        """The rules whose id or text contains `search`, in the order of ids."""
        after: str | None = ""
        while after is not None:
            page = await self._client.send(service_calls.list_rules(after, 1_000, search))
            for form in page["rules"]:
                yield rule_of(form)
            after = page["next"]

    async def replace(
        self, rules: Any, *, version: int | None = None, dry_run: bool = False
    ) -> dict[str, Any]:
        """Replace all rules in one step by a mapping, pairs or `Rule`s."""
        return await self._client.send(service_calls.replace_rules(rules, version, dry_run))


class AsyncSubscription:
    """A subscription, and the events that match it."""

    def __init__(self, client: AsyncClient, ticket: Ticket, form: dict[str, Any]) -> None:
        self._client = client
        self.id = ticket.id
        self.ticket = ticket.ticket
        self.form = form  # as the service last described it

    def __repr__(self) -> str:
        return f"<AsyncSubscription {self.id}>"

    async def _send(self, call: ServiceCall[T]) -> T:
        return await self._client.send(call, self.ticket)

    async def read(self) -> dict[str, Any]:
        """Fetch the subscription from the service."""
        self.form = await self._send(service_calls.read_subscription(self.id))
        return self.form

    async def change(
        self,
        rule: object = None,
        *,
        subscriber: str | None = None,
        webhook: str | None = None,
        data: object = ...,
    ) -> None:
        """Change the rule, the name of the subscriber, the webhook, or the data (None: none)."""
        change = service_calls.change_subscription(self.id, rule, subscriber, webhook, data)
        self.form = await self._send(change)

    async def renew(self, validity: float | None = None) -> None:
        """Extend the subscription: it expires `validity` seconds from now."""
        self.form = await self._send(service_calls.renew(self.id, validity))

    async def rotate_ticket(self) -> str:
        """Replace the ticket, and return the new one: the one before is refused from now on."""
        self.ticket = await self._send(service_calls.rotate_ticket(self.id))
        return self.ticket

    async def cancel(self) -> None:
        """Cancel the subscription."""
        await self._send(service_calls.cancel(self.id))

    async def events(
        self, *, wait: float = 0, limit: int = 100, acknowledge: int | None = None
    ) -> list[Delivered]:
        """The next events that are not acknowledged; waits up to `wait` seconds for the first."""
        return await self._send(service_calls.poll(self.id, wait, limit, acknowledge))

    async def acknowledge(self, event: Delivered | int) -> None:
        """Acknowledge all events up to this one; they are not delivered again."""
        number = event if isinstance(event, int) else event.id
        await self._send(service_calls.acknowledge(self.id, number))

    async def watch(
        self, *, after: int | None = None, limit: int | None = None, acknowledge: bool = True
    ) -> AsyncIterator[Delivered]:
        """Yield events as they match, without end; a stream that breaks off is resumed.

        An event is acknowledged some time after the caller asks for the next one, so that an
        event whose handling fails is delivered again. `limit` is the number of events to yield.
        """
        progress = WatchProgress(after, limit, acknowledge)
        path = f"{service_calls.subscription_path(self.id)}/stream"
        try:
            while not progress.finished():
                try:
                    headers = progress.headers()
                    async with self._client.stream(path, self.ticket, headers) as response:
                        if response.is_error:
                            await response.aread()
                            raise error_of(response)
                        async for event in self._received(response, progress):
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
                await asyncio.sleep(pause)
        finally:
            await self._acknowledge(progress, at_once=True)

    async def _received(
        self, response: httpx.Response, progress: WatchProgress
    ) -> AsyncIterator[Delivered]:
        messages = EventStreamParser()
        async for part in response.aiter_bytes():
            for message in messages.add(part):
                await self._acknowledge(progress)
                event = progress.read(message)
                if event is not None:
                    yield event

    async def _acknowledge(self, progress: WatchProgress, at_once: bool = False) -> None:
        number = progress.due(at_once)
        if number is not None:
            try:
                await self.acknowledge(number)
            except (ServiceError, httpx.TransportError):
                pass  # the event is delivered again, which callers have to expect anyway
