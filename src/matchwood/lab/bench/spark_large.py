"""Tens of millions of rules: compiled on Spark, matched one shard at a time, and the memory used.

    python -m matchwood.lab.bench.spark_large [--rules 10000000] [--events 2000] [--cores 2]

Rules are made by Spark and written to disk, then read and compiled, and loaded and matched in the
sharded layout, with one row per match that is written nowhere. Memory is that of all processes: the
driver, Java, and the Python workers. Matches of some rules are compared with `evaluate`.

What grows with the number of rules and events is also printed per rule, per shard that a task opens
and per pair of an event and a rule, as processor time of all processes: docs/capacity.md reckons
with these. Few events are matched first, whose time is that of opening shards.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from typing import TYPE_CHECKING

from matchwood.lab.bench.processes import PeakMemory, processor_seconds
from matchwood.lab.bench.reporting import BenchOptions, Figures, report
from matchwood.lab.bench.spark import noop, same, session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# The most rules of a shard, unless the number of shards is given.
RULES_PER_SHARD = 1_000_000

# How many rules are also evaluated.
CHECKED = 2_000

# How many events each of these rules is evaluated with.
CHECKED_EVENTS = 20


def main() -> None:
    parser = BenchOptions(__doc__).size("rules", full=10_000_000, small=20_000)
    parser.size("events", full=2_000, small=100)
    parser.add_argument("--workload", choices=("audiences", "abe-gen"), default="audiences")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--shards", type=int, help="default: a million rules each, at least 2")
    parser.add_argument("--folder", help="where rules are kept meanwhile; default: a temporary one")
    options = parser.read()
    options.shards = options.shards or max(2, -(-options.rules // RULES_PER_SHARD))
    spark = session(options.cores)
    with tempfile.TemporaryDirectory(prefix="matchwood-", dir=options.folder) as folder:
        results = {
            "generate": generated(spark, folder, options),
            "compile": compiled(spark, folder, options),
            "match": matched(spark, folder, options),
        }
    spark.stop()
    names = ("workload", "rules", "events")
    common: Figures = {name: getattr(options, name) for name in names}
    report("spark_large", {**common, "cores_of_spark": options.cores}, results)


def generated(spark: SparkSession, folder: str, options: argparse.Namespace) -> Figures:
    from matchwood.lab.workloads.spark_tables import generate

    sizes = {"rules": options.rules, "events": options.events}
    with PeakMemory() as memory:
        started = time.perf_counter()
        generate(spark, options.workload, folder, **sizes, seed=options.seed)
        seconds = time.perf_counter() - started
    return {
        "seconds": seconds,
        "rules_per_second": options.rules / seconds,
        **memory.figures(),
    }


def compiled(spark: SparkSession, folder: str, options: argparse.Namespace) -> Figures:
    from matchwood.spark import compile_rules

    rules = spark.read.parquet(f"{folder}/rules")
    with PeakMemory() as memory:
        started, spent = time.perf_counter(), processor_seconds()
        made = compile_rules(rules, path=f"{folder}/compiled", shards=options.shards)
        seconds = time.perf_counter() - started
        spent = processor_seconds() - spent
    same(made.rules, options.rules)
    return {
        "seconds": seconds,
        "rules_per_second": options.rules / seconds,
        "shards": len(made.segments),
        "bytes_per_rule": made.bytes / made.rules,
        "processor_us_per_rule": spent / options.rules * 1e6,
        **memory.figures(),
    }


def matched(spark: SparkSession, folder: str, options: argparse.Namespace) -> Figures:
    from pyspark.sql import functions as F

    from matchwood.spark import load, match_events

    attributes = "attributes" if options.workload == "abe-gen" else None
    with PeakMemory() as memory:
        rules = load(spark, f"{folder}/compiled")
        events = spark.read.parquet(f"{folder}/events").repartition(options.cores)
        few = events.limit(options.cores).repartition(options.cores)
        given: Figures = {"keep": ["key"], "attributes": attributes, "layout": "sharded"}
        noop(match_events(few, rules, **given))  # sends shards to workers, which load kernels
        opening = processor_seconds()
        noop(match_events(few, rules, **given))
        opening = processor_seconds() - opening
        started, spent = time.perf_counter(), processor_seconds()
        noop(match_events(events, rules, **given))
        seconds = time.perf_counter() - started
        spent = processor_seconds() - spent
    checked_events = events.where(F.col("key") < CHECKED_EVENTS)
    matches = match_events(
        checked_events, rules, keep=["key"], attributes=attributes, layout="sharded"
    )
    rows = check(spark, folder, matches, attributes)
    return {
        "seconds": seconds,
        "events_per_second": options.events / seconds,
        "matches_per_event": rows / min(CHECKED_EVENTS, options.events),
        "shards": len(rules.segments),
        "processor_s_per_opened_shard": opening / len(rules.segments) / options.cores,
        "processor_ns_per_pair": (spent - opening) / options.events / options.rules * 1e9,
        **memory.figures(),
    }


def check(spark: SparkSession, folder: str, matches: DataFrame, attributes: str | None) -> int:
    """Compare the matches of some rules with `evaluate`; returns the number of all matches."""
    from pyspark.sql import functions as F

    from matchwood.language import evaluate, parse

    chosen = spark.read.parquet(f"{folder}/rules").orderBy(F.xxhash64("id")).limit(CHECKED)
    texts = {row.id: row.rule for row in chosen.collect()}
    events = spark.read.parquet(f"{folder}/events").where(F.col("key") < CHECKED_EVENTS).collect()
    dicts = {
        row.key: row[attributes] if attributes else row.asDict(recursive=True) for row in events
    }
    right = {
        (key, rule_id)
        for rule_id, rule in texts.items()
        for tree in (parse(rule),)
        for key, event in dicts.items()
        if evaluate(tree, event) is True
    }
    pairs = [(row["key"], row["rule_id"]) for row in matches.collect()]
    same(right, {pair for pair in pairs if pair[1] in texts})
    return len(pairs)


if __name__ == "__main__":
    main()
