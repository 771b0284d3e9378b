"""The lists that rules name: they change while events are matched, and no rule is built again.

Both matchers, that of the rules and that of the subscriptions, look values up in the same lists.
A change is written to the database first; memory follows in the order of the commits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from sqlalchemy import Connection, Engine

from matchwood.language.errors import RuleError
from matchwood.language.named_lists import LiveLists, NamedList
from matchwood.service.problems import RequestProblem
from matchwood.service.rules.stored_lists import (
    ListFacts,
    read_list,
    remove_list,
    store_list,
    stored_lists,
    written,
)
from matchwood.service.settings import Limits
from matchwood.service.storage.writer import Counters, DatabaseWriter


class ListStore:
    """All lists of a service. Changes are made one after another.

    `changing` is entered around a change in memory, so that answers are of before or of after it.
    """

    def __init__(self, engine: Engine, writer: DatabaseWriter, limits: Limits) -> None:
        self._engine = engine
        self._writer = writer
        self._limits = limits
        self._order = asyncio.Lock()
        self.changing: Callable[[], AbstractContextManager[Any]] = nullcontext
        self.live = LiveLists()
        self.stored: dict[str, ListFacts] = {}

    def load(self) -> None:
        """Load all lists of the database."""
        with self._engine.connect() as connection:
            self.stored = stored_lists(connection)
            self.live.become({name: read_list(connection, name) for name in self.stored})

    @property
    def values(self) -> int:
        """The number of values of all lists."""
        return sum(stored.size for stored in self.stored.values())

    def get(self, name: str) -> tuple[ListFacts, NamedList]:
        """A list, or a problem."""
        stored, values = self.stored.get(name), self.live.get(name)
        if stored is None or not isinstance(values, NamedList):
            raise RequestProblem("not-found", f"there is no list {name!r}")
        return stored, values

    def page(self, after: str, limit: int, search: str) -> list[ListFacts]:
        """Lists in the order of their names, which contain `search`."""
        known = self.stored
        names = sorted(name for name in known if name > after and search.lower() in name.lower())
        return [known[name] for name in names[:limit]]

    async def put(
        self, name: str, values: Iterable[object], expected: int | None
    ) -> tuple[ListFacts, bool]:
        """Set a list. Returns what is known of it, and whether it is new."""
        try:
            made = await asyncio.to_thread(NamedList, values)
        except RuleError as error:
            raise RequestProblem("invalid-list", error.reason) from None
        bodies = await asyncio.to_thread(written, made)
        async with self._order:
            is_new = name not in self.stored
            self._check_sizes(name, len(made), expected)

            def work(connection: Connection, counters: Counters) -> ListFacts:
                return store_list(connection, counters, name, len(made), bodies)

            def applied(stored: ListFacts) -> None:
                with self.changing():
                    self.live[name] = made
                self.stored = {**self.stored, name: stored}

            return await asyncio.wrap_future(self._writer.submit(work, applied)), is_new

    async def delete(self, name: str, expected: int | None) -> None:
        """Remove a list that no rule and no subscription names, or a problem."""
        async with self._order:
            if name not in self.stored:
                raise RequestProblem("not-found", f"there is no list {name!r}")
            self._expect(name, expected)

            def work(connection: Connection, counters: Counters) -> None:
                remove_list(connection, counters, name)

            def applied(result: None) -> None:
                with self.changing():
                    del self.live[name]
                self.stored = {at: stored for at, stored in self.stored.items() if at != name}

            await asyncio.wrap_future(self._writer.submit(work, applied))

    def _check_sizes(self, name: str, size: int, expected: int | None) -> None:
        self._expect(name, expected)
        before = self.stored[name].size if name in self.stored else 0
        total, most = self.values - before + size, self._limits.listed_values
        if total > most:
            detail = (
                f"all lists together may have {most:,} values, with this one they have {total:,}"
            )
            raise RequestProblem("list-too-large", detail, limit=most)
        if name not in self.stored and len(self.stored) >= self._limits.lists:
            detail = f"there may be {self._limits.lists:,} lists"
            raise RequestProblem("list-too-large", detail, limit=self._limits.lists)

    def _expect(self, name: str, expected: int | None) -> None:
        version = self.stored[name].version if name in self.stored else 0
        if expected is not None and expected != version:
            detail = f"expected version {expected}, the list {name!r} is at {version}"
            raise RequestProblem("version-conflict", detail, version=version)
