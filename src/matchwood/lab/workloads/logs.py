"""Logs of requests: JSON texts of forty attributes, of which rules ask for eleven."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

# What the attributes that rules ask for are drawn from.
SERVICES = ("checkout", "cart", "search", "login", "profile", "payments", "mail", "images")
REGIONS = ("eu-west-1", "eu-central-1", "us-east-1", "us-west-2", "ap-south-1")
LEVELS = ("info", "info", "info", "info", "warn", "error", "debug")
METHODS = ("GET", "GET", "GET", "POST", "PUT", "DELETE")
STATUS = (200, 200, 200, 200, 201, 204, 301, 400, 401, 403, 404, 429, 500, 502, 503)
TIERS = ("free", "free", "basic", "gold", "platinum")

# Paths of requests, and user agents.
PATHS = ("/api/v1/items", "/api/v1/items/{}", "/api/v2/users/{}/orders", "/health", "/login")
AGENTS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0",
    "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0",
    "okhttp/4.12.0",
)

# The attributes that no rule asks for, beside those that `_log` spells out.
NOTES = tuple(f"label_{number:02}" for number in range(14))


@dataclass(frozen=True)
class Logs:
    """A seeded workload of JSON texts of about 1,670 bytes, and rules about eleven attributes.

    >>> event = json.loads(Logs(seed=2).json_texts(1)[0])
    >>> len(event), event["level"] in LEVELS
    (40, True)
    """

    rules: int = 50
    seed: int = 1

    def texts(self) -> list[str]:
        """The rules: alerts of two to four predicates."""
        random = Random(f"rules {self.seed}")
        return [" and ".join(_predicates(random)) for _ in range(self.rules)]

    def events(self, n: int) -> list[dict[str, Any]]:
        """Requests as Python values."""
        random = Random(f"logs {self.seed}")
        return [_log(random) for _ in range(n)]

    def json_texts(self, n: int) -> list[bytes]:
        """Requests as JSON."""
        return [json.dumps(event, ensure_ascii=False).encode() for event in self.events(n)]


def _predicates(random: Random) -> list[str]:
    makers: tuple[Callable[[], str], ...] = (
        lambda: f"service = '{random.choice(SERVICES)}'",
        lambda: f"region in ('{random.choice(REGIONS)}', '{random.choice(REGIONS)}')",
        lambda: f"level = '{random.choice(LEVELS)}'",
        lambda: f"status >= {random.choice((400, 404, 429, 500))}",
        lambda: f"latency_ms > {random.choice((100, 250, 900, 1500))}",
        lambda: f"method != '{random.choice(METHODS)}'",
        lambda: f"bytes_out between {random.randint(0, 4000)} and {random.randint(4000, 90000)}",
        lambda: f"tier = '{random.choice(TIERS)}'",
        lambda: f"retries >= {random.randint(1, 3)}",
        lambda: "sampled",
        lambda: f"score < {random.random():.2f}",
    )
    return [maker() for maker in random.sample(makers, random.randint(2, 4))]


def _log(random: Random) -> dict[str, Any]:
    service, region = random.choice(SERVICES), random.choice(REGIONS)
    log = {
        "timestamp": f"2026-03-{random.randint(1, 28):02}T{random.randint(0, 23):02}:15:07.123Z",
        "level": random.choice(LEVELS),
        "service": service,
        "region": region,
        "host": f"{service}-{random.randint(1, 400):03}.{region}.internal",
        "pid": random.randint(100, 65000),
        "trace_id": f"{random.getrandbits(128):032x}",
        "span_id": f"{random.getrandbits(64):016x}",
        "method": random.choice(METHODS),
        "path": random.choice(PATHS).format(random.randint(1, 10**6)),
        "status": random.choice(STATUS),
        "latency_ms": round(random.expovariate(1 / 120), 3),
        "bytes_in": random.randint(0, 4000),
        "bytes_out": random.randint(0, 100_000),
        "user_agent": random.choice(AGENTS),
        "user_id": random.randint(1, 10**9),
        "tier": random.choice(TIERS),
        "client_ip": ".".join(str(random.randint(1, 254)) for _ in range(4)),
        "retries": random.choice((0, 0, 0, 0, 1, 2, 3)),
        "sampled": random.random() < 0.1,
        "score": round(random.random(), 4),
        "version": f"{random.randint(1, 4)}.{random.randint(0, 20)}.{random.randint(0, 9)}",
        "zone": f"{region}{random.choice('abc')}",
        "cache": random.choice(("hit", "miss", "stale")),
        "error": None if random.random() < 0.9 else "deadline exceeded while reading — retried",
        "message": f"request {random.getrandbits(40):x} handled by {service} in {region}",
    }
    for name in NOTES:
        log[name] = f"{random.choice(SERVICES)}-{random.getrandbits(144):036x}-{name}"
    return log
