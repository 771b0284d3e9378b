import importlib

import numba
import pytest


@pytest.fixture(scope="session")
def simulator():
    """Numba's simulator in place of a card; `card_check` asks a card, where there is one."""
    numba.config.ENABLE_CUDASIM = 1  # is read when numba.cuda is first imported
    importlib.import_module("numba.cuda")
    from matchwood.match.batch.gpu.card import card_problem, is_simulated

    assert is_simulated()
    assert card_problem() is None
