"""The event schema: every rule and event must fit it, and publishers may extend it.

The database has all its versions. The file named in the settings provides the first one.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, Engine, select

from matchwood.language.errors import RuleError
from matchwood.language.events import Event
from matchwood.language.tree import Node
from matchwood.schema import Schema, SchemaError
from matchwood.service.problems import RequestProblem
from matchwood.service.rules.rule_changes import announce
from matchwood.service.settings import Settings, SettingsError
from matchwood.service.storage.database import rules, schemas, subscriptions
from matchwood.service.storage.writer import Counters, DatabaseWriter

log = logging.getLogger("matchwood.service")
# The most rules that the problem of a conflict lists.
MOST_CONFLICTS_LISTED = 1_000


class EventSchema:
    """The current schema. Changes are made one after another.

    `use` is called with a new schema before it is written, and raises a RuleError if the matchers
    cannot use it.
    """

    def __init__(self, engine: Engine, writer: DatabaseWriter, settings: Settings) -> None:
        self._engine = engine
        self._writer = writer
        self._settings = settings
        self._changing = asyncio.Lock()
        self._coming: Schema | None = None  # being set: new rules must fit this one as well
        self.current: Schema | None = None
        self.version = 0

    def load(self) -> Schema | None:
        """Load the latest version of the database, or the schema of the settings if it has none."""
        with self._engine.connect() as connection:
            latest = select(schemas).order_by(schemas.c.version.desc()).limit(1)
            row = connection.execute(latest).one_or_none()
        configured = self._of_settings()
        if row is not None:
            self.version = row.version
            self.current = None if row.form is None else Schema.from_dict(json.loads(row.form))
            if configured is not None and self.version == 1 and configured != self.current:
                log.warning("the schema of the settings is ignored: the database has another")
        elif configured is not None:
            with self._engine.begin() as connection:
                self.version = self._write(connection, configured, 1)
            self.current = configured
        return self.current

    def _of_settings(self) -> Schema | None:
        try:
            return Schema.load(self._settings.schema) if self._settings.schema else None
        except (SchemaError, OSError) as error:
            raise SettingsError(f"schema: {error}") from error

    # Checks

    def check_rule(self, rule: object) -> None:
        """Raise a RuleError if a rule does not fit."""
        for schema in (self.current, self._coming):
            if schema is not None:
                schema.admit(rule)

    def check_event(self, event: Mapping[str, object]) -> None:
        """Raise an EventError if an event breaks R1, R2 or R3."""
        if self.current is not None:
            self.current.admit_event(Event(event, self._settings.aliases))

    # Changes

    async def extend(
        self, form: object, expected: int | None, use: Callable[[Schema | None], None]
    ) -> None:
        """Add to the schema; all existing rules still fit."""
        async with self._changing:
            self._expect(expected)
            if self.current is None:
                detail = (
                    "there is no schema to extend: an administrator can set one with PUT /schema"
                )
                raise RequestProblem("not-found", detail)
            try:
                extended = self.current.extend(form)
            except SchemaError as error:
                raise RequestProblem("invalid-schema", str(error)) from None
            await self._change(extended, use)

    async def replace(
        self, form: object, expected: int | None, use: Callable[[Schema | None], None]
    ) -> None:
        """Replace or remove the schema, if all existing rules fit the new one."""
        async with self._changing:
            self._expect(expected)
            try:
                schema = None if form is None else Schema.from_dict(form)
            except SchemaError as error:
                raise RequestProblem("invalid-schema", str(error)) from None
            self._coming = schema
            try:
                if schema is not None:
                    await asyncio.to_thread(self._refuse_misfits, schema)
                await self._change(schema, use)
            finally:
                self._coming = None

    async def _change(self, schema: Schema | None, use: Callable[[Schema | None], None]) -> None:
        try:
            await asyncio.to_thread(use, schema)
        except RuleError as error:
            raise RequestProblem("schema-conflict", error.reason) from None

        def work(connection: Connection, counters: Counters) -> int:
            return self._write(connection, schema, self.version + 1)

        try:
            self.version = await asyncio.wrap_future(self._writer.submit(work))
        except BaseException:
            await asyncio.to_thread(use, self.current)
            raise
        self.current = schema

    def _write(self, connection: Connection, schema: Schema | None, version: int) -> int:
        form = None if schema is None else json.dumps(schema.to_dict())
        row = {"version": version, "at": time.time(), "form": form}
        connection.execute(schemas.insert().values(**row))
        announce(connection)
        return version

    def _expect(self, expected: int | None) -> None:
        if expected is not None and expected != self.version:
            detail = f"expected version {expected}, the schema is at {self.version}"
            raise RequestProblem("version-conflict", detail, version=self.version)

    def _refuse_misfits(self, schema: Schema) -> None:
        errors: list[dict[str, Any]] = []
        count = 0
        for about, rule in self._rules():
            try:
                schema.admit(rule)
            except RuleError as error:
                count += 1
                if count <= MOST_CONFLICTS_LISTED:
                    errors.append({**about, "reason": error.reason})
        if count:
            detail = f"{count:,} rules and subscriptions do not fit the schema; nothing was changed"
            raise RequestProblem("schema-conflict", detail, errors=errors)

    def _rules(self) -> Iterator[tuple[dict[str, str], str | Node]]:
        alive = subscriptions.c.expires > time.time()
        with self._engine.connect().execution_options(yield_per=10_000) as connection:
            for row in connection.execute(select(rules.c.id, rules.c.rule)):
                yield {"rule": row.id}, row.rule
            wanted = select(subscriptions.c.number, subscriptions.c.rule).where(alive)
            for row in connection.execute(wanted):
                yield {"subscription": f"s{row.number}"}, row.rule
