"""A service that is killed at random moments under load loses nothing and invents nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from service.crashing import Forking, Trial
from service.postgres import new_database


@pytest.fixture(scope="module")
def forking() -> Iterator[Forking]:
    running = Forking()
    yield running
    running.close()


@pytest.mark.slow
def test_killed_on_sqlite(tmp_path: Path, forking: Forking, kills: int) -> None:
    _try(tmp_path, "", forking, kills)


@pytest.mark.slow
def test_killed_on_postgresql(tmp_path: Path, forking: Forking, kills: int, postgres: str) -> None:
    _try(tmp_path, new_database(postgres, "crash"), forking, kills)


def _try(folder: Path, database: str, forking: Forking, kills: int) -> None:
    trial = Trial(folder, database, forking, kills, seed=kills)
    try:
        figures = trial.run()
    finally:
        trial.close()
    print(figures)
    assert figures["accepted"] > 20 * kills
    assert figures["delivered"] > figures["accepted"]
