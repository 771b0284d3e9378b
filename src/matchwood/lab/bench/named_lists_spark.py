"""`named_lists` on Spark: the list is a table, which is replaced by another one."""

from __future__ import annotations

import random
import tempfile
import time
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from matchwood.lab.bench.listed_addresses import (
    NAME,
    addresses,
    answers_of,
    events_of,
    expected,
    rules_of,
)
from matchwood.lab.bench.processes import PeakMemory
from matchwood.lab.bench.reporting import Figures
from matchwood.lab.bench.spark import session

# Values in a group of rows of the table.
GROUP = 1_000_000


def on_spark(values: int, rules: int, events: int, seed: int) -> dict[str, Figures]:
    """Match with one table of values and then with another one, by the same compiled rules."""
    from matchwood.spark import compile_rules, match_events

    source = random.Random(seed)
    texts = rules_of(rules, source)
    answers = answers_of(texts)
    asked = events_of(events, values, source)
    results: dict[str, Figures] = {}
    spark = session(2)
    with tempfile.TemporaryDirectory(prefix="matchwood-") as folder:
        pq.write_table(pa.Table.from_pylist(_numbered(asked)), f"{folder}/events.parquet")
        for number in range(2):
            _write_list(f"{folder}/{number}.parquet", number, values)
        table = spark.createDataFrame(list(texts.items()), ["id", "rule"])
        compiled = compile_rules(table, path=f"{folder}/compiled")
        given = spark.read.parquet(f"{folder}/events.parquet")
        for number, title in enumerate(("first list", "second list")):
            listed = spark.read.parquet(f"{folder}/{number}.parquet")
            with PeakMemory() as memory:
                started = time.perf_counter()
                matched = match_events(given, compiled, keep=["number"], lists={NAME: listed})
                ready = time.perf_counter()
                found = matched.select("number", "rule_id").toArrow()
                ended = time.perf_counter()
            numbers, ids = (found[name].to_pylist() for name in ("number", "rule_id"))
            pairs = set(zip(numbers, map(int, ids), strict=True))
            right = {
                (n, r) for n, event in enumerate(asked) for r in expected(event, number, answers)
            }
            assert pairs == right, f"{title}: {len(pairs ^ right)} pairs differ"
            times = {"list_s": ready - started, "match_s": ended - ready}
            results[title] = times | memory.figures()
    spark.stop()
    return results


def _numbered(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"number": number, **event} for number, event in enumerate(events)]


def _write_list(path: str, list_number: int, count: int) -> None:
    """A table of one column, written piece by piece."""
    schema = pa.schema([("ip", pa.string())])
    values = addresses(list_number, count)
    with pq.ParquetWriter(path, schema) as writer:
        for low in range(0, count, GROUP):
            piece = [next(values) for _ in range(min(GROUP, count - low))]
            writer.write_table(pa.table({"ip": piece}, schema=schema))
