"""Subscriptions. Reading, changing, renewing or cancelling one requires its ticket."""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from matchwood.service.delivery.addresses import url_problem
from matchwood.service.http.models import (
    Delivery,
    Renewal,
    SubscriptionChange,
    SubscriptionChanged,
    SubscriptionIn,
    SubscriptionNew,
    SubscriptionOut,
    SubscriptionPage,
    TicketNew,
)
from matchwood.service.http.request_context import Admin, Ready, Secret, Subscriber, problems
from matchwood.service.keys import hashed, new_secret
from matchwood.service.problems import RequestProblem
from matchwood.service.rules.subscription_store import (
    NewSubscription,
    name_of,
    new_signing_secret,
    number_of,
)
from matchwood.service.service import Service
from matchwood.service.times import iso
from matchwood.tables.rule_data import data_of

router = APIRouter(tags=["subscriptions"], responses=problems(404))


@router.post("/subscriptions", status_code=201)
async def subscribe(
    service: Ready, caller: Subscriber, requested: SubscriptionIn
) -> SubscriptionNew:
    """Subscribe. Events that are published after the answer are matched with the rule."""
    new = await service.storage.readers.run(new_subscription, service, requested)
    (created,) = await service.subscriptions.create([new], caller.name)
    return SubscriptionNew(
        id=name_of(created.number),
        ticket=created.ticket,
        secret=created.secret,
        subscriber=new.subscriber,
        rule=new.rule,
        created=iso(created.expires - new.validity),
        expires=iso(created.expires),
        delivery=requested.delivery,
        cursor=service.roster.cursor(created.number),
        missed=0,
        suspended=None,
        data=data_of(new.data),
    )


@router.get("/subscriptions")
async def list_subscriptions(
    service: Ready,
    caller: Admin,
    after: Annotated[str, Query(max_length=11)] = "",
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    search: Annotated[str, Query(max_length=512, pattern="^[^\\x00]*$")] = "",
    kind: Literal["pull", "webhook"] | None = None,
) -> SubscriptionPage:
    """Subscriptions in the order in which they were created, one page at a time. `search` looks in
    subscribers, rules and the URLs of webhooks. A page of long rules has fewer than `limit`.
    """
    first = number_of(after) if after else 0
    if first is None:
        raise RequestProblem(
            "invalid-request", f"`after` must be the id of a subscription, found {after!r}"
        )
    rows, more = await service.storage.readers.run(
        service.subscriptions.page, first, limit, search, kind
    )
    shown = [subscription_out(service, row) for row in rows]
    following = shown[-1].id if more else None
    return SubscriptionPage(count=service.roster.alive, subscriptions=shown, next=following)


@router.get("/subscriptions/{name}")
async def read_subscription(service: Ready, secret: Secret, name: str) -> SubscriptionOut:
    return subscription_out(service, await authorised(service, name, secret))


@router.patch("/subscriptions/{name}")
async def change_subscription(
    service: Ready, secret: Secret, name: str, change: SubscriptionChange
) -> SubscriptionChanged:
    """Change the rule, the name of the subscriber or the delivery."""
    row = await authorised(service, name, secret)
    values: dict[str, Any] = {}
    if change.rule is not None:
        values["rule"] = await service.storage.readers.run(
            service.subscriptions.check_rule, change.rule
        )
    if change.subscriber is not None:
        values["subscriber"] = change.subscriber
    if change.delivery is not None or "data" in change.model_fields_set:
        values |= await service.storage.readers.run(_changed_delivery, service, change, row)
    if values:
        await service.subscriptions.change(row.number, values)
    shown = subscription_out(service, await authorised(service, name, secret))
    signing = values.get("secret") if row.secret is None else None
    return SubscriptionChanged(**shown.model_dump(), secret=signing)


@router.post("/subscriptions/{name}/renew")
async def renew(service: Ready, secret: Secret, name: str, renewal: Renewal) -> SubscriptionOut:
    """Extend the subscription: it expires `validity` seconds from now."""
    row = await authorised(service, name, secret)
    validity = service.subscriptions.check_validity(renewal.validity)
    await service.subscriptions.change(row.number, {"expires": time.time() + validity})
    return subscription_out(service, await authorised(service, name, secret))


@router.post("/subscriptions/{name}/ticket")
async def rotate_ticket(service: Ready, secret: Secret, name: str) -> TicketNew:
    """Replace the ticket. The one before is refused from the answer on, and streams that were
    opened with it end.
    """
    row = await authorised(service, name, secret)
    ticket = new_secret("ticket")
    await service.subscriptions.change(row.number, {"ticket": hashed(ticket)})
    service.delivery.watchers.end(row.number)
    return TicketNew(id=name_of(row.number), ticket=ticket)


@router.delete("/subscriptions/{name}", status_code=204)
async def cancel(service: Ready, secret: Secret, name: str) -> None:
    """Cancel the subscription. Nothing is delivered to it any more."""
    row = await authorised(service, name, secret)
    await service.subscriptions.remove([row.number])


def _changed_delivery(service: Service, change: SubscriptionChange, row: Any) -> dict[str, Any]:
    """What a change says of the delivery and what comes with it; the rest is as it was."""
    values = {"kind": row.kind, "url": row.url, "format": row.format, "data": row.data}
    if change.delivery is not None:
        values |= checked_delivery(service, change.delivery)
    if "data" in change.model_fields_set:
        values["data"] = service.subscriptions.check_data(change.data)
    secret = row.secret or new_signing_secret()
    return values | {"secret": secret if values["url"] else None}


async def authorised(service: Service, name: str, secret: str | None) -> Any:
    """The row of a subscription, for the holder of its ticket or an administrator."""
    admin = service.keys.is_admin(secret)
    return await service.storage.readers.run(service.subscriptions.authorised, name, secret, admin)


def new_subscription(service: Service, requested: SubscriptionIn) -> NewSubscription:
    """The subscription that a request describes, with everything checked."""
    rule = service.subscriptions.check_rule(requested.rule)
    validity = service.subscriptions.check_validity(requested.validity)
    delivery = checked_delivery(service, requested.delivery)
    data = service.subscriptions.check_data(requested.data)
    return NewSubscription(rule, requested.subscriber, validity, **delivery, data=data)


def checked_delivery(service: Service, delivery: Delivery) -> dict[str, Any]:
    """The columns `kind`, `url` and `format` of a delivery, or a problem."""
    if delivery.kind != "webhook" and delivery.format != "json":
        raise RequestProblem("invalid-request", "only webhooks have another `format` than json")
    if (delivery.kind == "webhook") != (delivery.url is not None):
        raise RequestProblem(
            "invalid-request", "a webhook requires a `url`, and no other kind of delivery has one"
        )
    if delivery.url is not None:
        private = service.settings.webhooks.private_addresses
        if problem := url_problem(delivery.url, private):
            raise RequestProblem(
                "invalid-request", f"the url of a webhook {problem}, found {delivery.url}"
            )
    return {"kind": delivery.kind, "url": delivery.url, "format": delivery.format}


def subscription_out(service: Service, row: Any) -> SubscriptionOut:
    """A subscription as it is shown; its cursor may be ahead of the database."""
    return SubscriptionOut(
        id=name_of(row.number),
        subscriber=row.subscriber,
        rule=row.rule,
        created=iso(row.created),
        expires=iso(row.expires),
        delivery=Delivery(kind=row.kind, url=row.url, format=row.format),
        cursor=max(row.cursor, service.roster.cursor(row.number)),
        missed=row.missed,
        suspended=row.suspended,
        data=data_of(row.data),
    )
