"""A service that is killed at random moments under load loses nothing and invents nothing."""

from pathlib import Path

import pytest

from service.crashing import Trial
from service.postgres import new_database


@pytest.mark.slow
def test_killed_on_sqlite(tmp_path: Path, kills: int) -> None:
    _try(tmp_path, "", kills)


@pytest.mark.slow
def test_killed_on_postgresql(tmp_path: Path, kills: int, postgres: str) -> None:
    _try(tmp_path, new_database(postgres, "crash"), kills)


def _try(folder: Path, database: str, kills: int) -> None:
    trial = Trial(folder, database, kills, seed=kills)
    try:
        figures = trial.run()
    finally:
        trial.close()
    print(figures)
    assert figures["accepted"] > 20 * kills
    assert figures["delivered"] > figures["accepted"]
