"""What the whole suite shares."""

import os
import sys

import pytest
from hypothesis import HealthCheck, settings

# Spark's Python workers run what the tests run, and its driver needs no host name.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")

# The same examples in every run; `--hypothesis-profile thorough` looks for new ones.
SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "stable",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=100,
    suppress_health_check=SLOW_IS_FINE,
)
settings.register_profile(
    "thorough", deadline=None, max_examples=10_000, suppress_health_check=SLOW_IS_FINE
)
settings.load_profile("stable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--pairs",
        type=int,
        default=20_000,
        help="pairs of a rule and an event to compare with each SQL engine (default: 20,000)",
    )
    parser.addoption(
        "--engine-pairs",
        type=int,
        default=2_000_000,
        help="pairs of a rule and an event to compare with `evaluate` (default: 2,000,000)",
    )
    parser.addoption(
        "--scan-pairs",
        type=int,
        default=40_000_000,
        help="pairs of a rule and an event to compare with the compiled Scan (default: 40,000,000)",
    )


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All Spark tests go to one worker, and those of Connect to another: a session each."""
    for item in items:
        if item.get_closest_marker("spark"):
            params = getattr(getattr(item, "callspec", None), "params", {})
            group = "connect" if params.get("spark") == "connect" else "spark"
            item.add_marker(pytest.mark.xdist_group(group))
