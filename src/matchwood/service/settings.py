"""How a service is configured: defaults, a TOML file over them, the environment over that."""

from __future__ import annotations

import ipaddress
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

PREFIX = "MATCHWOOD_"
DAY = 86_400.0


class SettingsError(ValueError):
    """A setting cannot be used; names it, what was found and what was expected."""


@dataclass(frozen=True)
class Limits:
    """What one request, one key or the whole service may ask for; each has its own problem."""

    body_bytes: int = 16 << 20
    upload_bytes: int = 1 << 30  # a whole set of rules, or subscriptions in bulk
    event_bytes: int = 256 << 10
    rule_bytes: int = 64 << 10
    batch_events: int = 10_000
    batch_matches: int = 5_000_000  # matches that one answer of `POST /match` may have
    subscriptions: int = 5_000_000
    subscriptions_a_key: int = 5_000_000
    streams: int = 2_000  # open streams and waiting polls
    streams_a_key: int = 2_000  # by the key that created the subscription
    events_a_second: float = 0  # by key; 0: as many as the service can take
    publishes_under_way: int = 256
    outbox_events: int = 5_000_000  # events that wait to be delivered
    outbox_deliveries: int = 250_000_000  # to so many subscriptions; six bytes of memory each
    dead_letters_a_subscription: int = 10_000
    matches_a_second: float = 0  # events through `POST /match`, by key


@dataclass(frozen=True)
class Webhooks:
    """How webhooks are called."""

    timeout: float = 10.0
    attempts: int = 12
    first_delay: float = 1.0  # doubles with every attempt
    longest_delay: float = 3_600.0
    under_way: int = 256
    under_way_a_host: int = 8
    private_addresses: bool = False  # may they go to loopback and private networks?


@dataclass(frozen=True)
class Key:
    """An API key, of which only the hash is kept."""

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

    host: str = "127.0.0.1"
    port: int = 8600
    data: Path = Path("matchwood-data")  # the database, unless it has a URL, and snapshots
    database: str = ""  # URL; empty: a SQLite file in `data`
    synchronous: str = "full"  # SQLite: full survives a loss of power, normal a killed process
    validity: float = DAY  # seconds that a subscription lives if nothing else is said
    longest_validity: float = 366 * DAY
    retention: float = 7 * DAY  # seconds that an event is kept for who has not fetched it
    stream_seconds: float = 600.0  # after which a stream ends, and its client resumes
    heartbeat: float = 15.0  # seconds between comments on a silent stream
    snapshot_seconds: float = 300.0
    operators: str = ""  # a module with operators for rules
    schema: str = ""  # a schema file
    threads: int = 2  # that match
    shutdown_seconds: float = 10.0
    log_level: str = "info"
    keys: tuple[Key, ...] = ()
    limits: Limits = field(default_factory=Limits)
    webhooks: Webhooks = field(default_factory=Webhooks)

    @classmethod
    def read(
        cls, given: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None
    ) -> Settings:
        """Settings from a mapping, as of a file, and `MATCHWOOD_…` variables over them."""
        found = _filled(cls(), given or {}, "")
        variables = os.environ if environment is None else environment
        return _from_environment(found, variables)

    @classmethod
    def load(cls, path: str | Path, environment: Mapping[str, str] | None = None) -> Settings:
        """Settings from a TOML file."""
        try:
            given = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise SettingsError(f"{path}: cannot be read: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SettingsError(f"{path}: is not TOML: {error}") from error
        return cls.read(given, environment)

    def changed(self, **given: Any) -> Settings:
        """The same with some settings changed; None leaves one as it is."""
        return replace(self, **{name: value for name, value in given.items() if value is not None})

    @property
    def url(self) -> str:
        return self.database or f"sqlite:///{self.data / 'matchwood.db'}"

    def check_binding(self) -> None:
        """Without keys anybody who reaches the service may do anything: only this machine may."""
        if not self.keys and not is_loopback(self.host):
            raise SettingsError(
                f"without keys the service binds to this machine only, found host {self.host!r}: "
                "configure keys (`matchwood key` makes them), or leave host at 127.0.0.1"
            )


def is_loopback(host: str) -> bool:
    """Whether a host name or address, as of a `Host` header, is this machine.

    >>> [is_loopback(host) for host in ("localhost", "127.0.0.1", "::1", "10.0.0.1", "x.org")]
    [True, True, True, False, False]
    """
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _filled(settings: Any, given: Mapping[str, Any], place: str) -> Any:
    known = {one.name: one for one in fields(settings)}
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f", did you mean {near[0]!r}?" if near else ""
            raise SettingsError(f"there is no setting {place}{name}{hint}")
        before = getattr(settings, name)
        if name == "keys":
            values[name] = _keys(value)
        elif isinstance(before, Limits | Webhooks):
            if not isinstance(value, Mapping):
                raise SettingsError(f"{place}{name} is a table, found {value!r}")
            values[name] = _filled(before, value, f"{place}{name}.")
        else:
            values[name] = _value(before, value, f"{place}{name}")
    return _checked(replace(settings, **values))


def _value(before: Any, value: Any, place: str) -> Any:
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
    kind = type(before).__name__.replace("PosixPath", "path").replace("str", "string")
    raise SettingsError(f"{place} is a {kind}, found {value!r}")


def _keys(given: Any) -> tuple[Key, ...]:
    if not isinstance(given, list) or not all(isinstance(one, Mapping) for one in given):
        raise SettingsError(f"keys is a list of tables [[keys]], found {given!r}")
    keys = []
    for one in given:
        if set(one) != {"name", "role", "sha256"}:
            raise SettingsError(f"a key has name, role and sha256, found {', '.join(one)}")
        key = Key(*(str(one[name]) for name in ("name", "role", "sha256")))
        if key.role not in ROLES:
            roles = ", ".join(ROLES)
            raise SettingsError(f"the role of key {key.name!r} is one of {roles}: {key.role!r}")
        if len(key.sha256) != 64 or set(key.sha256) - set("0123456789abcdef"):
            raise SettingsError(f"sha256 of key {key.name!r} is 64 digits of `matchwood key`")
        keys.append(key)
    if len({key.name for key in keys}) != len(keys):
        raise SettingsError("two keys have the same name")
    return tuple(keys)


def _checked(settings: Any) -> Any:
    for one in fields(settings):
        value = getattr(settings, one.name)
        if isinstance(value, int | float) and not isinstance(value, bool) and not value >= 0:
            raise SettingsError(f"{one.name} is 0 or more, found {value}")
    if isinstance(settings, Settings) and settings.synchronous not in ("full", "normal"):
        raise SettingsError(f"synchronous is full or normal, found {settings.synchronous!r}")
    return settings


def _from_environment(settings: Settings, variables: Mapping[str, str]) -> Settings:
    """`MATCHWOOD_PORT`, and `MATCHWOOD_LIMITS_STREAMS` for what is in a table."""
    given: dict[str, Any] = {}
    for one in fields(settings):
        before = getattr(settings, one.name)
        name = PREFIX + one.name.upper()
        if isinstance(before, Limits | Webhooks):
            inner = {
                low.name: _parsed(getattr(before, low.name), text, f"{name}_{low.name.upper()}")
                for low in fields(before)
                if (text := variables.get(f"{name}_{low.name.upper()}")) is not None
            }
            if inner:
                given[one.name] = inner
        elif one.name != "keys" and (text := variables.get(name)) is not None:
            given[one.name] = _parsed(before, text, name)
    filled: Settings = _filled(settings, given, "")
    return filled


def _parsed(before: Any, text: str, name: str) -> Any:
    if isinstance(before, bool):
        if text.lower() in ("true", "1", "false", "0"):
            return text.lower() in ("true", "1")
        raise SettingsError(f"{name} is true or false, found {text!r}")
    if isinstance(before, int | float):
        try:
            return type(before)(text)
        except ValueError:
            raise SettingsError(f"{name} is a number, found {text!r}") from None
    return text
