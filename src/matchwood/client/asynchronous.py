"""`AsyncClient`: the service from a program that does other things meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, TypeVar

import httpx

from matchwood.client import calls
from matchwood.client.answers import Accepted, Delivered, Rule, Ticket, rule_of
from matchwood.client.calls import Call, Event
from matchwood.client.errors import ServiceError, error_of
from matchwood.client.streams import Messages, Progress
from matchwood.client.synchronous import TIMEOUT, allowed_time, streaming_time
from matchwood.language.text import parse
from matchwood.language.tree import Node

T = TypeVar("T")


class AsyncClient:
    """The service at an address; what `Client` does, awaited."""

    def __init__(
        self, url: str = "http://127.0.0.1:8600", key: str | None = None, **options: Any
    ) -> None:
        """`options` are those of httpx.AsyncClient: timeouts, certificates, a transport."""
        options.setdefault("timeout", TIMEOUT)
        self._http = httpx.AsyncClient(base_url=url, **options)
        self._key = key
        self.rules = AsyncRules(self)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    # Matching

    async def match(
        self, event: Event, *, tags: Iterable[str] | None = None, limit: int | None = None
    ) -> list[str]:
        """The ids of the rules that are true of an event."""
        return calls.ids_of((await self.send(calls.match([event], tags, limit)))[0])

    async def match_batch(
        self,
        events: Iterable[Event],
        *,
        tags: Iterable[str] | None = None,
        limit: int | None = None,
    ) -> list[list[str]]:
        """For each of many events the ids of the rules that are true of it."""
        found = await self.send(calls.match(list(events), tags, limit))
        return [calls.ids_of(one) for one in found]

    async def why_not(self, event: Event, n: int = 5) -> list[dict[str, Any]]:
        """The n rules that came nearest to matching, with what each lacked."""
        found = await self.send(calls.match([event], None, 0, why_not=n))
        return list(found[0]["near"])

    async def explain(self, rule: object, event: Event) -> dict[str, Any]:
        """True, false or undefined at each node of a rule; `text` is the same, drawn."""
        return await self.send(calls.explain(rule, event))

    async def check(self, rule: object) -> dict[str, Any]:
        """Whether a rule can be read, and where it cannot."""
        return await self.send(calls.check(rule))

    # Events

    async def publish(self, event: Event) -> Accepted:
        """Publish an event; once this returns it is delivered to all that it matched."""
        return await self.send(calls.publish(event))

    async def publish_batch(self, events: Iterable[Event]) -> list[Accepted]:
        """Publish many events, all or none."""
        return await self.send(calls.publish_batch(events))

    # Subscriptions

    async def subscribe(
        self,
        rule: object,
        subscriber: str,
        *,
        validity: float | None = None,
        webhook: str | None = None,
    ) -> AsyncSubscription:
        """Subscribe to events; `validity` is in seconds. Keep the `ticket` of what you get."""
        form = await self.send(calls.subscribe(rule, subscriber, validity, webhook))
        return AsyncSubscription(self, Ticket(form["id"], form["ticket"]), form)

    def subscription(self, name: str, ticket: str) -> AsyncSubscription:
        """A subscription that was made before; its `form` is there once it was `read`."""
        return AsyncSubscription(self, Ticket(name, ticket), {})

    async def subscriptions(self, search: str = "") -> AsyncIterator[dict[str, Any]]:
        """All subscriptions, for administrators."""
        after: str | None = ""
        while after is not None:
            page = await self.send(calls.list_subscriptions(after, 1_000, search))
            for one in page["subscriptions"]:
                yield one
            after = page["next"]

    # The service itself

    async def schema(self) -> dict[str, Any] | None:
        """The schema of events, in its dict form; None where any event is taken."""
        return await self.send(calls.schema())

    async def set_schema(self, form: Mapping[str, Any] | None) -> None:
        """Set the schema, or do without one; for administrators."""
        await self.send(calls.set_schema(form))

    async def extend_schema(self, form: Mapping[str, Any]) -> dict[str, Any] | None:
        """Add domains, attributes and types to the schema, and optional attributes to types."""
        return await self.send(calls.extend_schema(form))

    async def status(self) -> dict[str, Any]:
        """How much there is."""
        return await self.send(calls.status())

    async def send(self, call: Call[T], secret: str | None = None) -> T:
        """Make a request; a refusal is raised as what it is."""
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
        shown = secret or self._key
        return {} if shown is None else {"Authorization": f"Bearer {shown}"}

    def stream(self, path: str, secret: str, headers: Mapping[str, str]) -> Any:
        allowed = streaming_time(self._http.timeout)
        headers = {**self.authorisation(secret), **headers}
        return self._http.stream("GET", path, headers=headers, timeout=allowed)


class AsyncRules:
    """The rules of the service, by id."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def get(self, rule_id: str) -> Node:
        """The rule, as a tree; a KeyError where there is none."""
        return parse((await self.details(rule_id)).rule)

    async def count(self) -> int:
        """How many rules there are."""
        return int((await self._client.send(calls.list_rules("", 1, "")))["count"])

    async def add(
        self, rule_id: str, rule: object, *, tags: Iterable[str] = (), priority: float = 0
    ) -> None:
        """Set a rule, with tags to select it by and a priority."""
        await self._client.send(calls.put_rule(rule_id, rule, tags, priority))

    async def remove(self, ids: Iterable[str]) -> int:
        """Take many rules out, one after the other, and say how many were there."""
        there = 0
        for rule_id in calls.several(ids):
            try:
                await self._client.send(calls.delete_rule(rule_id))
                there += 1
            except ServiceError as error:
                if error.status != 404:
                    raise
        return there

    async def details(self, rule_id: str) -> Rule:
        """A rule with its tags and priority."""
        try:
            return await self._client.send(calls.get_rule(rule_id))
        except ServiceError as error:
            raise (KeyError(rule_id) if error.status == 404 else error) from None

    async def find(self, search: str = "") -> AsyncIterator[Rule]:
        """The rules in whose id or text there is a text, in the order of ids."""
        after: str | None = ""
        while after is not None:
            page = await self._client.send(calls.list_rules(after, 1_000, search))
            for one in page["rules"]:
                yield rule_of(one)
            after = page["next"]

    async def replace(
        self, rules: Any, *, version: int | None = None, dry_run: bool = False
    ) -> dict[str, Any]:
        """Put a whole set (a mapping, pairs or `Rule`s) in place of the present one, at once."""
        return await self._client.send(calls.replace_rules(rules, version, dry_run))


class AsyncSubscription:
    """A subscription, and the events that matched it."""

    def __init__(self, client: AsyncClient, ticket: Ticket, form: dict[str, Any]) -> None:
        self._client = client
        self.id = ticket.id
        self.ticket = ticket.ticket
        self.form = form  # what the service told of it last

    def __repr__(self) -> str:
        return f"<AsyncSubscription {self.id}>"

    async def _send(self, call: Call[T]) -> T:
        return await self._client.send(call, self.ticket)

    async def read(self) -> dict[str, Any]:
        """Ask the service for it again."""
        self.form = await self._send(calls.read_subscription(self.id))
        return self.form

    async def change(
        self, rule: object = None, *, subscriber: str | None = None, webhook: str | None = None
    ) -> None:
        """Change its rule, the name of the subscriber or the webhook."""
        change = calls.change_subscription(self.id, rule, subscriber, webhook)
        self.form = await self._send(change)

    async def renew(self, validity: float | None = None) -> None:
        """Let it live for so many seconds from now."""
        self.form = await self._send(calls.renew(self.id, validity))

    async def cancel(self) -> None:
        """End it."""
        await self._send(calls.cancel(self.id))

    async def events(
        self, *, wait: float = 0, limit: int = 100, acknowledge: int | None = None
    ) -> list[Delivered]:
        """The next events that are not acknowledged; `wait` seconds for the first, if need be."""
        return await self._send(calls.poll(self.id, wait, limit, acknowledge))

    async def acknowledge(self, event: Delivered | int) -> None:
        """All events up to this one have arrived, and are not delivered again."""
        number = event if isinstance(event, int) else event.id
        await self._send(calls.acknowledge(self.id, number))

    async def watch(
        self, *, after: int | None = None, limit: int | None = None, acknowledge: bool = True
    ) -> AsyncIterator[Delivered]:
        """Events as they match, without an end; where the stream breaks off, it is resumed.

        An event is acknowledged some time after the next one is asked for, so that one whose
        handling fails comes again. `limit` ends after so many.
        """
        progress = Progress(after, limit, acknowledge)
        path = f"{calls.subscription_path(self.id)}/stream"
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
                            progress.took(event)
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
        self, response: httpx.Response, progress: Progress
    ) -> AsyncIterator[Delivered]:
        messages = Messages()
        async for part in response.aiter_bytes():
            for message in messages.add(part):
                await self._acknowledge(progress)
                event = progress.read(message)
                if event is not None:
                    yield event

    async def _acknowledge(self, progress: Progress, at_once: bool = False) -> None:
        number = progress.due(at_once)
        if number is not None:
            try:
                await self.acknowledge(number)
            except (ServiceError, httpx.TransportError):
                pass  # it comes again, which whoever watches has to expect anyway
