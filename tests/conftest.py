"""What the whole suite shares."""

import os
import sys

import pytest
from hypothesis import HealthCheck, settings

# Spark's Python workers run what the tests run, and its driver needs no host name.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
# No Java of the tests lives long enough for its optimising compiler to be worth its work.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")

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
        default=1_000_000,
        help="pairs of a rule and an event to compare with `evaluate` (default: 1,000,000)",
    )
    parser.addoption(
        "--strategy-pairs",
        type=int,
        default=20_000_000,
        help="pairs of a rule and an event to match in every way, each way forced "
        "(default: 20,000,000)",
    )
    parser.addoption(
        "--scan-pairs",
        type=int,
        default=40_000_000,
        help="pairs of a rule and an event to compare with the compiled Scan (default: 40,000,000)",
    )
    parser.addoption(
        "--hostile",
        type=int,
        default=600,
        help="tables with hostile columns to compare with their rows (default: 600)",
    )
    parser.addoption(
        "--kills",
        type=int,
        default=5,
        help="how often the service is killed on each database (default: 5)",
    )
    parser.addoption(
        "--long",
        action="store_true",
        help="do all of what takes minutes: the tests marked `long`, a stream of Spark that is "
        "killed at five moments and not one, kernels that check their indexes compiled",
    )
    parser.addoption(
        "--connect",
        action="store_true",
        help="run all Spark tests through Spark Connect too (default: those of matching)",
    )


# Through Connect these say whether files, batches and streams travel; the others take minutes.
THROUGH_CONNECT = {
    "test_match.py", "test_function", "test_rules_change_between_micro_batches",
}  # fmt: skip
# These start processes with a Spark of their own, and can be anywhere.
APART = {"test_cluster.py", "test_demo.py", "test_programs.py", "test_running.py"}

# What `make quick` leaves out, by folder.
APART_FROM_QUICK = {
    "laboratory": {"papers", "bench", "workloads"},
    "service": {"service", "client"},
}
OF_PAPERS = {"papers", "laboratory", "test_program[boxes]"}
TURNS = ("spark", "cluster", "connect", "papers")  # groups by the time that they take


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The tests of Spark's session go to one worker, and those of Connect to another."""
    left_out = []
    for item in items:
        for marker, folders in APART_FROM_QUICK.items():
            if folders & {*item.path.relative_to(config.rootpath).parts}:
                item.add_marker(getattr(pytest.mark, marker))
        if item.get_closest_marker("long") and not config.getoption("--long"):
            left_out.append(item)
            continue
        if item.path.name == "test_cluster.py":
            item.add_marker(pytest.mark.xdist_group("cluster"))  # which they share
        if OF_PAPERS & {item.path.parent.name, item.name}:
            item.add_marker(pytest.mark.xdist_group("papers"))  # whose kernels are compiled once
        if item.get_closest_marker("spark") and item.path.name not in APART:
            params = getattr(getattr(item, "callspec", None), "params", {})
            connect = params.get("spark") == "connect"
            item.add_marker(pytest.mark.xdist_group("connect" if connect else "spark"))
            if (
                connect
                and not config.getoption("--connect")
                and not THROUGH_CONNECT & {item.path.name, item.originalname}
            ):
                left_out.append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    """The longest groups come first: each is for one worker alone, and the others do the rest."""
    group = item.get_closest_marker("xdist_group")
    name = group.args[0] if group is not None else ""
    return TURNS.index(name) if name in TURNS else len(TURNS)
