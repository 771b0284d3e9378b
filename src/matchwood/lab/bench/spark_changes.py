"""Rules that change while a stream runs on Spark: rules changed, and seconds until they match.

    python -m matchwood.lab.bench.spark_changes [--rules 1000000] [--most 10000] [--all] [--delta]

A stream matches events with audience rules in a folder of Parquet, whose rows are hashed to find
what has changed, or, with `--delta`, in a table of Delta, which tells it by itself. Some rules are
replaced and one is added, an event comes in, and the time is taken until its matches are written.
That includes to find out what has changed, to compile it, to send it to the workers, and a
micro-batch of a few events; the first row has a micro-batch before which no rule has changed. Ten
times as many rules are replaced each time. The new rule must match every event, and with `--all`,
in the end all rules are replaced, which are then compiled as they are for a stream that begins.

Needs PySpark and Java; for Delta, CONNECTORS names the folder of jars that `scripts/connectors.sh`
prints.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from matchwood.lab.bench.processes import PeakMemory, processor_seconds
from matchwood.lab.bench.reporting import BenchOptions, Figures, report
from matchwood.lab.bench.spark import events_in_process, same, session

# Cores of Spark.
CORES = 2
# Events of a micro-batch.
EVENTS = 100
# How many files the rules are in.
FILES = 8


def main() -> None:
    parser = BenchOptions(__doc__).size("rules", full=1_000_000, small=30_000)
    parser.size("most", full=10_000, small=10)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--delta", action="store_true")
    options = parser.read()
    steps = [0]
    while steps[-1] < options.most:
        steps.append(max(10, steps[-1] * 10))
    if options.all:
        steps.append(options.rules)
    with tempfile.TemporaryDirectory(prefix="matchwood-") as folder:
        stream = ChangingStream(folder, options.rules, options.seed, options.delta)
        results = {"begin": stream.begin()} | {
            f"{step:,} changed": stream.change(step) for step in steps
        }
        stream.end()
    where = "a table of Delta" if options.delta else "a folder of Parquet"
    report("spark_changes", {"rules": options.rules, "where": where}, results)


def delta_settings() -> dict[str, str]:
    """The settings of a session with the connector of Delta."""
    jars = sorted(str(path) for path in Path(os.environ["CONNECTORS"], "spark").glob("*.jar"))
    return {
        "spark.jars": ",".join(jars),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": str(CORES),
    }


class ChangingStream:
    """A stream whose rules are changed step by step."""

    def __init__(self, folder: str, rules: int, seed: int, delta: bool) -> None:
        from matchwood.lab.workloads.spark_tables import generate_events, generate_rules
        from matchwood.spark.endpoints import RuleSource

        self._spark = session(CORES, delta_settings() if delta else {})
        self._delta = delta
        form = "delta" if delta else "parquet"
        self._source = RuleSource(path=f"{folder}/rules", format=form)
        self._folder = Path(folder)
        self._random = np.random.default_rng(seed)
        generate_rules(self._spark, "audiences", rules, seed).write.parquet(f"{folder}/made")
        generate_events(self._spark, "audiences", EVENTS, seed).coalesce(1).write.parquet(
            f"{folder}/few"
        )
        table = events_in_process(folder, "made")
        self._ids: list[Any] = table["id"].to_pylist()
        self._texts: list[str] = table["rule"].to_pylist()
        self._event = next(Path(folder, "few").glob("*.parquet"))
        self._query: Any = None
        self._batches = 0
        Path(folder, "events").mkdir()

    def begin(self) -> Figures:
        """Compile all rules, and match the first micro-batch."""
        from matchwood.spark import match_stream

        self._begin_rules()
        events = self._spark.readStream.schema(
            self._spark.read.parquet(str(self._event)).schema
        ).option("maxFilesPerTrigger", 1)
        started, spent = time.perf_counter(), processor_seconds()
        with PeakMemory() as memory:
            self._query = match_stream(
                events.parquet(f"{self._folder}/events"),
                self._source,
                checkpoint=f"{self._folder}/checkpoint",
                sink=f"{self._folder}/matches",
                keep=["key"],
            )
            self._match()
        return {
            "seconds_until_matched": time.perf_counter() - started,
            "processor_s": processor_seconds() - spent,
            "compiled_again": len(self._ids),
            **memory.figures(),
        }

    def change(self, rules: int) -> Figures:
        """Replace some rules, and wait for the matches of the next event."""
        if rules:
            added = f"added-{self._batches}"
            chosen = self._random.choice(len(self._ids), rules - 1, replace=False).tolist()
            for number in chosen:
                self._texts[number] = f"({self._texts[number]}) and key >= -{self._batches}"
            chosen.append(len(self._ids))
            self._ids.append(added)
            self._texts.append("key >= 0")
            if self._delta:
                self._merge_rules(chosen)
            else:
                self._write_rules()
        spent = processor_seconds()
        with PeakMemory() as memory:
            seconds = self._match()
        spent = processor_seconds() - spent
        if rules:
            same(EVENTS, self._matches_of(added))
        return {
            "seconds_until_matched": seconds,
            "processor_s": spent,
            "rules_per_second": rules / seconds,
            "compiled_again": self._compiled_again() if rules else 0,
            **memory.figures(),
        }

    def end(self) -> None:
        self._query.stop()
        self._spark.stop()

    def _begin_rules(self) -> None:
        if not self._delta:
            Path(self._folder, "rules").mkdir()
            self._write_rules()
            return
        made = self._spark.read.parquet(f"{self._folder}/made").repartition(FILES)
        tells = {"delta.enableChangeDataFeed": "true"}
        made.write.format("delta").options(**tells).save(f"{self._folder}/rules")

    def _merge_rules(self, numbers: list[int]) -> None:
        rows = [(self._ids[number], self._texts[number]) for number in numbers]
        self._spark.createDataFrame(rows, "id string, rule string").createOrReplaceTempView("new")
        self._spark.sql(
            f"merge into delta.`{self._folder}/rules` t using new on t.id = new.id "
            "when matched then update set * when not matched then insert *"
        )

    def _write_rules(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.table({"id": self._ids, "rule": self._texts})
        rows = -(-len(table) // FILES)
        for number in range(FILES):
            hidden = self._folder / "rules" / f".{number}"
            pq.write_table(table.slice(number * rows, rows), hidden)
            os.replace(hidden, self._folder / "rules" / f"{number}.parquet")

    def _match(self) -> float:
        """Add a file of events, and wait until its matches are written."""
        hidden = self._folder / "events" / f".{self._batches}"
        hidden.write_bytes(self._event.read_bytes())
        started = time.perf_counter()
        hidden.rename(self._folder / "events" / f"{self._batches}.parquet")
        self._query.processAllAvailable()
        self._batches += 1
        return time.perf_counter() - started

    def _matches_of(self, rule: str) -> int:
        from pyspark.sql import functions as F

        from matchwood.spark import read_matches

        matches = read_matches(self._spark, f"{self._folder}/matches")
        last = F.col("batch") == self._batches - 1
        return matches.where(last & (F.col("rule_id") == rule)).count()

    def _compiled_again(self) -> int:
        """The rules that were compiled for the last micro-batch: those of its newest layer."""
        from matchwood.spark import load
        from matchwood.spark.stream.durable_log import DurableLog

        checkpoint = f"{self._folder}/checkpoint/matchwood"
        note = DurableLog(f"{checkpoint}/versions").newest(self._spark) or {}
        place = note["layers"][-1][0] if note["layers"] else note["slot"]
        return load(self._spark, f"{checkpoint}/rules/{place}").rules


if __name__ == "__main__":
    main()
