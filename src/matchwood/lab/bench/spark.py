"""Rules and events through Spark, beside the same in process and the plain ways of Spark.

    python -m matchwood.lab.bench.spark [--rules 1000000] [--events 20000] [--arrays 8192]

A million audience rules give one row per match, and a million ABE-Gen rules one array per event,
read from Parquet and written nowhere, on one core of Spark; then audience rules on two cores, and
in shards that are all open or loaded one at a time. A thousand rules are also matched as Spark
alone would do it: with one boolean column per rule, as columns and as rows, and with a cross join
and a Python function, timed with few events and scaled. For comparison the same events are read,
and handed to Python, without any rules. Everything runs once before it is timed.

Needs PySpark and Java.
"""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from matchwood.lab.bench.machine import waited
from matchwood.lab.bench.processes import processor_seconds
from matchwood.lab.bench.reporting import BenchOptions, Figures, milliseconds, report

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# How often each way to match is timed; the median time counts.
ROUNDS = 3

# Shards of the rules, and segments of the index that is not sharded.
SHARDS = 4

# How many files the events are written to.
FILES = 4

# Settings of the Spark session, apart from the number of cores.
SETTINGS = {
    "spark.driver.memory": "2g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
}

Done = TypeVar("Done")


def main() -> None:
    parser = BenchOptions(__doc__).size("rules", full=1_000_000, small=3_000)
    parser.size("events", full=20_000, small=2_000)
    parser.size("arrays", full=8_192, small=512)
    parser.size("few", full=1_000, small=50)
    parser.size("visits", full=200_000, small=2_000)
    parser.size("crossed", full=1_000, small=20)
    options = parser.read()
    results: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory(prefix="matchwood-") as folder:
        on_two = in_process(two_cores, folder, vars(options))
        results |= in_process(one_core, folder, options.crossed) | on_two
    on_one_core, on_two_cores = (results[f"{SHARDS} segments, local[{cores}]"] for cores in (1, 2))
    on_two_cores["speed_over_local_1"] = (
        on_two_cores["events_per_second"] / on_one_core["events_per_second"]
    )
    for cores in (1, 2):
        sharded = results[f"sharded, local[{cores}]"]
        unsharded = results[f"{SHARDS} segments, local[{cores}]"]
        sharded["time_over_replicated"] = (
            unsharded["events_per_second"] / sharded["events_per_second"]
        )
    names = ("rules", "events", "arrays", "few", "visits", "crossed")
    common: Figures = {name: getattr(options, name) for name in names}
    # Spark's processes work, and this one only waits for them.
    common["waited_for_a_core"] = results["audiences, match_batch"].pop("waited_for_a_core")
    report("spark", common, results)


def in_process(work: Callable[..., Done], *arguments: Any) -> Done:
    """Do some work in a new process: a process has only one session, and so only one master."""
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawned) as pool:
        return pool.submit(work, *arguments).result()


def session(cores: int, settings: Mapping[str, str] = MappingProxyType({})) -> SparkSession:
    from matchwood.spark.session import local_session

    return local_session(cores, {**SETTINGS, **settings})


def two_cores(folder: str, sizes: dict[str, int]) -> dict[str, Figures]:
    spark = session(2)
    prepare(spark, folder, sizes)
    figures = shards(spark, folder, 2)
    spark.stop()
    return figures


def one_core(folder: str, crossed: int) -> dict[str, Figures]:
    spark = session(1)
    figures = audiences(spark, folder)
    figures |= shards(spark, folder, 1)
    figures |= abe_gen(spark, folder)
    figures |= plain(spark, folder, crossed)
    spark.stop()
    return figures


def prepare(spark: SparkSession, folder: str, sizes: dict[str, int]) -> None:
    """Write events, and compiled rules, as all parts read them."""
    from matchwood.lab.workloads.spark_tables import generate_events, generate_rules
    from matchwood.spark import compile_rules

    seed = sizes["seed"]
    for workload, size in (("audiences", "events"), ("abe-gen", "arrays"), ("audiences", "visits")):
        events = generate_events(spark, workload, sizes[size], seed)
        events.repartition(FILES).write.parquet(f"{folder}/{size}")
    for workload, name in (("audiences", "rules"), ("abe-gen", "abe-gen"), ("audiences", "few")):
        wanted = sizes["few" if name == "few" else "rules"]
        generate_rules(spark, workload, wanted, seed).write.parquet(f"{folder}/{name}")
        rules = spark.read.parquet(f"{folder}/{name}")
        compile_rules(rules, path=f"{folder}/{name}-1", shards=1)
        if name == "rules":
            compile_rules(rules, path=f"{folder}/{name}-{SHARDS}", shards=SHARDS)


def audiences(spark: SparkSession, folder: str) -> dict[str, Figures]:
    """One row per match, timed in turn with `match_batch`."""
    from matchwood.matcher import Matcher
    from matchwood.spark import load, match_events

    compiled = load(spark, f"{folder}/rules-1")
    events = spark.read.parquet(f"{folder}/events")
    table = events_in_process(folder, "events")
    matcher = Matcher.load(compiled.segments[0].path)
    matched_rows = match_events(events, compiled, keep=["key"])
    matched = matcher.match_batch(table, key="key")
    same(matched_rows.count(), matched.num_rows)
    through, beside = in_turn(
        lambda: noop(matched_rows), lambda: matcher.match_batch(table, key="key")
    )
    cores = cores_used(lambda: noop(matched_rows))
    of_all = {"matches_per_event": matched.num_rows / len(table)}
    in_memory = {"events_per_second": len(table) / beside, "waited_for_a_core": waited()}
    spark_s = {
        "events_per_second": len(table) / through,
        "speed_over_match_batch": beside / through,
        "cores_used": cores,
    }
    return {"audiences": of_all | spark_s, "audiences, match_batch": of_all | in_memory}


def abe_gen(spark: SparkSession, folder: str) -> dict[str, Figures]:
    """One array per event, and what that costs per match beyond matching."""
    from matchwood.kernels.masks import EVENTS
    from matchwood.lab.bench.kernel import Kernel, table_of_events, warm_up
    from matchwood.matcher import Matcher
    from matchwood.spark import load, match_events

    compiled = load(spark, f"{folder}/abe-gen-1")
    events = spark.read.parquet(f"{folder}/arrays")
    dicts = [dict(row) for row in events_in_process(folder, "arrays")["attributes"].to_pylist()]
    warm_up()
    matcher = Matcher.load(compiled.segments[0].path)
    table = table_of_events(dicts)
    kernel = Kernel(matcher)
    coded = [kernel.coded_batch(dicts[low : low + EVENTS]) for low in range(0, len(dicts), EVENTS)]
    matched_events = match_events(
        events, compiled, keep=["key"], attributes="attributes", output="events"
    )
    matches = sum(batch.num_rows for batch in matcher.match_batches(table))
    same(matched_events.selectExpr("sum(size(rule_ids))").collect()[0][0], matches)
    through, beside, swept = in_turn(
        lambda: noop(matched_events),
        lambda: [batch.num_rows for batch in matcher.match_batches(table)],
        lambda: list(map(kernel.sweep, coded)),
    )
    titles = "ABE-Gen", "ABE-Gen, match_batch", "ABE-Gen, kernel"
    figures: dict[str, Figures] = {
        title: {
            "matches_per_event": matches / len(dicts),
            "events_per_second": len(dicts) / seconds,
            "ns_per_match": seconds * 1e9 / matches,
        }
        for title, seconds in zip(titles, (through, beside, swept), strict=True)
    }
    figures["ABE-Gen"]["ns_per_match_on_top"] = (through - beside) * 1e9 / matches
    return figures


def shards(spark: SparkSession, folder: str, cores: int) -> dict[str, Figures]:
    """The same rules in several segments: all open, and one at a time."""
    from matchwood.spark import load, match_events

    compiled = load(spark, f"{folder}/rules-{SHARDS}")
    events = spark.read.parquet(f"{folder}/events")
    frames = [
        match_events(events, compiled, keep=["key"], layout=layout)
        for layout in ("replicated", "sharded")
    ]
    total = events.count()
    rows = [frame.count() for frame in frames]
    same(*rows)
    times = in_turn(*(lambda frame=frame: noop(frame) for frame in frames))
    titles = f"{SHARDS} segments, local[{cores}]", f"sharded, local[{cores}]"
    return {
        title: {"matches_per_event": rows[0] / total, "events_per_second": total / seconds}
        for title, seconds in zip(titles, times, strict=True)
    }


def plain(spark: SparkSession, folder: str, crossed: int) -> dict[str, Figures]:
    """Few rules, as Spark alone would match them."""
    from matchwood.lab.bench.spark_plain import (
        boolean_columns,
        counted,
        cross_join,
        rows_of_columns,
    )
    from matchwood.spark import load, match_events

    compiled = load(spark, f"{folder}/few-1")
    rules = {row.id: row.rule for row in spark.read.parquet(f"{folder}/few").collect()}
    events = spark.read.parquet(f"{folder}/visits")
    total = events.count()
    few_events = events.orderBy("key").limit(crossed).coalesce(1).cache()
    matches = match_events(events, compiled, keep=["key"])
    wide = boolean_columns(events, rules)
    right = pairs(match_events(few_events, compiled, keep=["key"]))
    same(right, pairs(rows_of_columns(boolean_columns(few_events, rules))))
    joined = cross_join(spark, few_events, rules)
    same(right, pairs(joined))
    handed = events.mapInArrow(counted, "events long")
    for frame in (matches, handed, events):
        noop(frame)
    quick, passing, reading = in_turn(
        lambda: noop(matches), lambda: noop(handed), lambda: noop(events)
    )
    columns = once(lambda: noop(wide))
    as_rows = once(lambda: noop(rows_of_columns(wide)))
    cross = once(lambda: noop(joined)) * total / few_events.count()
    figures: dict[str, Figures] = {
        "few rules": {
            "matches_per_event": len(right) / crossed,
            "events_per_second": total / quick,
        },
        "few rules, handed to Python": {"events_per_second": total / passing},
        "few rules, read": {"events_per_second": total / reading},
    }
    ways = {"boolean columns": columns, "boolean columns, rows": as_rows, "cross join": cross}
    for title, seconds in ways.items():
        figures[title] = {
            "events_per_second": total / seconds,
            "time_over_match_events": seconds / quick,
        }
    return figures


def events_in_process(folder: str, name: str) -> Any:
    import pyarrow.parquet as pq

    return pq.read_table(Path(folder, name)).combine_chunks()


def noop(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def in_turn(*works: Callable[[], object]) -> list[float]:
    """The median seconds of each over some rounds; the checks have run them once before."""
    rounds = [[milliseconds(work) / 1e3 for work in works] for _ in range(ROUNDS)]
    return [float(np.median(times)) for times in zip(*rounds, strict=True)]


def cores_used(work: Callable[[], object]) -> float:
    """Processor seconds per second of wall time, of all of Spark's processes."""
    before = processor_seconds()
    seconds = milliseconds(work) / 1e3
    return (processor_seconds() - before) / seconds


def once(work: Callable[[], object]) -> float:
    """Seconds of work that takes too long to repeat; fewer events have warmed it up."""
    return milliseconds(work) / 1e3


def pairs(frame: DataFrame) -> set[tuple[int, str]]:
    return {(row["key"], row["rule_id"]) for row in frame.collect()}


def same(first: object, *others: object) -> None:
    if any(other != first for other in others):
        raise AssertionError("Spark's matches and the others differ")


if __name__ == "__main__":
    main()
