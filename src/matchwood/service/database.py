"""The tables of the service, and how SQLite and PostgreSQL are opened.

One process at a time has a database: it numbers events and subscriptions itself, and keeps in
memory who waits for what. A lock sees to that.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    Engine,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    event,
    text,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from matchwood.service.settings import Settings, SettingsError

metadata = MetaData()
# SQLite numbers rows only where the type of the key is spelled INTEGER.
Number = BigInteger().with_variant(Integer, "sqlite")

# The last number given of each kind, and the version of the rules. Rows may go; numbers stay used.
marks = Table(
    "marks",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("value", BigInteger, nullable=False),
)

rules = Table(
    "rules",
    metadata,
    Column("id", Text, primary_key=True),
    Column("rule", Text, nullable=False),
    Column("tags", Text, nullable=False),  # a JSON list
    Column("priority", Double, nullable=False),
)

rule_versions = Table(
    "rule_versions",
    metadata,
    Column("version", Number, primary_key=True),
    Column("at", Double, nullable=False),
    Column("added", Integer, nullable=False),
    Column("changed", Integer, nullable=False),
    Column("removed", Integer, nullable=False),
)

# Every schema of events that there was; the latest counts. Null: from then on there is none.
schemas = Table(
    "schemas",
    metadata,
    Column("version", Number, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("form", Text),  # JSON
)

subscriptions = Table(
    "subscriptions",
    metadata,
    Column("number", Number, primary_key=True, autoincrement=False),
    Column("subscriber", Text, nullable=False),
    Column("rule", Text, nullable=False),
    Column("created", Double, nullable=False),
    Column("expires", Double, nullable=False),
    Column("ticket", LargeBinary(32), nullable=False),  # its hash
    Column("key", Text, nullable=False),  # the name of the key that created it
    Column("kind", String(20), nullable=False),  # of its delivery: pull or webhook
    Column("url", Text),
    Column("secret", Text),  # what webhooks are signed with
    Column("change", BigInteger, nullable=False),  # the mark when its rule was last set
    Column("cursor", BigInteger, nullable=False),  # all events up to here are acknowledged
    # How many events were dropped because they were not fetched in time.
    Column("missed", BigInteger, nullable=False, server_default="0"),
    Index("subscriptions_by_change", "change"),
)

# The outbox: an event, and the numbers of all subscriptions that it matched.
events = Table(
    "events",
    metadata,
    Column("number", Number, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("body", Text, nullable=False),
    Column("matches", LargeBinary, nullable=False),  # little-endian unsigned 32-bit numbers
)

dead_letters = Table(
    "dead_letters",
    metadata,
    Column("number", Number, primary_key=True, autoincrement=False),
    Column("subscription", BigInteger, nullable=False),
    Column("event", BigInteger, nullable=False),
    Column("published", Double, nullable=False),
    Column("body", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("error", Text, nullable=False),
    Column("replay", Boolean, nullable=False),  # it is to be sent again
    Index("dead_letters_by_subscription", "subscription", "number"),
)


def open_engine(settings: Settings) -> Engine:
    """The engine of a service's database, whose folder is made if need be."""
    try:
        url = make_url(settings.url)
    except ArgumentError as error:
        raise SettingsError(f"database is a URL, found {settings.url!r}: {error}") from error
    settings.data.mkdir(parents=True, exist_ok=True)
    if url.get_backend_name() == "sqlite":
        if url.database in (None, "", ":memory:"):
            raise SettingsError("a database in memory is lost with the process: name a file")
        Path(str(url.database)).parent.mkdir(parents=True, exist_ok=True)
        engine = create_engine(url, connect_args={"timeout": 30, "check_same_thread": False})
        _tune_sqlite(engine, settings.synchronous)
        return engine
    if url.get_backend_name() != "postgresql":
        found = url.get_backend_name()
        raise SettingsError(f"database is of sqlite or postgresql, found {found!r}")
    if "+" not in url.drivername:
        url = url.set(drivername="postgresql+psycopg")
    try:
        return create_engine(url, pool_pre_ping=True, pool_size=8)
    except (ModuleNotFoundError, NoSuchModuleError) as error:
        raise SettingsError(
            "PostgreSQL needs psycopg: pip install 'matchwood[postgres]'"
        ) from error


def _tune_sqlite(engine: Engine, synchronous: str) -> None:
    @event.listens_for(engine, "connect")
    def tune(connection: Any, record: Any) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute(f"PRAGMA synchronous={synchronous}")
        # KiB, of each of up to fifteen connections; the system keeps the file in memory anyway.
        cursor.execute("PRAGMA cache_size=-16384")
        cursor.execute("PRAGMA journal_size_limit=67108864")
        cursor.close()


LOCK = 7_239_115_482  # of PostgreSQL: any number that nobody else uses


@contextmanager
def sole_use(engine: Engine, settings: Settings, patience: float = 10.0) -> Iterator[None]:
    """Hold the database for this process; of one that was killed, it is free again at once."""
    if engine.dialect.name == "sqlite":
        with _locked_file(Path(f"{engine.url.database}.lock"), patience):
            yield
        return
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        _lock_postgres(connection, patience)
        try:
            yield
        finally:
            connection.execute(text("SELECT pg_advisory_unlock(:lock)"), {"lock": LOCK})


def _lock_postgres(connection: Connection, patience: float) -> None:
    until = time.monotonic() + patience
    while not connection.scalar(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": LOCK}):
        if time.monotonic() > until:
            raise SettingsError("another process serves this database: stop it first")
        time.sleep(0.1)


@contextmanager
def _locked_file(path: Path, patience: float) -> Iterator[None]:
    import fcntl

    until = time.monotonic() + patience
    with path.open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise SettingsError(
                        f"another process serves the database beside {path}: stop it first"
                    ) from None
                time.sleep(0.1)
        yield


def migrate(engine: Engine, revision: str = "head") -> None:
    """Bring the tables of a database to a revision: make them, or change older ones."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":  # else it begins no transaction before tables change
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
