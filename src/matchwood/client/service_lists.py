"""The lists with names of a service, for both clients."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Iterator, MutableMapping
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

from matchwood.client.answer_types import StoredList
from matchwood.client.service_calls import LINES, ServiceCall, distinct_ids
from matchwood.client.service_error import ServiceError
from matchwood.language.json.json_operands import literal_at, literal_to_json
from matchwood.language.named_lists import NamedList
from matchwood.language.values import Literal

T = TypeVar("T")
# Lists of one page.
PAGE = 1_000


class Sender(Protocol):
    """What lists need of a client that waits for answers."""

    def send(self, call: ServiceCall[T]) -> T:
        """Make a request."""


class AsyncSender(Protocol):
    """What lists need of a client whose answers are awaited."""

    async def send(self, call: ServiceCall[T]) -> T:
        """Make a request."""


class ServiceLists(MutableMapping[str, Any]):
    """The lists that rules name, by their names: `service.lists["tor"] = ["10.0.0.1"]`."""

    def __init__(self, client: Sender) -> None:
        self._client = client

    def __getitem__(self, name: str) -> list[Literal]:
        """The values of a list."""
        try:
            return self._client.send(_read(name))
        except ServiceError as error:
            raise _key_error(name, error) from None

    def __setitem__(self, name: str, values: Iterable[object]) -> None:
        self.set(name, values)

    def __delitem__(self, name: str) -> None:
        try:
            self._client.send(_remove(name))
        except ServiceError as error:
            raise _key_error(name, error) from None

    def __contains__(self, name: object) -> bool:
        return any(found.name == name for found in self.find(str(name)))

    def __iter__(self) -> Iterator[str]:
        return (found.name for found in self.find())

    def __len__(self) -> int:
        return int(self._client.send(_page("", 1, ""))["count"])

    def set(self, name: str, values: Iterable[object], *, version: int | None = None) -> StoredList:
        """Set a list; with `version`, only if it still has that one (0: if there is none)."""
        return self._client.send(_set(name, values, version))

    def find(self, search: str = "") -> Iterator[StoredList]:
        """The lists whose name contains `search`, in the order of names, without their values."""
        after: str | None = ""
        while after is not None:
            page = self._client.send(_page(after, PAGE, search))
            yield from map(_list_of, page["lists"])
            after = page["next"]


class AsyncServiceLists:
    """The lists that rules name, by their names."""

    def __init__(self, client: AsyncSender) -> None:
        self._client = client

    async def get(self, name: str) -> list[Literal]:
        """The values of a list; a KeyError if there is none."""
        try:
            return await self._client.send(_read(name))
        except ServiceError as error:
            raise _key_error(name, error) from None

    async def remove(self, names: Iterable[str]) -> int:
        """Remove lists that no rule names, one request each. Returns how many existed."""
        removed = 0
        for name in distinct_ids(names, "name"):
            try:
                await self._client.send(_remove(name))
                removed += 1
            except ServiceError as error:
                if error.status != 404:
                    raise
        return removed

    async def count(self) -> int:
        """The number of lists."""
        return int((await self._client.send(_page("", 1, "")))["count"])

    async def set(
        self, name: str, values: Iterable[object], *, version: int | None = None
    ) -> StoredList:
        """Set a list; with `version`, only if it still has that one (0: if there is none)."""
        return await self._client.send(_set(name, values, version))

    async def find(self, search: str = "") -> AsyncIterator[StoredList]:
        """The lists whose name contains `search`, in the order of names, without their values."""
        after: str | None = ""
        while after is not None:
            page = await self._client.send(_page(after, PAGE, search))
            for form in page["lists"]:
                yield _list_of(form)
            after = page["next"]


# Calls


def _path(name: str) -> str:
    return f"/lists/{quote(name, safe='')}"


def _read(name: str) -> ServiceCall[list[Literal]]:
    def values(form: Any) -> list[Literal]:
        return [literal_at(value, ()) for value in form["values"]]

    return ServiceCall("GET", _path(name), values)


def _set(name: str, values: Iterable[object], version: int | None) -> ServiceCall[StoredList]:
    lines = (json.dumps(literal_to_json(value)) for value in NamedList(values))
    headers = {"Content-Type": LINES}
    if version is not None:
        headers["If-Match"] = f'"{version}"'
    body = "\n".join(lines).encode()
    return ServiceCall("PUT", _path(name), _list_of, content=body, headers=headers)


def _remove(name: str) -> ServiceCall[None]:
    return ServiceCall("DELETE", _path(name), lambda form: None)


def _page(after: str, limit: int, search: str) -> ServiceCall[dict[str, Any]]:
    params = {"after": after, "limit": limit, "search": search}
    return ServiceCall("GET", "/lists", lambda form: dict(form), params=params)


def _list_of(form: dict[str, Any]) -> StoredList:
    return StoredList(form["name"], form["size"], form["version"], form["at"])


def _key_error(name: str, error: ServiceError) -> Exception:
    return KeyError(name) if error.status == 404 else error
