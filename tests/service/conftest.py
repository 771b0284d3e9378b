"""A service that the tests of a module share."""

from collections.abc import Iterator

import pytest

from service.serving import Served, served, settings_in


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("service")
    with served(settings_in(folder, webhooks={"private_addresses": True})) as running:
        yield running


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL server, without the name of a database."""
    from service.postgres import running_postgres

    with running_postgres() as url:
        yield url


@pytest.fixture
def kills(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--kills"))
