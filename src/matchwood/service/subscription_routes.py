"""Subscriptions over HTTP. To read, change, renew or cancel one takes its ticket."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Query

from matchwood.service.addresses import problem_of
from matchwood.service.forms import (
    Delivery,
    Renewal,
    SubscriptionChange,
    SubscriptionChanged,
    SubscriptionIn,
    SubscriptionNew,
    SubscriptionOut,
    SubscriptionPage,
)
from matchwood.service.problems import Problem
from matchwood.service.requests import Admin, Ready, Secret, Subscriber, problems
from matchwood.service.service import Service
from matchwood.service.subscriptions import Wanted, name_of, new_signing_secret, number_of
from matchwood.service.times import iso

router = APIRouter(tags=["subscriptions"], responses=problems(404))


@router.post("/subscriptions", status_code=201)
async def subscribe(service: Ready, caller: Subscriber, given: SubscriptionIn) -> SubscriptionNew:
    """Subscribe; when this is answered, events that are published match the rule."""
    wanted = wanted_of(service, given)
    made = (await service.subscriptions.create([wanted], caller.name))[0]
    return SubscriptionNew(
        id=name_of(made.number),
        ticket=made.ticket,
        secret=made.secret,
        subscriber=wanted.subscriber,
        rule=wanted.rule,
        created=iso(made.expires - wanted.validity),
        expires=iso(made.expires),
        delivery=Delivery(kind=given.delivery.kind, url=wanted.url),
        cursor=service.roster.cursor(made.number),
        missed=0,
    )


@router.get("/subscriptions")
async def list_subscriptions(
    service: Ready,
    caller: Admin,
    after: Annotated[str, Query(max_length=11)] = "",
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    search: Annotated[str, Query(max_length=512, pattern="^[^\\x00]*$")] = "",
) -> SubscriptionPage:
    """Subscriptions in the order in which they were made, a page at a time."""
    first = number_of(after) if after else 0
    if first is None:
        raise Problem("invalid-request", f"`after` is the id of a subscription, found {after!r}")
    rows = await service.read(service.subscriptions.page, first, limit + 1, search)
    shown = [shown_of(service, row) for row in rows[:limit]]
    more = shown[-1].id if len(rows) > limit else None
    return SubscriptionPage(count=service.roster.alive, subscriptions=shown, next=more)


@router.get("/subscriptions/{name}")
async def read_subscription(service: Ready, secret: Secret, name: str) -> SubscriptionOut:
    return shown_of(service, await authorised(service, name, secret))


@router.patch("/subscriptions/{name}")
async def change_subscription(
    service: Ready, secret: Secret, name: str, given: SubscriptionChange
) -> SubscriptionChanged:
    """Change the rule, the name of the subscriber or the delivery."""
    row = await authorised(service, name, secret)
    values: dict[str, Any] = {}
    if given.rule is not None:
        values["rule"] = await service.read(service.subscriptions.check_rule, given.rule)
    if given.subscriber is not None:
        values["subscriber"] = given.subscriber
    if given.delivery is not None:
        values |= delivery_of(service, given.delivery)
        values["secret"] = row.secret if values["url"] else None
        if values["url"] and row.secret is None:
            values["secret"] = new_signing_secret()
    if values:
        await service.subscriptions.change(row.number, values)
    shown = shown_of(service, await authorised(service, name, secret))
    told = values.get("secret") if row.secret is None else None
    return SubscriptionChanged(**shown.model_dump(), secret=told)


@router.post("/subscriptions/{name}/renew")
async def renew(service: Ready, secret: Secret, name: str, given: Renewal) -> SubscriptionOut:
    """Let it live for so long from now."""
    row = await authorised(service, name, secret)
    validity = service.subscriptions.check_validity(given.validity)
    await service.subscriptions.change(row.number, {"expires": time.time() + validity})
    return shown_of(service, await authorised(service, name, secret))


@router.delete("/subscriptions/{name}", status_code=204)
async def cancel(service: Ready, secret: Secret, name: str) -> None:
    """End it; nothing is delivered to it any more."""
    row = await authorised(service, name, secret)
    await service.subscriptions.remove([row.number])


async def authorised(service: Service, name: str, secret: str | None) -> Any:
    """The row of a subscription, for who has its ticket or is an administrator."""
    admin = service.keys.is_admin(secret)
    return await service.read(service.subscriptions.authorised, name, secret, admin)


def wanted_of(service: Service, given: SubscriptionIn) -> Wanted:
    """What is asked for, checked."""
    rule = service.subscriptions.check_rule(given.rule)
    validity = service.subscriptions.check_validity(given.validity)
    return Wanted(rule, given.subscriber, validity, **delivery_of(service, given.delivery))


def delivery_of(service: Service, delivery: Delivery) -> dict[str, Any]:
    if (delivery.kind == "webhook") != (delivery.url is not None):
        raise Problem("invalid-request", "a webhook has a `url`, and nothing else has one")
    if delivery.url is not None:
        private = service.settings.webhooks.private_addresses
        if problem := problem_of(delivery.url, private):
            raise Problem("invalid-request", f"the url of a webhook {problem}: {delivery.url}")
    return {"kind": delivery.kind, "url": delivery.url}


def shown_of(service: Service, row: Any) -> SubscriptionOut:
    return SubscriptionOut(
        id=name_of(row.number),
        subscriber=row.subscriber,
        rule=row.rule,
        created=iso(row.created),
        expires=iso(row.expires),
        delivery=Delivery(kind=row.kind, url=row.url),
        cursor=max(row.cursor, service.roster.cursor(row.number)),
        missed=row.missed,
    )
