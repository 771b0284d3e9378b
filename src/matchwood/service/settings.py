"""The settings of a service: a TOML file overrides defaults, the environment overrides both.

pydantic-settings would read them too, but its errors do not name the variable, and it accepts "80"
or true for an integer in a file unless files are validated a second time, strictly.
"""

from __future__ import annotations

import ipaddress
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from matchwood.language.aliases import Aliases, aliases_of

# The prefix of environment variables that are settings.
ENVIRONMENT_PREFIX = "MATCHWOOD_"
# Variables with this prefix that are read elsewhere, by the library and by the commands.
_OF_OTHERS = {"compile", "device", "kernels", "key", "server", "ticket"}
# How much alike two names are, from 0 to 1, if one is likely to be the other mistyped.
_NEARLY = 0.75
# Seconds of a day.
DAY = 86_400.0


class SettingsError(ValueError):
    """A setting cannot be used. The message names it, what was found, and what was expected."""


@dataclass(frozen=True)
class Limits:
    """Limits of one request, one key or the whole service. Each has its own kind of problem."""

    # Bytes of a request's body.
    body_bytes: int = 16 << 20
    # Bytes of a body that replaces all rules or creates subscriptions in bulk.
    upload_bytes: int = 1 << 30
    # Bytes of one event as JSON.
    event_bytes: int = 256 << 10
    # Bytes of one rule as text.
    rule_bytes: int = 64 << 10
    # Events in one batch.
    batch_events: int = 10_000
    # Matches in one answer of `POST /match`.
    batch_matches: int = 5_000_000
    # Bytes of one answer of `POST /match`.
    answer_bytes: int = 64 << 20
    # Bytes of memory for the bodies of all requests in progress.
    request_bytes: int = 128 << 20
    # Subscriptions in total.
    subscriptions: int = 5_000_000
    # Subscriptions that one key has created.
    subscriptions_per_key: int = 5_000_000
    # Open streams and waiting polls in total.
    streams: int = 2_000
    # Open streams and waiting polls of subscriptions that one key has created.
    streams_per_key: int = 2_000
    # Events per second that one key may publish; 0 means no limit.
    events_per_second: float = 0
    # Requests to publish that are in progress.
    publishes_under_way: int = 256
    # Events that are waiting to be delivered.
    outbox_events: int = 5_000_000
    # Pairs of a waiting event and a subscription; each takes six bytes of memory.
    outbox_deliveries: int = 250_000_000
    # Dead letters of one subscription; the oldest makes room for a new one.
    dead_letters_per_subscription: int = 10_000
    # Seconds of processor time that matching one event may take; 0 means no limit.
    match_seconds: float = 2.0
    # Seconds of processor time that one rule may take with one event before it is suspended.
    rule_seconds: float = 0.5
    # Connections in total; 0 means as many as the limit of open files allows.
    connections: int = 0
    # Connections from one address; 0 means half of all.
    connections_per_address: int = 0
    # Seconds within which the headers of a request must have arrived; 0 means no limit.
    header_seconds: float = 10.0
    # Seconds within which a body must have arrived, and one more for every 16 KiB; 0: no limit.
    body_seconds: float = 20.0
    # Bytes of memory for the bodies of the latest events.
    recent_bytes: int = 64 << 20
    # Bytes of answers that are in memory while they are sent: events of streams and polls, and all
    # other answers over 64 KiB.
    reader_bytes: int = 256 << 20
    # Seconds within which a client must take the next piece of an answer; 0 means no limit.
    reader_seconds: float = 60.0
    # Events per second that one key may send to `POST /match`; 0 means no limit.
    matches_per_second: float = 0
    # Lists with names.
    lists: int = 1_000
    # Values of all lists with names together.
    listed_values: int = 20_000_000


@dataclass(frozen=True)
class WebhookSettings:
    """How webhooks are called."""

    # Seconds within which a call must be answered.
    timeout: float = 10.0
    # Attempts after which an event becomes a dead letter.
    attempts: int = 12
    # Seconds before the second attempt; they double with every further attempt.
    first_delay: float = 1.0
    # The most seconds between two attempts.
    longest_delay: float = 3_600.0
    # Calls in progress in total.
    under_way: int = 256
    # Calls in progress to one host.
    under_way_a_host: int = 8
    # Whether webhooks may lead to loopback and private networks.
    private_addresses: bool = False


@dataclass(frozen=True)
class Key:
    """An API key, of which only the hash is stored."""

    name: str
    role: str  # admin, publisher or subscriber
    sha256: str


ROLES = ("admin", "publisher", "subscriber")


@dataclass(frozen=True)
class Settings:
    """All settings of a service.

    >>> Settings.read({"port": 9000, "limits": {"batch_events": 10}}, {}).limits.batch_events
    10
    >>> Settings.read({}, {"MATCHWOOD_PORT": "9000", "MATCHWOOD_LIMITS_STREAMS": "5"}).port
    9000
    """

    # The address to bind to; anything but loopback requires keys.
    host: str = "127.0.0.1"
    # The port to listen on.
    port: int = 8600
    # The folder of the snapshots, and of the database unless that has a URL.
    data: Path = Path("matchwood-data")
    # The URL of the database; empty means a SQLite file in `data`.
    database: str = ""
    # SQLite only: `full` survives a power failure, `normal` only a killed process.
    synchronous: str = "full"
    # Seconds that a subscription is valid if its request does not say.
    validity: float = DAY
    # The most seconds for which a subscription may be valid.
    longest_validity: float = 366 * DAY
    # Seconds an undelivered event is kept.
    retention: float = 7 * DAY
    # Seconds for which a publication with an Idempotency-Key is remembered.
    idempotency_seconds: float = DAY
    # Seconds after which a stream ends; its client then connects again and so acknowledges.
    stream_seconds: float = 600.0
    # Seconds between comments on a stream that has no events.
    heartbeat: float = 15.0
    # A replica is not ready while it may be so many seconds behind the service; 0 means never.
    longest_lag: float = 30.0
    # Seconds between snapshots of the index and the rules.
    snapshot_seconds: float = 300.0
    # The name of a module with operators that rules may call.
    operators: str = ""
    # A schema file, used if the database has no schema yet.
    schema: str = ""
    # Threads that match events.
    threads: int = 2
    # Processes that only match: beside the service, or with `replica` all there are.
    workers: int = 0
    # The port of workers beside a service; 0 means the port after that of the service.
    match_port: int = 0
    # Whether to follow the rules of a service, in the same database, and only match with them.
    replica: bool = False
    # Seconds that requests in progress are given to finish when the service stops.
    shutdown_seconds: float = 10.0
    # The least level of messages that are logged.
    log_level: str = "info"
    # Other names under which events have attributes.
    aliases: Aliases | None = None
    keys: tuple[Key, ...] = ()
    limits: Limits = field(default_factory=Limits)
    webhooks: WebhookSettings = field(default_factory=WebhookSettings)

    @classmethod
    def read(
        cls, values: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None
    ) -> Settings:
        """Settings from a mapping, such as a parsed file; `MATCHWOOD_…` variables override it."""
        settings = _filled(cls(), values or {}, "")
        variables = os.environ if environment is None else environment
        return _from_environment(settings, variables)

    @classmethod
    def load(cls, path: str | Path, environment: Mapping[str, str] | None = None) -> Settings:
        """Settings from a TOML file; `MATCHWOOD_…` variables override it."""
        try:
            values = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise SettingsError(f"{path}: cannot be read: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SettingsError(f"{path}: is not TOML: {error}") from error
        return cls.read(values, environment)

    def changed(self, **values: Any) -> Settings:
        """The same settings with some changed; None leaves one as it is."""
        return replace(self, **{name: value for name, value in values.items() if value is not None})

    @property
    def url(self) -> str:
        """The URL of the database."""
        return self.database or f"sqlite:///{self.data / 'matchwood.db'}"

    def check_binding(self) -> None:
        """Refuse to bind to other addresses than loopback without keys.

        Without keys, whoever reaches the service may do anything.
        """
        if not self.keys and not is_loopback(self.host):
            raise SettingsError(
                f"without keys the service binds to loopback only, found host {self.host!r}: "
                "configure keys (`matchwood key` creates them), or leave host at 127.0.0.1"
            )


def is_loopback(host: str) -> bool:
    """Whether a host name or address, as in a `Host` header, is loopback.

    >>> [is_loopback(host) for host in ("localhost", "127.0.0.1", "::1", "10.0.0.1", "x.org")]
    [True, True, True, False, False]
    """
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _filled(settings: Any, replacements: Mapping[str, Any], prefix: str) -> Any:
    """Settings, or a table of them, with some values replaced and all checked."""
    known = {setting.name for setting in fields(settings)}
    values: dict[str, Any] = {}
    for name, value in replacements.items():
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f", did you mean {near[0]!r}?" if near else ""
            raise SettingsError(f"there is no setting {prefix}{name}{hint}")
        before = getattr(settings, name)
        if name == "keys":
            values[name] = _keys(value)
        elif name == "aliases":
            values[name] = _aliases(value)
        elif isinstance(before, Limits | WebhookSettings):
            if not isinstance(value, Mapping):
                raise SettingsError(f"{prefix}{name} must be a table, found {value!r}")
            values[name] = _filled(before, value, f"{prefix}{name}.")
        else:
            values[name] = _value(before, value, f"{prefix}{name}")
    return _checked(replace(settings, **values), prefix)


def _value(before: Any, value: Any, name: str) -> Any:
    """A value of the same type as the one before it; an integer may stand for a float."""
    if isinstance(before, Path) and isinstance(value, str | Path):
        return Path(value)
    if isinstance(before, bool):
        if isinstance(value, bool):
            return value
    elif isinstance(before, float):
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    elif type(value) is type(before):
        return value
    raise SettingsError(f"{name} must be {_type_name(before)}, found {value!r}")


def _type_name(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int):
        return "an integer"
    return "a number" if isinstance(value, float) else "a string"


def _aliases(value: Any) -> Aliases | None:
    try:
        return aliases_of(value)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"aliases: {error}") from None


def _keys(tables: Any) -> tuple[Key, ...]:
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        raise SettingsError(f"keys must be a list of tables [[keys]], found {tables!r}")
    keys = []
    for table in tables:
        if set(table) != {"name", "role", "sha256"}:
            raise SettingsError(f"a key has name, role and sha256, found {', '.join(table)}")
        key = Key(*(str(table[name]) for name in ("name", "role", "sha256")))
        if key.role not in ROLES:
            roles = ", ".join(ROLES)
            raise SettingsError(
                f"the role of key {key.name!r} must be one of {roles}, found {key.role!r}"
            )
        if len(key.sha256) != 64 or set(key.sha256) - set("0123456789abcdef"):
            raise SettingsError(
                f"sha256 of key {key.name!r} must be the 64 hexadecimal digits "
                "that `matchwood key` prints"
            )
        keys.append(key)
    if len({key.name for key in keys}) != len(keys):
        raise SettingsError("two keys have the same name")
    return tuple(keys)


def _checked(settings: Any, prefix: str) -> Any:
    for setting in fields(settings):
        value = getattr(settings, setting.name)
        if isinstance(value, int | float) and not isinstance(value, bool) and not value >= 0:
            raise SettingsError(f"{prefix}{setting.name} must be 0 or more, found {value}")
    if isinstance(settings, Settings) and settings.synchronous not in ("full", "normal"):
        raise SettingsError(f"synchronous must be full or normal, found {settings.synchronous!r}")
    return settings


def _from_environment(settings: Settings, variables: Mapping[str, str]) -> Settings:
    """Read `MATCHWOOD_PORT`, and `MATCHWOOD_LIMITS_STREAMS` for a setting in a table."""
    values: dict[str, Any] = {}
    for setting in fields(settings):
        before = getattr(settings, setting.name)
        name = ENVIRONMENT_PREFIX + setting.name.upper()
        if isinstance(before, Limits | WebhookSettings):
            table = {
                inner.name: _parsed(
                    getattr(before, inner.name), text, f"{name}_{inner.name.upper()}"
                )
                for inner in fields(before)
                if (text := variables.get(f"{name}_{inner.name.upper()}")) is not None
            }
            _refuse_unknown(variables, f"{name}_", {inner.name for inner in fields(before)})
            if table:
                values[setting.name] = table
        elif setting.name not in ("keys", "aliases") and (text := variables.get(name)) is not None:
            values[setting.name] = _parsed(before, text, name)
    _refuse_mistyped(settings, variables)
    filled: Settings = _filled(settings, values, "")
    return filled


def _refuse_mistyped(settings: Settings, variables: Mapping[str, str]) -> None:
    """Refuse variables that are nearly settings. Others may be meant for someone else.

    Kubernetes, for one, sets `MATCHWOOD_SERVICE_HOST` for a service that is called matchwood.
    """
    known: list[str] = []
    for setting in fields(settings):
        inner = getattr(settings, setting.name)
        if isinstance(inner, Limits | WebhookSettings):
            known += [f"{setting.name}_{each.name}" for each in fields(inner)]
        else:
            known.append(setting.name)
    for variable in variables:
        name = variable.removeprefix(ENVIRONMENT_PREFIX).lower()
        if not variable.startswith(ENVIRONMENT_PREFIX) or name in {*known, *_OF_OTHERS}:
            continue
        if near := get_close_matches(name, known, 1, _NEARLY):
            raise SettingsError(
                f"{variable}: there is no such setting, "
                f"did you mean {ENVIRONMENT_PREFIX}{near[0].upper()}?"
            )


def _refuse_unknown(variables: Mapping[str, str], prefix: str, known: set[str]) -> None:
    """Refuse variables that look like settings of a table, but are none."""
    for variable in variables:
        name = variable.removeprefix(prefix)
        if variable.startswith(prefix) and name.lower() not in known:
            near = get_close_matches(name.lower(), known, 1)
            hint = f", did you mean {prefix}{near[0].upper()}?" if near else ""
            raise SettingsError(f"{variable}: there is no such setting{hint}")


def _parsed(before: Any, text: str, name: str) -> Any:
    """The value of an environment variable, as the type of the setting."""
    if isinstance(before, bool):
        if text.lower() in ("true", "1", "false", "0"):
            return text.lower() in ("true", "1")
        raise SettingsError(f"{name} must be true or false, found {text!r}")
    if isinstance(before, int | float):
        try:
            return type(before)(text)
        except ValueError:
            raise SettingsError(f"{name} must be {_type_name(before)}, found {text!r}") from None
    return text
