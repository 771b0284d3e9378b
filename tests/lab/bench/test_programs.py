"""Every benchmark runs at small scale, and `make bench` runs every benchmark."""

import json
import re
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import matchwood.lab.bench
from plain_environment import without_connect

REPOSITORY = Path(__file__).resolve().parents[3]
BENCHES = Path(matchwood.lab.bench.__file__).parent
PROGRAMS = sorted(
    [
        path.stem
        for path in BENCHES.glob("*.py")
        if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
    ]
    + [path.parent.name for path in BENCHES.glob("*/__main__.py")]
)
# One figure of each that must be there, and in which results.
EXPECTED = {
    "boxes": ("match_ms", {"dexin, matchwood", "dexin, dexin", "sparse, tama", "dense, h-tree"}),
    "cold_start": ("processor_seconds", {"first example", "matchwood match", "service", "warm-up"}),
    "columns": ("ratio", {"comparison", "network", "call, not asked", "mixed column of pandas"}),
    "constructs": (
        "arrow_times_as_fast",
        {"lower_case", "all_values", "tests_of_numbers", "elements"},
    ),
    "cores": ("batches", {"1 core"}),
    "endpoint_logs": ("arrow_events_per_second", {"matching"}),
    "engine": ("scan_over_kernel_p50", {"uniform", "zipf"}),
    "expressions": ("candidates_per_value", {"50 expressions", "500 expressions"}),
    "few": ("event_p50_us", {"match", "match in between", "rule-engine"}),
    "files": ("load_ms", {"checked", "trusted"}),
    "gpu": ("program_ms", {"abe 1,000"}),
    "imported": ("answers_checked", {"eventbridge", "jsonlogic", "jsonlogic, typed", "sigma"}),
    "json_events": ("single_events_per_second", {"lots", "logs", "detections"}),
    "matcher_soak": ("held_mib", {"start", "1/4", "4/4", "ended"}),
    "named_lists": ("change_and_match_ms", {"second list"}),
    "parser": ("cold_rules_per_second", {"ABE-Gen", "without sharing"}),
    "peers": (
        "events_per_second",
        {"ABE-Gen, duckdb", "audiences, polars", "detections, rule-engine", "audiences, matchwood"},
    ),
    "published": ("engine_ms", {"dense", "fontoura-depth-4", "calls"}),
    "ranges": ("match_batch_ms", {"sparse", "dense"}),
    "scaling": ("over_smallest", {"333", "1,000", "3,333", "10,000"}),
    "service": (
        "answer_p99_ms",
        {"batches of 100", "one by one", "beside a crowd"},
    ),
    "service_match": ("requests_per_second", {"single events", "batches of 100"}),
    "service_steady": (
        "answer_p99_ms",
        {"50 per second, at first", "50 per second", "100 per second"},
    ),
    "soak": ("delivery_p99_ms", {"soak"}),
    "spark": (
        "events_per_second",
        {"audiences", "ABE-Gen", "sharded, local[1]", "few rules", "boolean columns", "cross join"},
    ),
    "spark_changes": ("seconds_until_matched", {"begin", "0 changed", "10 changed"}),
    "spark_files": ("seconds", {"rows, spark", "rows, workers", "events, workers", "in process"}),
    "spark_large": ("peak_gib_all", {"generate", "compile", "match"}),
    "strings": ("candidates_per_event", {"match_batch"}),
    "webhooks": ("calls_per_second", {"alone", "beside a publisher"}),
    "updates": ("max_ms", {"match alone", "any update", "match meanwhile", "bulk update"}),
}


# What programs are given that would take long with all that they compare.
ARGUMENTS = {
    "gpu": ["--host"],
    "published": ["--workloads", "dense,fontoura-depth-4,calls", "--rules", "500"],
}


# These take a minute or so even at small scale.
LONG = {
    "boxes": [pytest.mark.long],
    "cold_start": [pytest.mark.long],
    "cores": [pytest.mark.long],
    "imported": [pytest.mark.long],
    "json_events": [pytest.mark.long],
    "matcher_soak": [pytest.mark.long],
    "peers": [pytest.mark.long],
    "soak": [pytest.mark.long],
    "service": [pytest.mark.long],
    "service_match": [pytest.mark.long],
    "service_steady": [pytest.mark.long],
    "webhooks": [pytest.mark.long],
    "spark": [pytest.mark.long, pytest.mark.spark],
    "spark_changes": [pytest.mark.long, pytest.mark.spark],
    "spark_files": [pytest.mark.long, pytest.mark.spark],
    "spark_large": [pytest.mark.long, pytest.mark.spark],
}


# These are about processes: they fork, or start others.
PROCESSES = {"updates", *LONG}


# These need a GPU: they are started by hand, and tests compare what the GPU computes elsewhere. The
# first says without one what the processor does before.
ON_A_CARD = {"gpu", "gpu_cuda_c"}


# Seconds after which a program is given up, if not 300: some may have to build drivers first.
TIMEOUT = {"peers": 3_600, "imported": 600}


def test_make_bench_runs_every_program() -> None:
    listed = re.search(r"^BENCHES := .*matchwood\.lab\.bench\.,(.*)\)$", makefile(), re.MULTILINE)
    assert listed is not None
    assert sorted(listed[1].split()) == sorted(set(PROGRAMS) - ON_A_CARD)


def makefile() -> str:
    return (REPOSITORY / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_is_documented(program: str) -> None:
    page = (REPOSITORY / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert f"python -m matchwood.lab.bench.{program}" in page


@pytest.mark.slow
@pytest.mark.parametrize(
    "program",
    [
        pytest.param(program, marks=LONG.get(program, ()))
        for program in PROGRAMS
        if program != "gpu_cuda_c"
    ],
)
def test_program(
    program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if program == "few":
        pytest.importorskip("rule_engine")
    if program in PROCESSES:
        output = run_apart(program)
    else:  # without another start of Python, and another load of kernels
        arguments = [program, "--scale", "small", *ARGUMENTS.get(program, ())]
        monkeypatch.setattr(sys, "argv", arguments)
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            runpy.run_module(f"matchwood.lab.bench.{program}", run_name="__main__")
        output = capsys.readouterr().out
    *table, line = output.splitlines()
    printed = json.loads(line)
    assert printed["benchmark"] == program
    assert {"processor", "cores", "python", "numba", "numpy"} <= printed.keys()
    figure, results = EXPECTED[program]
    assert results <= printed["results"].keys()
    for result in results:
        assert printed["results"][result][figure] > 0
        assert any(result in row for row in table)
    numbers = [n for figures in printed["results"].values() for n in figures.values()]
    assert all(isinstance(number, int | float) and number >= 0 for number in numbers)


def run_apart(program: str) -> str:
    """What a program prints in a process of its own."""
    command = [sys.executable, "-m", f"matchwood.lab.bench.{program}", "--scale", "small"]
    done = subprocess.run(
        command,
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT.get(program, 300),
        env=without_connect(),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
