"""`Client`: the service from a program that waits for each answer."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any, TypeVar

import httpx

from matchwood.client import calls
from matchwood.client.answers import Accepted, Delivered, Rule, Ticket, rule_of
from matchwood.client.calls import Call, Event
from matchwood.client.errors import ServiceError, error_of
from matchwood.client.streams import SILENCE, Messages, Progress
from matchwood.language.text import parse
from matchwood.language.tree import Node

T = TypeVar("T")
TIMEOUT = 30.0  # seconds


class Client:
    """The service at an address; `key` is an API key, if the service has any.

    The names are those of the library: `rules` is a mapping of ids to rules, `match` gives the ids
    of those that are true of an event.
    """

    def __init__(
        self, url: str = "http://127.0.0.1:8600", key: str | None = None, **options: Any
    ) -> None:
        """`options` are those of httpx.Client: timeouts, certificates, a transport."""
        options.setdefault("timeout", TIMEOUT)
        self._http = httpx.Client(base_url=url, **options)
        self._key = key
        self.rules = Rules(self)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    # Matching

    def match(
        self, event: Event, *, tags: Iterable[str] | None = None, limit: int | None = None
    ) -> list[str]:
        """The ids of the rules that are true of an event."""
        return calls.ids_of(self.send(calls.match([event], tags, limit))[0])

    def match_batch(
        self,
        events: Iterable[Event],
        *,
        tags: Iterable[str] | None = None,
        limit: int | None = None,
    ) -> list[list[str]]:
        """For each of many events the ids of the rules that are true of it."""
        return [calls.ids_of(one) for one in self.send(calls.match(list(events), tags, limit))]

    def why_not(self, event: Event, n: int = 5) -> list[dict[str, Any]]:
        """The n rules that came nearest to matching, with what each lacked."""
        return list(self.send(calls.match([event], None, 0, why_not=n))[0]["near"])

    def explain(self, rule: object, event: Event) -> dict[str, Any]:
        """True, false or undefined at each node of a rule; `text` is the same, drawn."""
        return self.send(calls.explain(rule, event))

    def check(self, rule: object) -> dict[str, Any]:
        """Whether a rule can be read, and where it cannot."""
        return self.send(calls.check(rule))

    # Events

    def publish(self, event: Event) -> Accepted:
        """Publish an event; once this returns it is delivered to all that it matched."""
        return self.send(calls.publish(event))

    def publish_batch(self, events: Iterable[Event]) -> list[Accepted]:
        """Publish many events, all or none."""
        return self.send(calls.publish_batch(events))

    # Subscriptions

    def subscribe(
        self,
        rule: object,
        subscriber: str,
        *,
        validity: float | None = None,
        webhook: str | None = None,
    ) -> Subscription:
        """Subscribe to events; `validity` is in seconds. Keep the `ticket` of what you get."""
        form = self.send(calls.subscribe(rule, subscriber, validity, webhook))
        return Subscription(self, Ticket(form["id"], form["ticket"]), form)

    def subscription(self, name: str, ticket: str) -> Subscription:
        """A subscription that was made before."""
        return Subscription(self, Ticket(name, ticket), None)

    def subscriptions(self, search: str = "") -> Iterator[dict[str, Any]]:
        """All subscriptions, for administrators."""
        after: str | None = ""
        while after is not None:
            page = self.send(calls.list_subscriptions(after, 1_000, search))
            yield from page["subscriptions"]
            after = page["next"]

    # The service itself

    def schema(self) -> dict[str, Any] | None:
        """The schema of events, in its dict form; None where any event is taken."""
        return self.send(calls.schema())

    def set_schema(self, form: Mapping[str, Any] | None) -> None:
        """Set the schema, or do without one; for administrators."""
        self.send(calls.set_schema(form))

    def extend_schema(self, form: Mapping[str, Any]) -> dict[str, Any] | None:
        """Add domains, attributes and types to the schema, and optional attributes to types."""
        return self.send(calls.extend_schema(form))

    def status(self) -> dict[str, Any]:
        """How much there is."""
        return self.send(calls.status())

    def send(self, call: Call[T], secret: str | None = None) -> T:
        """Make a request; a refusal is raised as what it is."""
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
        shown = secret or self._key
        return {} if shown is None else {"Authorization": f"Bearer {shown}"}

    def stream(self, path: str, secret: str, headers: Mapping[str, str]) -> Any:
        allowed = streaming_time(self._http.timeout)
        headers = {**self.authorisation(secret), **headers}
        return self._http.stream("GET", path, headers=headers, timeout=allowed)


def allowed_time(usual: httpx.Timeout, more: float | None) -> httpx.Timeout:
    """The time that an answer may take where the service is asked to wait."""
    if not more or usual.read is None:
        return usual
    return httpx.Timeout(
        connect=usual.connect, read=usual.read + more, write=usual.write, pool=usual.pool
    )


def streaming_time(usual: httpx.Timeout) -> httpx.Timeout:
    """The time that a stream may be silent, rather than that an answer may take."""
    return httpx.Timeout(connect=usual.connect, read=SILENCE, write=usual.write, pool=usual.pool)


class Rules(MutableMapping[str, Any]):
    """The rules of the service: a mapping of ids to rules."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getitem__(self, rule_id: str) -> Node:
        """The rule, as a tree; `str` of it is its text."""
        return parse(self.details(rule_id).rule)

    def __setitem__(self, rule_id: str, rule: object) -> None:
        self.add(rule_id, rule)

    def __delitem__(self, rule_id: str) -> None:
        try:
            self._client.send(calls.delete_rule(rule_id))
        except ServiceError as error:
            raise (KeyError(rule_id) if error.status == 404 else error) from None

    def __iter__(self) -> Iterator[str]:
        return (rule.id for rule in self.find())

    def __len__(self) -> int:
        return int(self._client.send(calls.list_rules("", 1, ""))["count"])

    def __contains__(self, rule_id: object) -> bool:
        try:
            return isinstance(rule_id, str) and bool(self.details(rule_id))
        except KeyError:
            return False

    def add(
        self, rule_id: str, rule: object, *, tags: Iterable[str] = (), priority: float = 0
    ) -> None:
        """Set a rule, with tags to select it by and a priority."""
        self._client.send(calls.put_rule(rule_id, rule, tags, priority))

    def remove(self, ids: Iterable[str]) -> int:
        """Take many rules out, one after the other, and say how many were there.

        For one there is `del`, which raises a KeyError where there is none.
        """
        there = 0
        for rule_id in calls.several(ids):
            try:
                del self[rule_id]
                there += 1
            except KeyError:
                pass
        return there

    def details(self, rule_id: str) -> Rule:
        """A rule with its tags and priority."""
        try:
            return self._client.send(calls.get_rule(rule_id))
        except ServiceError as error:
            raise (KeyError(rule_id) if error.status == 404 else error) from None

    def find(self, search: str = "") -> Iterator[Rule]:
        """The rules in whose id or text there is a text, in the order of ids."""
        after: str | None = ""
        while after is not None:
            page = self._client.send(calls.list_rules(after, 1_000, search))
            yield from map(rule_of, page["rules"])
            after = page["next"]

    def replace(
        self, rules: Any, *, version: int | None = None, dry_run: bool = False
    ) -> dict[str, Any]:
        """Put a whole set (a mapping, pairs or `Rule`s) in place of the present one, at once.

        With `version`, only if the rules are still at that; with `dry_run`, nothing is changed.
        """
        return self._client.send(calls.replace_rules(rules, version, dry_run))


class Subscription:
    """A subscription, and the events that matched it."""

    def __init__(self, client: Client, ticket: Ticket, form: dict[str, Any] | None) -> None:
        self._client = client
        self.id = ticket.id
        self.ticket = ticket.ticket
        self._form = form

    def __repr__(self) -> str:
        return f"<Subscription {self.id}>"

    @property
    def form(self) -> dict[str, Any]:
        """What the service told of it last: rule, subscriber, created, expires, delivery."""
        return self._form if self._form is not None else self.read()

    def _send(self, call: Call[T]) -> T:
        return self._client.send(call, self.ticket)

    def read(self) -> dict[str, Any]:
        """Ask the service for it again."""
        self._form = self._send(calls.read_subscription(self.id))
        return self._form

    def change(
        self, rule: object = None, *, subscriber: str | None = None, webhook: str | None = None
    ) -> None:
        """Change its rule, the name of the subscriber or the webhook."""
        self._form = self._send(calls.change_subscription(self.id, rule, subscriber, webhook))

    def renew(self, validity: float | None = None) -> None:
        """Let it live for so many seconds from now."""
        self._form = self._send(calls.renew(self.id, validity))

    def cancel(self) -> None:
        """End it."""
        self._send(calls.cancel(self.id))

    def events(
        self, *, wait: float = 0, limit: int = 100, acknowledge: int | None = None
    ) -> list[Delivered]:
        """The next events that are not acknowledged; `wait` seconds for the first, if need be."""
        return self._send(calls.poll(self.id, wait, limit, acknowledge))

    def acknowledge(self, event: Delivered | int) -> None:
        """All events up to this one have arrived, and are not delivered again."""
        number = event if isinstance(event, int) else event.id
        self._send(calls.acknowledge(self.id, number))

    def watch(
        self, *, after: int | None = None, limit: int | None = None, acknowledge: bool = True
    ) -> Iterator[Delivered]:
        """Events as they match, without an end; where the stream breaks off, it is resumed.

        An event is acknowledged some time after the next one is asked for, so that one whose
        handling fails comes again. `limit` ends after so many.
        """
        progress = Progress(after, limit, acknowledge)
        path = f"{calls.subscription_path(self.id)}/stream"
        try:
            while not progress.finished():
                try:
                    with self._client.stream(path, self.ticket, progress.headers()) as response:
                        if response.is_error:
                            response.read()
                            raise error_of(response)
                        for event in self._received(response, progress):
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
                time.sleep(pause)
        finally:
            self._acknowledge(progress, at_once=True)

    def _received(self, response: httpx.Response, progress: Progress) -> Iterator[Delivered]:
        messages = Messages()
        for part in response.iter_bytes():
            for message in messages.add(part):
                self._acknowledge(progress)
                event = progress.read(message)
                if event is not None:
                    yield event

    def _acknowledge(self, progress: Progress, at_once: bool = False) -> None:
        number = progress.due(at_once)
        if number is not None:
            try:
                self.acknowledge(number)
            except (ServiceError, httpx.TransportError):
                pass  # it comes again, which whoever watches has to expect anyway
