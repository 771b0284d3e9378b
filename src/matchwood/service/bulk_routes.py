"""Many subscriptions at once: JSON lines stream in, bad ones are told, the rest is taken."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import ValidationError

from matchwood.service.bodies import LINES, kind_of, loads
from matchwood.service.forms import SubscriptionIn
from matchwood.service.problems import Problem
from matchwood.service.requests import Ready, Subscriber, problems
from matchwood.service.service import Service
from matchwood.service.subscription_routes import wanted_of
from matchwood.service.subscriptions import Wanted, name_of
from matchwood.service.times import iso

router = APIRouter(tags=["subscriptions"], responses=problems(415))
AT_ONCE = 5_000  # lines that are made subscriptions together
IN_MEMORY = 8 << 20  # bytes of the answer; more of it goes to a file
BODY = {
    "requestBody": {
        "required": True,
        "content": {LINES[0]: {"schema": {"type": "string"}}},
    }
}


class Line(NamedTuple):
    """A line of an upload: a subscription that is wanted, or what is wrong with it."""

    number: int
    wanted: Wanted | None
    problem: Problem | None


@router.post(
    "/subscriptions/bulk",
    openapi_extra=BODY,
    response_class=StreamingResponse,
    responses={200: {"content": {LINES[0]: {"schema": {"type": "string"}}}}},
)
async def subscribe_all(request: Request, service: Ready, caller: Subscriber) -> StreamingResponse:
    """JSON lines of what `POST /subscriptions` takes. The answer has a line for each: `line`, and
    `id`, `ticket`, `secret` and `expires`, or a `problem`; then one with how many were `accepted`
    and `rejected`.
    """
    if kind_of(request) not in LINES:
        raise Problem("unsupported-media-type", f"expected {LINES[0]}, found {kind_of(request)!r}")
    answers = tempfile.SpooledTemporaryFile(IN_MEMORY, "w+b")  # noqa: SIM115  (is sent later)
    try:
        await _take_all(request, service, caller.name, answers)
    except BaseException:
        answers.close()
        raise
    answers.seek(0)
    return StreamingResponse(_parts(answers), media_type=LINES[0])


async def _take_all(request: Request, service: Service, key: str, answers: Any) -> None:
    accepted = rejected = number = 0
    waiting: list[tuple[int, bytes]] = []

    async def take() -> None:
        nonlocal accepted, rejected
        lines = await service.read(_read_lines, service, list(waiting))
        waiting.clear()
        good = [line for line in lines if line.wanted is not None]
        made = (
            await service.subscriptions.create([line.wanted for line in good], key) if good else []
        )
        told: dict[int, dict[str, Any]] = {}
        for line, new in zip(good, made, strict=True):
            about = {"id": name_of(new.number), "ticket": new.ticket, "secret": new.secret}
            told[line.number] = {"line": line.number, **about, "expires": iso(new.expires)}
        for line in lines:
            if line.problem is not None:
                told[line.number] = {"line": line.number, "problem": line.problem.to_json()}
        accepted += len(good)
        rejected += len(lines) - len(good)
        text = "".join(json.dumps(told[n], ensure_ascii=False) + "\n" for n in sorted(told))
        answers.write(text.encode("utf-8", "backslashreplace"))

    async for line in _lines(request, service):
        number += 1
        if line.strip():
            waiting.append((number, line))
        if len(waiting) >= AT_ONCE:
            await take()
    if waiting:
        await take()
    answers.write(json.dumps({"accepted": accepted, "rejected": rejected}).encode() + b"\n")


async def _lines(request: Request, service: Service) -> AsyncIterator[bytes]:
    """The lines of a body, as it comes; one that is too long is cut, and so refused later."""
    most = service.settings.limits.rule_bytes + 10_000
    rest = b""
    async for part in request.stream():
        *whole, rest = (rest + part).split(b"\n")
        for line in whole:
            yield line[: most + 1]
        rest = rest[: most + 1]
    if rest:
        yield rest


def _read_lines(service: Service, lines: list[tuple[int, bytes]]) -> list[Line]:
    return [_read_line(service, number, line) for number, line in lines]


def _read_line(service: Service, number: int, line: bytes) -> Line:
    most = service.settings.limits.rule_bytes + 10_000
    try:
        if len(line) > most:
            raise Problem("rule-too-large", f"a line has at most {most:,} bytes", limit=most)
        given = SubscriptionIn.model_validate(loads(line))
        return Line(number, wanted_of(service, given), None)
    except Problem as problem:
        return Line(number, None, problem)
    except ValidationError as error:
        found = error.errors()
        reasons = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found]
        return Line(number, None, Problem("invalid-request", "; ".join(reasons)))
    except ValueError as error:
        return Line(number, None, Problem("bad-request", f"is not JSON: {error}"))


async def _parts(answers: Any) -> AsyncIterator[bytes]:
    try:
        while part := await asyncio.to_thread(answers.read, 1 << 20):
            yield part
    finally:
        answers.close()
