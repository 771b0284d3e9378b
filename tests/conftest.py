"""What the whole suite shares."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from java_options import JAVA_OPTIONS

# The fixture `spark`, for tests in any folder, and the option `--processor-time`.
pytest_plugins = ["spark.spark_session", "processor_time"]

# Kernels are used at once, and those that `make kernels` has not compiled are when they are first
# needed. Tests of what happens without kernels say so themselves.
os.environ.setdefault("MATCHWOOD_COMPILE", "foreground")
# Spark's Python workers run what the tests run, and its driver needs no host name.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
# `make programs` stores Spark's classes there, for this Spark and the Java that it finds.
SPARKS_CLASSES = Path(sys.prefix, "spark-classes.jsa")
if SPARKS_CLASSES.exists():
    JAVA_OPTIONS.append(f"'-XX:SharedArchiveFile={SPARKS_CLASSES}'")
os.environ.setdefault("JDK_JAVA_OPTIONS", " ".join(JAVA_OPTIONS))

# The same examples in every run. `--hypothesis-profile random` looks for new ones, as `make soak`
# does, and `thorough` for very many.
# Random rules are large, slow to make, and filtered by what an algorithm supports.
LARGE_AND_FILTERED = [
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.filter_too_much,
]
settings.register_profile(
    "stable",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=60,
    suppress_health_check=LARGE_AND_FILTERED,
)
settings.register_profile(
    "random", deadline=None, max_examples=300, suppress_health_check=LARGE_AND_FILTERED
)
settings.register_profile(
    "thorough", deadline=None, max_examples=10_000, suppress_health_check=LARGE_AND_FILTERED
)
settings.load_profile("stable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--pairs",
        type=int,
        default=10_000,
        help="pairs of a rule and an event to compare with each SQL engine (default: 10,000)",
    )
    parser.addoption(
        "--engine-pairs",
        type=int,
        default=1_000_000,
        help="pairs of a rule and an event to compare with `evaluate` (default: 1,000,000)",
    )
    parser.addoption(
        "--json-texts",
        type=int,
        default=20_000,
        help="JSON texts to match as they are and as `json.loads` reads them (default: 20,000)",
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
        default=2,
        help="how often the service is killed on each database (default: 2)",
    )
    parser.addoption(
        "--long",
        action="store_true",
        help="do all of what takes minutes: the tests marked `long`, a stream of Spark that is "
        "killed at five moments and not one, kernels that check their indexes compiled",
    )
    parser.addoption(
        "--coverage",
        action="store_true",
        help="run only the tests that need no compiled kernels, as `make coverage` does with the "
        "compiler off",
    )
    parser.addoption(
        "--after-coverage",
        action="store_true",
        help="leave out the tests to which the compiler makes no difference: `make coverage` has "
        "run them",
    )
    parser.addoption(
        "--connect",
        action="store_true",
        help="run all Spark tests through Spark Connect too (default: those of matching)",
    )


# Through Connect these tell whether files, batches, reasons and streams travel; all others take
# minutes, and run through it only with `--connect`.
THROUGH_CONNECT = {
    *("test_rows", "test_array", "test_json", "test_rejects", "test_variant", "test_function"),
    "test_rules_and_lists_change_between_micro_batches",
}
# These start processes with a Spark of their own, and can be anywhere.
APART = {
    *("test_cluster.py", "test_demo.py", "test_programs.py", "test_packed_environment.py"),
}

# What `make quick` leaves out, by folder.
APART_FROM_QUICK = {
    "laboratory": {"lab"},
    "service": {"service", "client"},
}
# Folders of tests that touch no kernel, and files that are quick enough with the compiler off.
WITHOUT_KERNELS = {"language", "schema", "rewrite", "check", "tables", "imports"}
UNCOMPILED_TOO = {
    *("test_properties.py", "test_answers.py", "test_column_codes.py"),
    *("test_registry.py", "test_snapshot.py"),
    *("test_json_traps.py", "test_value_tables.py", "test_column_comparisons.py"),
    *("test_mixed_columns.py", "test_event_tables.py", "test_event_slices.py"),
    *("test_near_misses.py", "test_batch_threads.py", "test_kernel_folder.py"),
    *("test_sources.py", "test_array_view.py", "test_match_ids.py", "test_gpu_strategy.py"),
    *("test_column_sums.py", "test_everywhere.py", "test_json_readings.py", "test_sorting.py"),
    "test_shared_card.py",
}
# The simulator of a GPU runs its kernels in Python, whether or not others are compiled: what goes
# in and comes out is compared for both, and all else with the compiler off.
IN_THE_SIMULATOR = "test_gpu_strategy.py"
# Random tests that take seconds. To follow their lines doubles that, and other tests run the same.
NOT_FOLLOWED = {
    *("test_random_rules_and_events", "test_sqlite", "test_random_rules", "test_selection"),
    *("test_comparisons_over_long_lists", "test_random_patterns_match_as_event_ruler"),
    *("test_nodes", "test_rules_are_true_where_queries_are", "test_why_not_among_many_rules"),
    *("test_rules_with_comparisons_and_calls", "test_rules_that_are_evaluated_in_part"),
    *("test_a_tree_with_more_text_than_a_rule_may_have_is_still_pickled", "test_any_column"),
    *("test_agrees_with_tokens_one_by_one", "test_the_normal_form_has_the_same_key"),
    *("test_names_that_are_taken_read_back", "test_random_expressions", "test_de_morgan"),
    *("test_events_of_any_values", "test_rules_that_codes_decide", "test_tags_limits_and_counts"),
    *("test_like_is_what_its_definition_says", "test_lists_that_scratch_has_no_room_for"),
    *("test_a_rule_names_the_events_of_which_it_answers_otherwise", "test_parity", "test_negation"),
    *("test_all_values_of_an_event", "test_and_or_laws", "test_masks_of_many_words", "test_form"),
    *("test_space_comments_and_the_case_of_keywords_mean_nothing", "test_text_round_trip"),
    *("test_json_round_trip", "test_python_round_trip", "test_explanation_agrees"),
    *("test_any_form_is_a_schema_or_refused", "test_simple_case_folding"),
}
# Tests whose kernels are those of the published algorithms: by folder, or by their name.
OF_PAPERS = {"papers", "running"}
NAMED_AFTER_PAPERS = (
    *("test_program[boxes]", "test_docstrings[matchwood.lab.papers"),
    *("test_page[reproduce-a-papers-figure", "test_run_and_report"),
)
# PySpark before 4.3 leaves connections to Java to the garbage collector.
SOCKETS_OF_PYSPARK = "ignore:.*<socket.socket:pytest.PytestUnraisableExceptionWarning"
# Groups of tests that run in one process each, by the time that they take.
TURNS = ("spark", "cluster", "connect", "papers", "strategies: large", "strategies: lazy")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files without a test for `make coverage` are not even imported."""
    if not config.getoption("--coverage") or collection_path.suffix != ".py":
        return None
    folder = collection_path.relative_to(config.rootpath / "tests").parts[0]
    return None if folder in WITHOUT_KERNELS or collection_path.name in UNCOMPILED_TOO else True


def pytest_configure(config: pytest.Config) -> None:
    # pytest-xdist knows this mark; it is not installed beside other versions of PySpark.
    config.addinivalue_line("markers", "xdist_group(name): run by one process")
    config.addinivalue_line("markers", "no_cover: coverage does not follow it")  # of pytest-cov


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The tests of Spark's session go to one worker, and those of Connect to another."""
    left_out = []
    for item in items:
        for marker, folders in APART_FROM_QUICK.items():
            if folders & {*item.path.relative_to(config.rootpath).parts}:
                item.add_marker(getattr(pytest.mark, marker))
        if item.name.startswith("test_docstrings[matchwood.lab"):
            item.add_marker(pytest.mark.laboratory)
        if item.get_closest_marker("long") and not config.getoption("--long"):
            left_out.append(item)
            continue
        if item.get_closest_marker("connectors") and "CONNECTORS" not in os.environ:
            left_out.append(item)
            continue
        if _is_of_another_run(item, config):
            left_out.append(item)
            continue
        if item.originalname in NOT_FOLLOWED:
            item.add_marker(pytest.mark.no_cover)
        if item.path.name == "test_cluster.py":
            item.add_marker(pytest.mark.xdist_group("cluster"))  # which they share
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.filterwarnings(SOCKETS_OF_PYSPARK))
        if OF_PAPERS & {*item.path.parts} or item.name.startswith(NAMED_AFTER_PAPERS):
            item.add_marker(pytest.mark.xdist_group("papers"))  # whose kernels are compiled once
        if item.get_closest_marker("spark") and item.path.name not in APART:
            params = getattr(getattr(item, "callspec", None), "params", {})
            connect = params.get("spark") == "connect"
            item.add_marker(pytest.mark.xdist_group("connect" if connect else "spark"))
            if (
                connect
                and not config.getoption("--connect")
                and item.originalname not in THROUGH_CONNECT
            ):
                left_out.append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        apart = set(left_out)
        items[:] = [item for item in items if item not in apart]
    items.sort(key=_turn)


def _is_of_another_run(item: pytest.Item, config: pytest.Config) -> bool:
    """Whether `--coverage` or `--after-coverage` leaves a test to the other of the two runs."""
    slow = any(item.get_closest_marker(name) for name in ("slow", "spark"))
    folder = item.path.relative_to(config.rootpath / "tests").parts[0]
    without_kernels = not slow and folder in WITHOUT_KERNELS
    if config.getoption("--after-coverage"):
        simulated = item.path.name == IN_THE_SIMULATOR and not slow
        return without_kernels or (simulated and item.originalname != "test_against_evaluate")
    if config.getoption("--coverage"):
        return not (without_kernels or (not slow and item.path.name in UNCOMPILED_TOO))
    return False


def _turn(item: pytest.Item) -> int:
    """The longest groups come first: each is for one worker alone, and the others do the rest."""
    group = item.get_closest_marker("xdist_group")
    if group is None:
        return len(TURNS) + 1
    return TURNS.index(group.args[0]) if group.args[0] in TURNS else len(TURNS)
