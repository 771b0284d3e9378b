"""Databases of older versions are upgraded, and keep everything they have."""

import time

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text

from matchwood.service.keys import hashed
from matchwood.service.settings import SettingsError
from matchwood.service.storage.database import metadata, migrate, open_engine
from service.postgres import new_database
from service.serving import served, settings_in

TICKET = "ticket_of_an_earlier_version"


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(request: pytest.FixtureRequest, tmp_path):
    database = ""
    if request.param == "postgresql":
        name = f"migrate-{time.time_ns()}"
        database = new_database(request.getfixturevalue("postgres"), name)
    return settings_in(tmp_path, database=database)


@pytest.mark.slow
def test_a_database_of_the_first_version_is_served(settings) -> None:
    engine = open_engine(settings)
    migrate(engine, "0001")
    future = time.time() + 3600
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO marks VALUES ('subscription', 7), ('event', 4)"))
        connection.execute(text("INSERT INTO marks VALUES ('change', 1), ('rules', 3)"))
        connection.execute(text("INSERT INTO rules VALUES ('old', 'x = 1', '[\"t\"]', 2)"))
        connection.execute(
            text(
                "INSERT INTO subscriptions VALUES"
                " (7, 'ann', 'x = 1', 0, :future, :ticket, '', 'pull', NULL, NULL, 1, 3)"
            ),
            {"future": future, "ticket": hashed(TICKET)},
        )
        connection.execute(
            text("INSERT INTO events VALUES (4, :now, :body, :matches)"),
            {"now": time.time(), "body": '{"x":1}', "matches": (7).to_bytes(4, "little")},
        )
    engine.dispose()
    with served(settings) as running:
        old = {"id": "s7", "ticket": TICKET}
        assert [one["event"] for one in running.fetch(old)] == [{"x": 1}]
        assert running.publish({"x": 1}) == {"id": 5, "matched": 1}
        assert [one["id"] for one in running.fetch(old)] == [4, 5]
        found = running.http.post("/match", json={"event": {"x": 1}}).json()
        assert found["results"][0]["matches"][0]["tags"] == ["t"]
        assert running.subscribe("x = 2")["id"] == "s8"


@pytest.mark.slow
def test_migrations_make_the_tables_that_the_code_knows(settings) -> None:
    engine = open_engine(settings)
    migrate(engine)
    migrate(engine)  # a second time changes nothing
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    engine.dispose()


@pytest.mark.parametrize("url", ["nonsense", "sqlite://", "sqlite:///:memory:", "mysql://x/y"])
def test_other_databases_are_refused(tmp_path, url: str) -> None:
    with pytest.raises(SettingsError):
        open_engine(settings_in(tmp_path, database=url))
