"""The driver of the tests on a cluster: `cluster_driver.py MASTER JOB FOLDER`.

It runs in a folder of its own; what it shares with executors and with the test is FOLDER.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import SparkSession

SETTINGS = {
    "spark.cores.max": "2",
    "spark.executor.cores": "1",
    "spark.executor.memory": "600m",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.adaptive.enabled": "false",  # or a few rows would make one task
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def main(master, job, folder):
    builder = SparkSession.builder.appName(f"matchwood {job}").master(master)
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    result = JOBS[job](spark, Path(folder))
    spark.stop()
    Path(folder, "result.json").write_text(json.dumps(result))


def batch(spark, folder):
    """The cases of the other tests, every layout and output, and where the executors are."""
    from matchwood.spark import compile_rules, load, match_events
    from spark.cases import EVENTS, RULES, SCHEMA

    rules = spark.createDataFrame(list(RULES.items()), "id string, rule string").repartition(2)
    compiled = compile_rules(rules, shards=3)
    compiled.save(str(folder / "compiled"))
    loaded = load(spark, str(folder / "compiled"))
    rows = [tuple(one.values()) for one in EVENTS]
    events = spark.createDataFrame(rows, SCHEMA).repartition(4)
    found = {}
    for layout in ("replicated", "sharded"):
        matches = match_events(events, compiled, keep=["key"], layout=layout)
        found[f"{layout} rows"] = [[row.key, row.rule_id] for row in matches.collect()]
        arrays = match_events(events, loaded, keep=["key"], layout=layout, output="array")
        found[f"{layout} array"] = [[r.key, rule] for r in arrays.collect() for rule in r.rule_ids]
    return {
        "found": found,
        "versions": [compiled.version, loaded.version],
        "driver": [os.getcwd(), tempfile.gettempdir()],
        "executors": places(spark),
    }


def places(spark):
    """Folders of the processes that run tasks."""

    def run(batches):
        import pyarrow as pa
        from pyspark import SparkFiles

        for _ in batches:
            time.sleep(0.3)  # so that no executor takes all
            told = [os.getcwd(), tempfile.gettempdir(), SparkFiles.getRootDirectory()]
            yield pa.RecordBatch.from_arrays([pa.array([json.dumps(told)])], ["told"])

    rows = spark.range(0, 6, 1, 6).mapInArrow(run, "told string").distinct().collect()
    return [json.loads(row.told) for row in rows]


def stream(spark, folder):
    """Two files of events, then other rules and one more file, with the same checkpoint."""
    from matchwood.spark import match_stream, read_matches

    for rules in ("first", "second"):
        (folder / rules).rename(folder / "rules")
        events = spark.readStream.schema("key bigint, age int, city string")
        query = match_stream(
            events.option("maxFilesPerTrigger", 1).json(str(folder / f"events/{rules}*")),
            str(folder / "rules"),
            checkpoint=str(folder / "checkpoint"),
            sink=str(folder / "sink"),
            keep=["key"],
            trigger="availableNow",
        )
        assert query.awaitTermination(120)
        (folder / "rules").rename(folder / f"{rules} done")
    rows = read_matches(spark, str(folder / "sink")).collect()
    return [[row.batch, row.rules_version, row.key, row.rule_id] for row in rows]


def killed(spark, folder):
    """A match that stops in the middle of each task until the test lets it go on."""
    from matchwood.spark import compile_rules, match_events

    rules = [tuple(pair) for pair in json.loads((folder / "rules.json").read_text())]
    compiled = compile_rules(spark.createDataFrame(rules, "id bigint, rule string"), shards=2)
    keys = spark.range(0, 4 * EVENTS_A_TASK, 1, 4).withColumnRenamed("id", "key")
    events = keys.selectExpr("key", "key % 97 as age", "key % 7 as city").repartition(4)
    held = events.mapInArrow(holding(str(folder)), events.schema)
    matches = match_events(held, compiled, keep=["key"])
    matches.write.parquet(str(folder / "matches"))
    return compiled.version


EVENTS_A_TASK = 12_000  # more than are matched together


def holding(folder):
    def run(batches):
        from pyspark import TaskContext

        context = TaskContext.get()
        begun = False
        for batch in batches:
            yield batch
            if not begun:
                begun = True
                name = f"task-{context.partitionId()}-{context.taskAttemptId()}"
                Path(folder, "begun", name).touch()
                while not Path(folder, "go").exists():
                    time.sleep(0.02)

    return run


JOBS = {"batch": batch, "stream": stream, "killed": killed}

if __name__ == "__main__":
    main(*sys.argv[1:])
