"""The driver of the tests on a cluster: `cluster_driver.py MASTER FOLDER JOB...`.

It runs in a folder of its own; what it shares with executors and with the test are the folders of
the jobs, which are in FOLDER and have their names.
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
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",  # else a few rows would be one task
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def main(master, folder, *jobs):
    builder = SparkSession.builder.appName("matchwood tests").master(master)
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    for job in jobs:
        result = json.dumps(JOBS[job](spark, Path(folder, job)))
        written = Path(folder, job, "result")
        written.write_text(result)
        written.rename(written.with_suffix(".json"))  # so that nobody reads half of it
    spark.stop()


def batch(spark, folder):
    """The cases of the other tests with every layout and output, and where executors ran."""
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
        arrays = match_events(events, loaded, keep=["key"], layout=layout, output="events")
        found[f"{layout} array"] = [[r.key, rule] for r in arrays.collect() for rule in r.rule_ids]
    return {
        "found": found,
        "versions": [compiled.version, loaded.version],
        "driver": [os.getcwd(), tempfile.gettempdir()],
        "executors": places(spark),
    }


def places(spark):
    """The folders of the processes that run tasks."""

    def run(batches):
        import pyarrow as pa
        from pyspark import SparkFiles

        for _ in batches:
            time.sleep(0.3)  # so that one executor does not take all tasks
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
    """A match that pauses in the middle of each task until the test lets it continue."""
    from matchwood.spark import compile_rules, match_events

    rules = [tuple(pair) for pair in json.loads((folder / "rules.json").read_text())]
    compiled = compile_rules(spark.createDataFrame(rules, "id bigint, rule string"), shards=2)
    keys = spark.range(0, 4 * EVENTS_PER_TASK, 1, 4).withColumnRenamed("id", "key")
    events = keys.selectExpr("key", "key % 97 as age", "key % 7 as city").repartition(4)
    held = events.mapInArrow(holding(str(folder)), events.schema)
    matches = match_events(held, compiled, keep=["key"])
    matches.write.parquet(str(folder / "matches"))
    return compiled.version


# Events of one task: more than are matched together.
EVENTS_PER_TASK = 12_000


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
