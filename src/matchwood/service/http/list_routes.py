"""Lists with names, which rules look values up in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from matchwood.language.named_lists import NamedList
from matchwood.service.delivery.event_bodies import JSON, LINES
from matchwood.service.http.list_uploads import TEXT, check_kind, uploaded_values
from matchwood.service.http.models import ListOut, ListPage, ListWithValues
from matchwood.service.http.request_context import (
    Admin,
    Ready,
    expected_version,
    media_type,
    problems,
)
from matchwood.service.rules.stored_lists import ListFacts, pieces_of
from matchwood.service.times import iso

router = APIRouter(tags=["lists"], responses=problems())
# No slash, no control character, and not `.` or `..`, which no path can have.
NAME = "^[^/\\x00-\\x1f\\x7f]*[^/.\\x00-\\x1f\\x7f][^/\\x00-\\x1f\\x7f]*$"
ListName = Annotated[str, Path(min_length=1, max_length=200, pattern=NAME)]
UPLOAD = {
    "requestBody": {
        "required": True,
        "content": {
            JSON: {"schema": {"type": "array", "items": {}}},
            LINES[0]: {"schema": {"type": "string"}},
            TEXT: {"schema": {"type": "string"}},
        },
    }
}


@router.get("/lists")
async def list_lists(
    service: Ready,
    caller: Admin,
    after: Annotated[str, Query(max_length=200, pattern="^[^\\x00]*$")] = "",
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    search: Annotated[str, Query(max_length=200, pattern="^[^\\x00]*$")] = "",
) -> ListPage:
    """Lists in the order of their names, one page at a time. `search` looks in names."""
    found = service.lists.page(after, limit + 1, search)
    more = found[limit - 1].name if len(found) > limit else None
    shown = [_shown(stored) for stored in found[:limit]]
    return ListPage(count=len(service.lists.stored), lists=shown, next=more)


@router.get("/lists/{name}", response_model=ListWithValues, responses=problems(404))
async def read_list(service: Ready, caller: Admin, name: ListName) -> StreamingResponse:
    """A list with its values."""
    stored, values = service.lists.get(name)
    return StreamingResponse(_written(_shown(stored), values), media_type=JSON)


@router.put(
    "/lists/{name}",
    openapi_extra=UPLOAD,
    responses={201: {"model": ListOut, "description": "The list is new"}, **problems(412, 415)},
)
async def put_list(
    request: Request, response: Response, service: Ready, caller: Admin, name: ListName
) -> ListOut:
    """Set a list. Events that are matched after the answer see it, and no rule is built again. The
    body is a JSON list of strings, numbers, booleans, `{"date": …}` and `{"timestamp": …}`, the
    same as JSON lines, or text with one string per line. If a value is invalid, nothing changes,
    and the problem lists all invalid ones. With `If-Match`, a list is set only if it has that
    version; 0 says that there must be none.
    """
    check_kind(kind := media_type(request.headers))
    values = uploaded_values(kind, await request.body())
    stored, is_new = await service.lists.put(name, values, expected_version(request))
    response.status_code = 201 if is_new else 200
    return _shown(stored)


@router.delete("/lists/{name}", status_code=204, responses=problems(404, 409, 412))
async def delete_list(request: Request, service: Ready, caller: Admin, name: ListName) -> None:
    """Remove a list that no rule and no subscription names."""
    await service.lists.delete(name, expected_version(request))


def _shown(stored: ListFacts) -> ListOut:
    return ListOut(**{**stored._asdict(), "at": iso(stored.at)})


def _written(about: ListOut, values: NamedList) -> Iterator[str]:
    yield f'{about.model_dump_json()[:-1]},"values":['
    between = ""
    for piece in pieces_of(values):
        yield between + json.dumps(piece)[1:-1]
        between = ","
    yield "]}"
