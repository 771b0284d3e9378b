"""From Parquet to Parquet on Spark: who writes the matches, and in which form.

    python -m matchwood.lab.bench.spark_files [--rules 10000] [--events 1000000] [--rounds 2]
        [--only WAY ...]

A pipeline on two cores reads rules and events, compiles, matches, counts and writes. Its matches
are one row per match or one per event. Spark reads the events and writes the matches, or the Python
workers do both themselves. The same is done in process for comparison, with as many threads: events
are read, matched with `match_batch` and written. Every way runs once with few events before it is
timed. All ways take turns, in each round in the reverse order of the round before, so that none is
always the first; times are the means of all rounds. Processor time is that of all processes; files
are counted, and their sizes compared.

Needs PySpark and Java.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchwood.lab.bench.processes import PeakMemory, processor_seconds
from matchwood.lab.bench.reporting import BenchOptions, Figures, report
from matchwood.lab.bench.spark import events_in_process, same, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Events of the run before the one that is timed.
WARM_UP = 2_000
# Cores of Spark, and threads in process.
CORES = 2
# How many files the events are written to.
FILES = 8
# In process, and each form of matches with who writes them.
IN_PROCESS = "in process"
WAYS = {
    f"{output}, {writer}": (output, writer)
    for output in ("rows", "events")
    for writer in ("spark", "workers")
}


def main() -> None:
    parser = BenchOptions(__doc__).size("rules", full=10_000, small=300)
    parser.size("events", full=1_000_000, small=2_000)
    parser.add_argument(
        "--only", action="append", choices=(*WAYS, IN_PROCESS), help="default: all, in turn"
    )
    parser.add_argument("--rounds", type=int, default=2, help="times of each way (default: 2)")
    options = parser.read()
    chosen = [way for way in (*WAYS, IN_PROCESS) if way in (options.only or (*WAYS, IN_PROCESS))]
    spark = session(CORES)
    with tempfile.TemporaryDirectory(prefix="matchwood-") as folder:
        prepare(spark, folder, options.rules, options.events, options.seed)
        rounds: dict[str, list[Figures]] = {way: [] for way in chosen}
        for number in range(options.rounds):
            for way in chosen if number % 2 == 0 else reversed(chosen):
                rounds[way].append(once(spark, folder, way))
    spark.stop()
    results = {way: together(figures) for way, figures in rounds.items()}
    same(*(figures["matches"] for figures in results.values()))
    for figures in results.values():
        figures["events_per_second"] = options.events / figures["seconds"]
    compare(results)
    report("spark_files", {"rules": options.rules, "events": options.events}, results)


def once(spark: SparkSession, folder: str, way: str) -> Figures:
    """One run of a way."""
    if way == IN_PROCESS:
        return in_process(folder)
    figures = through_spark(spark, folder, *WAYS[way])
    return {**figures, **sizes_of_files(Path(folder, "matches"))}


def together(rounds: list[Figures]) -> Figures:
    """The figures of all rounds: the mean of times, and the most of everything else."""
    figures = {name: max(one[name] for one in rounds) for name in rounds[0]}
    for name in ("seconds", "processor_s"):
        figures[name] = sum(one[name] for one in rounds) / len(rounds)
    return figures


def compare(results: dict[str, Figures]) -> None:
    """Add how workers compare with Spark, and both with the same in process."""
    for output in ("rows", "events"):
        before, after = results.get(f"{output}, spark"), results.get(f"{output}, workers")
        if before is not None and after is not None:
            after["speed_over_spark"] = before["seconds"] / after["seconds"]
            after["processor_time_saved"] = before["processor_s"] / after["processor_s"]
    if IN_PROCESS in results:
        for title in ("rows, workers", "rows, spark"):
            if title in results:
                results[title]["speed_over_process"] = (
                    results[IN_PROCESS]["seconds"] / results[title]["seconds"]
                )


def prepare(spark: SparkSession, folder: str, rules: int, events: int, seed: int) -> None:
    from matchwood.lab.workloads.spark_tables import generate_events, generate_rules

    generate_rules(spark, "audiences", rules, seed).write.parquet(f"{folder}/rules")
    for name, size in (("few", WARM_UP), ("events", events)):
        table = generate_events(spark, "audiences", size, seed)
        table.repartition(FILES).write.parquet(f"{folder}/{name}")


def through_spark(spark: SparkSession, folder: str, output: str, writer: str) -> Figures:
    """A whole run of a pipeline."""
    from matchwood.spark import run

    def piped(events: str) -> int:
        matches = {"path": f"{folder}/matches", "format": "parquet", "mode": "overwrite"}
        form = {
            "rules": {"path": f"{folder}/rules", "format": "parquet"},
            "events": {"path": f"{folder}/{events}", "format": "parquet", "keep": ["key"]},
            "matches": {**matches, "output": output, "writer": writer},
            "job": {"report": f"{folder}/report"},
        }
        return int(run(form, spark).counts.matches or 0)

    return timed(piped)


def sizes_of_files(folder: Path) -> Figures:
    """How many files there are, and how much larger the largest one is than the others."""
    sizes = [path.stat().st_size for path in folder.glob("*.parquet")]
    return {
        "files": len(sizes),
        "gib": sum(sizes) / 2**30,
        "largest_over_mean": max(sizes) * len(sizes) / sum(sizes),
    }


def in_process(folder: str) -> Figures:
    """The same without Spark: read, compile, match, write."""
    import pyarrow.parquet as pq

    from matchwood.matcher import Matcher

    def matched(events: str) -> int:
        matcher = Matcher()
        matcher.update(events_in_process(folder, "rules"))
        table = events_in_process(folder, events)
        rows = 0
        writer: Any = None
        for found in matcher.match_batches(table, key="key", threads=CORES):
            writer = writer or pq.ParquetWriter(Path(folder, "in-process.parquet"), found.schema)
            writer.write_batch(found)
            rows += found.num_rows
        if writer is not None:
            writer.close()
        return rows

    return timed(matched)


def timed(work: Callable[[str], int]) -> Figures:
    """Time some work on all events, after a run with few."""
    work("few")
    started, spent = time.perf_counter(), processor_seconds()
    with PeakMemory() as memory:
        matches = work("events")
    return {
        "matches": matches,
        "seconds": time.perf_counter() - started,
        "processor_s": processor_seconds() - spent,
        **memory.figures(),
    }


if __name__ == "__main__":
    main()
