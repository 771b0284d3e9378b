"""What waits to be delivered, since when and why; retried or skipped by hand."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from matchwood.service.http.models import DeliveryState, DeliveryStates, Rate, Rates, Skip
from matchwood.service.http.request_context import Admin, Ready, Secret, problems
from matchwood.service.http.subscription_routes import authorised
from matchwood.service.problems import RequestProblem
from matchwood.service.rates import SAMPLE_SECONDS, SAMPLES
from matchwood.service.rules.subscription_store import name_of
from matchwood.service.service import Service
from matchwood.service.times import iso

router = APIRouter(tags=["delivery"], responses=problems(404))


@router.get("/deliveries")
async def list_failing(
    service: Ready, caller: Admin, limit: Annotated[int, Query(ge=1, le=1_000)] = 100
) -> DeliveryStates:
    """The webhooks that do not accept their next event, those that have failed longest first."""
    failing = service.delivery.webhooks.failing
    longest = sorted(failing, key=lambda number: failing[number].since)[:limit]
    states = [await _state(service, number, "webhook") for number in longest]
    return DeliveryStates(count=len(failing), deliveries=states)


@router.get("/rates")
async def list_rates(
    service: Ready, caller: Admin, limit: Annotated[int, Query(ge=1, le=SAMPLES)] = SAMPLES
) -> Rates:
    """Events, matches, deliveries, calls of webhooks and dead letters per second, up to each of
    the latest moments, oldest first.
    """
    latest = list(service.rates.samples)[-limit:]
    samples = [Rate(**{**sample._asdict(), "at": iso(sample.at)}) for sample in latest]
    return Rates(seconds=SAMPLE_SECONDS, samples=samples)


@router.get("/subscriptions/{name}/delivery")
async def read_delivery(service: Ready, secret: Secret, name: str) -> DeliveryState:
    """How many events wait for a subscription, since when, and what keeps its webhook from them."""
    row = await authorised(service, name, secret)
    return await _state(service, row.number, row.kind)


@router.post("/subscriptions/{name}/delivery/retry")
async def retry(service: Ready, secret: Secret, name: str) -> DeliveryState:
    """Call the webhook now, rather than when its pause is over."""
    row = await authorised(service, name, secret)
    service.delivery.webhooks.retry_now(row.number)
    return await _state(service, row.number, row.kind)


@router.post("/subscriptions/{name}/delivery/skip", responses=problems(409))
async def skip(service: Ready, secret: Secret, name: str, skipped: Skip) -> DeliveryState:
    """Make the next event, which must be this one, a dead letter, and go on with those behind it.
    Only webhooks have events to skip; others acknowledge them.
    """
    row = await authorised(service, name, secret)
    webhooks = service.delivery.webhooks
    if webhooks.of(row.number) is None:
        raise RequestProblem("not-next", "the subscription has no webhook: acknowledge the event")
    if not await webhooks.skip(row.number, skipped.event):
        detail = f"event {skipped.event} is not the next one of subscription {name!r}"
        raise RequestProblem("not-next", detail)
    return await _state(service, row.number, row.kind)


async def _state(service: Service, number: int, kind: str) -> DeliveryState:
    delivery = service.delivery
    cursor = service.roster.cursor(number)
    following = await delivery.due_events.after(number, cursor, 1)
    failing = delivery.webhooks.failing_of(number)
    return DeliveryState(
        subscription=name_of(number),
        kind=kind,
        waiting=delivery.outbox.count_after(number, cursor),
        next_event=following[0].number if following else None,
        waiting_since=iso(following[0].at) if following else None,
        attempts=failing.attempts if failing else 0,
        last_error=failing.error if failing else None,
        failing_since=iso(failing.since) if failing else None,
        retry_at=iso(failing.retry_at) if failing else None,
        dead_letters=await service.storage.readers.run(delivery.dead_letters.count, number),
    )
