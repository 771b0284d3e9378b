"""A service with keys that the tests of the client share."""

import hashlib
from collections.abc import Iterator

import pytest

from matchwood.client import Client
from service.serving import Served, served, settings_in

KEYS = {role: f"key_of_the_{role}" for role in ("admin", "publisher", "subscriber")}


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    keys = [
        {"name": role, "role": role, "sha256": hashlib.sha256(key.encode()).hexdigest()}
        for role, key in KEYS.items()
    ]
    folder = tmp_path_factory.mktemp("client")
    with served(settings_in(folder, keys=keys, stream_seconds=1.0, heartbeat=0.2)) as running:
        yield running


@pytest.fixture
def admin(service: Served) -> Iterator[Client]:
    with Client(service.url, KEYS["admin"]) as client:
        yield client


@pytest.fixture
def rules(admin: Client) -> Iterator[Client]:
    """An administrator's client of a service without rules."""
    admin.rules.replace({})
    yield admin
    admin.rules.replace({})
