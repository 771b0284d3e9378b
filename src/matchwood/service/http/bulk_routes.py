"""Many subscriptions in one request: JSON lines in, one line of the answer for each.

A bad line is reported, and does not keep the others from being created.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import ValidationError

from matchwood.service.delivery.event_bodies import LINES, loads
from matchwood.service.http.models import SubscriptionIn
from matchwood.service.http.request_context import Ready, Subscriber, media_type, problems
from matchwood.service.http.subscription_routes import new_subscription
from matchwood.service.problems import RequestProblem
from matchwood.service.rules.subscription_store import NewSubscription, name_of
from matchwood.service.service import Service
from matchwood.service.settings import Limits
from matchwood.service.times import iso

router = APIRouter(tags=["subscriptions"], responses=problems(415))
# Lines whose subscriptions are created in one transaction.
LINES_AT_ONCE = 5_000
# Bytes of lines that are kept before their subscriptions are created.
BYTES_AT_ONCE = 4 << 20
# Bad lines after which the rest of an upload is not read: its answer would have many times as many
# bytes, and a small body can unfold to hundreds of millions of lines.
MOST_REJECTED = 100_000
# Bytes of the answer that are kept in memory; a longer answer goes to a temporary file.
ANSWER_BYTES = 64 << 10
# Bytes that JSON may spend on a byte of a text, with an escape like `\u0022`.
MOST_ESCAPED = 6
# Bytes of a line beyond those of its rule and its data.
LINE_OVERHEAD = 10_000
# Bytes of the answer that are sent at a time.
PART_BYTES = 64 << 10
BODY = {
    "requestBody": {
        "required": True,
        "content": {LINES[0]: {"schema": {"type": "string"}}},
    }
}


class UploadedLine(NamedTuple):
    """A line of an upload: a subscription to create, or what is wrong with the line."""

    number: int
    subscription: NewSubscription | None
    problem: RequestProblem | None


@router.post(
    "/subscriptions/bulk",
    openapi_extra=BODY,
    response_class=StreamingResponse,
    responses={200: {"content": {LINES[0]: {"schema": {"type": "string"}}}}},
)
async def subscribe_all(request: Request, service: Ready, caller: Subscriber) -> StreamingResponse:
    """JSON lines, each as in `POST /subscriptions`. The answer has one line for each, with its
    `line` number, and either `id`, `ticket`, `secret` and `expires`, or a `problem`. The last line
    says how many were `accepted` and `rejected`. After 100,000 rejected lines the rest is not read,
    and the last line says where (`stopped_after`).
    """
    if (kind := media_type(request.headers)) not in LINES:
        raise RequestProblem("unsupported-media-type", f"expected {LINES[0]}, found {kind!r}")
    answers = tempfile.SpooledTemporaryFile(ANSWER_BYTES, "w+b")  # noqa: SIM115  (closed once it is sent)
    try:
        await _create_all(request, service, caller.name, answers)
    except BaseException:
        answers.close()
        raise
    answers.seek(0)
    return StreamingResponse(_parts(answers), media_type=LINES[0])


async def _create_all(request: Request, service: Service, key: str, answers: Any) -> None:
    accepted = rejected = number = 0
    waiting: list[tuple[int, bytes]] = []
    size = 0

    async def create_waiting() -> None:
        nonlocal accepted, rejected
        lines = await service.storage.readers.run(_read_lines, service, list(waiting))
        waiting.clear()
        outcomes = await _create(service, key, lines)
        created = sum(line.subscription is not None for line in lines)
        accepted += created
        rejected += len(lines) - created
        text = "".join(json.dumps(outcome, ensure_ascii=False) + "\n" for outcome in outcomes)
        answers.write(text.encode("utf-8", "backslashreplace"))

    stopped = False
    async for line in _lines(request, service):
        number += 1
        if line.strip():
            waiting.append((number, line))
            size += len(line)
        if len(waiting) >= LINES_AT_ONCE or size >= BYTES_AT_ONCE:
            await create_waiting()
            size = 0
            if stopped := rejected >= MOST_REJECTED:
                break
    if waiting:
        await create_waiting()
    counts = {"accepted": accepted, "rejected": rejected}
    if stopped:
        counts["stopped_after"] = number
    answers.write(json.dumps(counts).encode() + b"\n")


async def _create(service: Service, key: str, lines: list[UploadedLine]) -> list[dict[str, Any]]:
    """Create the subscriptions of the good lines. Returns the answer to each line, in order."""
    good = {line.number: line.subscription for line in lines if line.subscription is not None}
    created = await service.subscriptions.create(list(good.values()), key) if good else []
    created_by_line = dict(zip(good, created, strict=True))
    outcomes: list[dict[str, Any]] = []
    for line in lines:
        if line.problem is not None:
            outcomes.append({"line": line.number, "problem": line.problem.to_json()})
            continue
        new = created_by_line[line.number]
        shown = {"id": name_of(new.number), "ticket": new.ticket, "secret": new.secret}
        outcomes.append({"line": line.number, **shown, "expires": iso(new.expires)})
    return outcomes


def longest_line(limits: Limits) -> int:
    """The most bytes of a line: the largest rule and the largest data fit in, however written."""
    return 2 * MOST_ESCAPED * limits.rule_bytes + LINE_OVERHEAD


async def _lines(request: Request, service: Service) -> AsyncIterator[bytes]:
    """The lines of a body as it arrives. One that is too long is cut, and refused later."""
    most = longest_line(service.settings.limits) + 1
    line = bytearray()
    async for part in request.stream():
        more, *others = part.split(b"\n")
        line += more[: most - len(line)]
        for other in others:
            yield bytes(line)
            line = bytearray(other[:most])
    if line:
        yield bytes(line)


def _read_lines(service: Service, lines: list[tuple[int, bytes]]) -> list[UploadedLine]:
    return [_read_line(service, number, line) for number, line in lines]


def _read_line(service: Service, number: int, line: bytes) -> UploadedLine:
    longest = longest_line(service.settings.limits)
    try:
        if len(line) > longest:
            detail = f"a line may have at most {longest:,} bytes, so that a rule and data fit in"
            raise RequestProblem("rule-too-large", detail, limit=longest)
        subscription = SubscriptionIn.model_validate(loads(line))
        return UploadedLine(number, new_subscription(service, subscription), None)
    except RequestProblem as problem:
        return UploadedLine(number, None, problem)
    except ValidationError as error:
        reasons = [
            f"{'.'.join(map(str, mistake['loc']))}: {mistake['msg']}" for mistake in error.errors()
        ]
        return UploadedLine(number, None, RequestProblem("invalid-request", "; ".join(reasons)))
    except ValueError as error:
        not_json = RequestProblem("bad-request", f"the line is not JSON: {error}")
        return UploadedLine(number, None, not_json)


async def _parts(answers: Any) -> AsyncIterator[bytes]:
    try:
        while part := await asyncio.to_thread(answers.read, PART_BYTES):
            yield part
    finally:
        answers.close()
