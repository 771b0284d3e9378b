"""The tables of the service, and how SQLite and PostgreSQL are opened.

One process at a time serves a database (see `database_lock`): it numbers events and subscriptions
itself, and keeps in memory which events are waiting for which subscriptions.
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
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from matchwood.service.settings import Settings, SettingsError

metadata = MetaData()
# Options of connections to PostgreSQL, unless the URL has them: without these, a connection whose
# other end vanished, or whose packets a firewall drops, would be waited on for hours.
KEEPALIVES = {
    "connect_timeout": 10,  # seconds
    "keepalives": 1,
    "keepalives_idle": 30,  # seconds without traffic before the first probe
    "keepalives_interval": 10,  # seconds between probes
    "keepalives_count": 3,  # unanswered probes after which the connection is given up
    "tcp_user_timeout": 30_000,  # milliseconds that sent data may be unacknowledged
}
# SQLite takes a key as its row number only if its type is spelled INTEGER.
Number = BigInteger().with_variant(Integer, "sqlite")

# The last number handed out of each kind, the version of the rules, and who holds the lock.
# Rows of other tables may be deleted; their numbers are never handed out again.
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
    Column("data", Text, nullable=False, server_default=""),  # JSON; empty if it carries none
    Column("suspended", Text),  # why it is not matched; null if it is
    # The version at which it was last set or suspended.
    Column("version", BigInteger, nullable=False, server_default="0"),
    Index("rules_by_version", "version"),
)

# Rules that were removed, and at which version, for as long as replicas may ask for it.
removed_rules = Table(
    "removed_rules",
    metadata,
    Column("id", Text, primary_key=True),
    Column("version", BigInteger, nullable=False),
    Index("removed_rules_by_version", "version"),
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

# Every version of the event schema; the latest applies. A null form means "no schema".
schemas = Table(
    "schemas",
    metadata,
    Column("version", Number, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("form", Text),  # JSON
)

# The lists that rules look values up in, and their values: JSON lists, compressed by zlib.
value_lists = Table(
    "value_lists",
    metadata,
    Column("name", Text, primary_key=True),
    Column("version", BigInteger, nullable=False),  # the counter `lists` when it was last set
    Column("at", Double, nullable=False),
    Column("size", Integer, nullable=False),  # the number of its values
)

list_pieces = Table(
    "list_pieces",
    metadata,
    Column("name", Text, primary_key=True),
    Column("piece", Integer, primary_key=True, autoincrement=False),
    Column("body", LargeBinary, nullable=False),
)

subscriptions = Table(
    "subscriptions",
    metadata,
    Column("number", Number, primary_key=True, autoincrement=False),
    Column("subscriber", Text, nullable=False),
    Column("rule", Text, nullable=False),
    Column("created", Double, nullable=False),
    Column("expires", Double, nullable=False),
    Column("ticket", LargeBinary(32), nullable=False),  # the SHA-256 of the ticket
    Column("key", Text, nullable=False),  # the name of the key that created it
    Column("kind", String(20), nullable=False),  # of delivery: pull or webhook
    Column("url", Text),
    Column("secret", Text),  # signs the calls of its webhook
    Column("change", BigInteger, nullable=False),  # the counter when its rule was last set
    Column("cursor", BigInteger, nullable=False),  # events up to this number are acknowledged
    # The number of events that were dropped because they were not fetched in time.
    Column("missed", BigInteger, nullable=False, server_default="0"),
    # The number of failed calls of the webhook with its next event.
    Column("attempts", Integer, nullable=False, server_default="0"),
    # The Unix time at which the webhook is called again.
    Column("retry_at", Double, nullable=False, server_default="0"),
    # The error of the last call of the webhook, while its next event is not accepted.
    Column("last_error", Text),
    # The Unix time of the first failed call with the next event.
    Column("failing_since", Double, nullable=False, server_default="0"),
    Column("suspended", Text),  # why its rule is not matched; null if it is
    # JSON that comes with each of its events; empty if it has none.
    Column("data", Text, nullable=False, server_default=""),
    Column("format", String(20), nullable=False, server_default="json"),  # of a webhook's events
    Index("subscriptions_by_change", "change"),
)

# The outbox: one row per event, with the numbers of all subscriptions that it matched.
events = Table(
    "events",
    metadata,
    Column("number", Number, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("body", Text, nullable=False),
    Column("matches", LargeBinary, nullable=False),  # little-endian unsigned 32-bit numbers
)

# Publications with a name of the client's, which may be repeated and are accepted once.
publications = Table(
    "publications",
    metadata,
    Column("key", Text, primary_key=True),  # the name of the API key that published
    Column("name", String(255), primary_key=True),  # the client's own
    Column("at", Double, nullable=False),
    Column("digest", LargeBinary(32), nullable=False),  # of the body
    Column("first", BigInteger, nullable=False),  # the number of its first event
    Column("matched", Text, nullable=False),  # a JSON list: what each event matched
    Index("publications_by_time", "at"),
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
    Column("replay", Boolean, nullable=False),  # it is waiting to be sent again
    Index("dead_letters_by_subscription", "subscription", "number"),
)


def open_engine(settings: Settings) -> Engine:
    """Open the database of a service; its folder is created if it does not exist."""
    try:
        url = make_url(settings.url)
    except ArgumentError as error:
        raise SettingsError(f"database must be a URL, found {settings.url!r}: {error}") from error
    settings.data.mkdir(parents=True, exist_ok=True)
    if url.get_backend_name() == "sqlite":
        if url.database in (None, "", ":memory:"):
            raise SettingsError(
                "database must not be in memory, which ends with the process: name a file"
            )
        Path(str(url.database)).parent.mkdir(parents=True, exist_ok=True)
        engine = create_engine(url, connect_args={"timeout": 30, "check_same_thread": False})
        _tune_sqlite(engine, settings.synchronous)
        return engine
    if url.get_backend_name() != "postgresql":
        backend = url.get_backend_name()
        raise SettingsError(f"database must be a sqlite or postgresql URL, found {backend!r}")
    if "+" not in url.drivername:
        url = url.set(drivername="postgresql+psycopg")
    try:
        options = _keepalives(url)
        return create_engine(url, pool_pre_ping=True, pool_size=8, connect_args=options)
    except (ModuleNotFoundError, NoSuchModuleError) as error:
        raise SettingsError(
            "PostgreSQL needs psycopg: pip install 'matchwood[postgres]'"
        ) from error


def _keepalives(url: URL) -> dict[str, int]:
    return {name: value for name, value in KEEPALIVES.items() if name not in url.query}


def connection_parameters(engine: Engine) -> dict[str, Any]:
    """What psycopg connects to the same PostgreSQL with, for a connection outside the pool."""
    _, parameters = engine.dialect.create_connect_args(engine.url)
    return {**parameters, **_keepalives(engine.url)}


def _tune_sqlite(engine: Engine, synchronous: str) -> None:
    @event.listens_for(engine, "connect")
    def tune(connection: Any, record: Any) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute(f"PRAGMA synchronous={synchronous}")
        # In KiB, for each of up to fifteen connections; the operating system caches the file too.
        cursor.execute("PRAGMA cache_size=-16384")
        cursor.execute("PRAGMA journal_size_limit=67108864")
        cursor.close()


def migrate(engine: Engine, revision: str = "head") -> None:
    """Create the tables, or upgrade those of an older version, to a revision."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":  # else DDL would run outside a transaction
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def is_migrated(engine: Engine) -> bool:
    """Whether the tables are those that this release knows, neither older nor newer."""
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory

    newest = ScriptDirectory(str(Path(__file__).with_name("migrations"))).get_current_head()
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision() == newest
