"""The tables of the service, and how SQLite and PostgreSQL are opened.

One process at a time has a database (`holding`): it numbers events and subscriptions itself, and
keeps in memory who waits for what.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
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
    # How often the webhook has failed with its next event, and when it is called again.
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("retry_at", Double, nullable=False, server_default="0"),
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
