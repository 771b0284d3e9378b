"""The whole pipeline on this machine: audiences and visits are made, matched, counted and shown.

Run it with `make demo`, or with `python examples/demo.py` if matchwood[spark] and Java are
installed.
"""

import argparse
import os
import sys
from pathlib import Path
from time import perf_counter

os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # no network is needed

from pyspark.sql import functions as F

from matchwood.lab.workloads.spark_tables import generate, write_pipeline
from matchwood.language import explain, parse
from matchwood.spark import run
from matchwood.spark.session import session_for_work

# Visits that are shown with one of their matches.
SHOWN = 10


def heading(text):
    bold, plain = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
    print(f"\n{bold}{text}{plain}\n", flush=True)


def show_stage(stage, done):
    if done is not None:
        print(f"  {stage:<16}{done}".rstrip(), flush=True)


def some_matches(spark, folder):
    """One match of each of ten visits: the visit, the id of the rule and its text."""
    matches = spark.read.parquet(str(folder / "matches")).where(F.col("key") < 100 * SHOWN)
    # Any rule of each visit, but the same one in every run.
    each = matches.groupBy("key").agg(F.min_by("rule_id", F.xxhash64("key", "rule_id")).alias("id"))
    chosen = {row.key: row.id for row in each.orderBy("key").limit(SHOWN).collect()}
    rules = spark.read.parquet(str(folder / "rules")).where(F.col("id").isin(*chosen.values()))
    texts = {row.id: row.rule for row in rules.collect()}
    events = spark.read.parquet(str(folder / "events")).where(F.col("key").isin(*chosen))
    for row in sorted(events.collect(), key=lambda row: row.key):
        event = {name: value for name, value in row.asDict().items() if value is not None}
        yield event, chosen[row.key], texts[chosen[row.key]]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rules", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--out", type=Path, default=Path("build/demo"))
    options = parser.parse_args()
    folder = options.out.resolve()
    started = perf_counter()

    heading(f"{options.rules:,} audiences and {options.events:,} visits are made on Spark")
    spark = session_for_work()
    generate(
        spark,
        "audiences",
        str(folder),
        rules=options.rules,
        events=options.events,
        mode="overwrite",
    )
    pipeline = write_pipeline("audiences", "parquet", folder)
    print(f"  {options.out}/rules, events   {perf_counter() - started:.1f} s with Spark's start")

    heading(f"The pipeline: matchwood run {options.out}/pipeline.toml")
    summary = run(pipeline, spark, progress=show_stage)
    print()
    for sentence in summary.sentences():
        print(f"  {sentence}")

    heading("Ten of the matches, and why")
    for event, rule_id, rule in some_matches(spark, folder):
        print(f"visit {event['key']} belongs to {rule_id}")
        print(f"{explain(parse(rule), event)}\n")
    spark.stop()

    print(f"Plots: {folder / 'matches-report' / 'page.html'}")
    print(f"All of it took {perf_counter() - started:.0f} s.")
    print("More: README.md, docs/pipeline.md, and examples/language.py for the language itself.")


if __name__ == "__main__":
    main()
