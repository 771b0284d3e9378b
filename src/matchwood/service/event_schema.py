"""The schema of events of a service: rules and events are held to it, publishers extend it.

It is kept in the database, version by version. The file of the settings is where it begins.
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
from matchwood.language.tree import Node
from matchwood.schema import Schema, SchemaError
from matchwood.service.database import rules, schemas, subscriptions
from matchwood.service.problems import Problem
from matchwood.service.settings import Settings, SettingsError
from matchwood.service.writer import Marks, Writer

log = logging.getLogger("matchwood.service")
SHOWN = 1_000  # rules that a conflict names


class EventSchema:
    """The schema that counts now, and how it is changed; changes wait for each other."""

    def __init__(self, engine: Engine, writer: Writer, settings: Settings) -> None:
        self._engine = engine
        self._writer = writer
        self._settings = settings
        self._changing = asyncio.Lock()
        self._coming: Schema | None = None  # to which new rules are held already
        self.current: Schema | None = None
        self.version = 0

    def load(self) -> Schema | None:
        """The latest of the database; that of the settings, where it has had none."""
        with self._engine.connect() as connection:
            latest = select(schemas).order_by(schemas.c.version.desc()).limit(1)
            row = connection.execute(latest).one_or_none()
        given = self._of_settings()
        if row is not None:
            self.version = row.version
            self.current = None if row.form is None else Schema.from_dict(json.loads(row.form))
            if given is not None and self.version == 1 and given != self.current:
                log.warning("the schema of the settings is not taken: the database has another")
        elif given is not None:
            with self._engine.begin() as connection:
                self.version = self._write(connection, given, 1)
            self.current = given
        return self.current

    def _of_settings(self) -> Schema | None:
        try:
            return Schema.load(self._settings.schema) if self._settings.schema else None
        except (SchemaError, OSError) as error:
            raise SettingsError(f"schema: {error}") from error

    # What is held to it

    def check_rule(self, rule: object) -> None:
        """A RuleError where a rule does not fit."""
        for schema in (self.current, self._coming):
            if schema is not None:
                schema.admit(rule)

    def check_event(self, event: Mapping[str, object]) -> None:
        """An EventError where an event breaks R1, R2 or R3."""
        if self.current is not None:
            self.current.admit_event(event)

    # Changes

    async def extend(
        self, form: object, expected: int | None, use: Callable[[Schema | None], None]
    ) -> None:
        """Add to the schema; rules that fit it still do."""
        async with self._changing:
            self._expect(expected)
            if self.current is None:
                detail = "there is no schema to extend: an administrator sets one with PUT /schema"
                raise Problem("not-found", detail)
            try:
                extended = self.current.extend(form)
            except SchemaError as error:
                raise Problem("invalid-schema", str(error)) from None
            await self._change(extended, use)

    async def replace(
        self, form: object, expected: int | None, use: Callable[[Schema | None], None]
    ) -> None:
        """Put another schema, or none, in its place, if all rules fit that."""
        async with self._changing:
            self._expect(expected)
            try:
                schema = None if form is None else Schema.from_dict(form)
            except SchemaError as error:
                raise Problem("invalid-schema", str(error)) from None
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
            raise Problem("schema-conflict", error.reason) from None

        def work(connection: Connection, marks: Marks) -> int:
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
        return version

    def _expect(self, expected: int | None) -> None:
        if expected is not None and expected != self.version:
            detail = f"expected version {expected}, the schema is at {self.version}"
            raise Problem("version-conflict", detail, version=self.version)

    def _refuse_misfits(self, schema: Schema) -> None:
        errors: list[dict[str, Any]] = []
        count = 0
        for about, rule in self._rules():
            try:
                schema.admit(rule)
            except RuleError as error:
                count += 1
                if count <= SHOWN:
                    errors.append({**about, "reason": error.reason})
        if count:
            detail = f"{count:,} rules and subscriptions do not fit the schema; nothing was changed"
            raise Problem("schema-conflict", detail, errors=errors)

    def _rules(self) -> Iterator[tuple[dict[str, str], str | Node]]:
        alive = subscriptions.c.expires > time.time()
        with self._engine.connect().execution_options(yield_per=10_000) as connection:
            for row in connection.execute(select(rules.c.id, rules.c.rule)):
                yield {"rule": row.id}, row.rule
            wanted = select(subscriptions.c.number, subscriptions.c.rule).where(alive)
            for row in connection.execute(wanted):
                yield {"subscription": f"s{row.number}"}, row.rule
