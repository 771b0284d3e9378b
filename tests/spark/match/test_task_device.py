"""A task uses the GPU that it was given, unless somebody says otherwise."""

import doctest
import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from matchwood.spark.match import task_device as module
from matchwood.spark.match.task_device import device_of, task_device
from spark.cases import RIGHT
from spark.cluster import PATIENCE, Cluster, environment, wait


def test_documented_examples() -> None:
    assert doctest.testmod(module).failed == 0


def test_a_task_that_was_given_a_gpu_uses_it() -> None:
    environment: dict[str, str] = {}
    assert device_of(None, {"gpu": ["2", "3"]}, environment) == "gpu"
    shared = {"CUDA_VISIBLE_DEVICES": "2,3", "MATCHWOOD_GPU_INDEX": "shared"}
    assert environment == shared
    assert device_of(None, {"gpu": ["0"]}, environment) == "gpu"
    assert environment == shared


def test_the_environment_may_say_that_each_process_has_an_index_of_its_own() -> None:
    environment = {"MATCHWOOD_GPU_INDEX": "own"}
    assert device_of(None, {"gpu": ["0"]}, environment) == "gpu"
    assert environment["MATCHWOOD_GPU_INDEX"] == "own"


@pytest.mark.parametrize("asked", ["cpu", "gpu", "auto"])
def test_what_was_asked_for_comes_first(asked: str) -> None:
    assert device_of(asked, {"gpu": ["0"]}, {}) == asked
    assert device_of(asked, {}, {}) == asked


def test_the_environment_of_the_executor_comes_second() -> None:
    assert device_of(None, {"gpu": ["0"]}, {"MATCHWOOD_DEVICE": "cpu"}) is None


def test_other_tasks_use_their_core() -> None:
    environment: dict[str, str] = {}
    assert device_of(None, {}, environment) is None
    assert device_of(None, {"fpga": ["0"]}, environment) is None
    assert environment == {}
    assert task_device(None) is None  # no task at all


# One GPU for the one executor, so that two tasks at once have half of it each.
SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "600m",
    "spark.executor.resource.gpu.amount": "1",
    "spark.executorEnv.NUMBA_ENABLE_CUDASIM": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.task.resource.gpu.amount": "0.5",
    "spark.ui.enabled": "false",
}

DRIVER = """
import json, sys
from pathlib import Path
from pyspark.sql import SparkSession
from matchwood.spark.pipeline.pipeline_run import run
from spark.cases import EVENTS, RULES, SCHEMA

master, folder, settings = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
spark = SparkSession.builder.master(master).config(map=settings).getOrCreate()
rules = spark.createDataFrame(list(RULES.items()), "id string, rule string")
rules.write.parquet(f"{folder}/rules")
rows = [tuple(one.values()) for one in EVENTS]
spark.createDataFrame(rows, SCHEMA).repartition(2).write.parquet(f"{folder}/events")

def given(batches):
    import os, time
    import pyarrow as pa
    from pyspark import TaskContext

    time.sleep(2)  # so that the other task runs beside this one, in a worker of its own
    resources = TaskContext.get().resources()
    told = {name: resource.addresses for name, resource in resources.items()}
    for _ in batches:
        yield pa.record_batch({"told": [json.dumps([told, os.getpid()])]})

tasks = spark.range(0, 2, 1, 2).mapInArrow(given, "told string").collect()
devices = {}
for device in ("cpu", None):  # the process that has the card ends some time after its last use
    form = {
        "rules": {"format": "parquet", "path": f"{folder}/rules"},
        "events": {"format": "parquet", "path": f"{folder}/events", "keep": ["key"]},
        "matches": {"format": "parquet", "path": f"{folder}/{device}", "writer": "spark"},
        "job": {"device": device} if device else {},
    }
    summary = run(form, spark)
    devices[str(device)] = dict(summary.devices)
found = {
    name: sorted([row.key, row.rule_id] for row in spark.read.parquet(f"{folder}/{name}").collect())
    for name in devices
}
told = {"tasks": [json.loads(row.told) for row in tasks], "devices": devices, "found": found}
(folder / "told.json").write_text(json.dumps(told))
input()  # the executor and the card are looked at
spark.stop()
"""


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.long
def test_tasks_on_a_cluster_share_the_gpu_of_their_executor(tmp_path):
    """In the simulator: Spark gives out a card that it takes for a real one."""
    discovery = tmp_path / "cards.sh"
    discovery.write_text("""#!/bin/sh\necho '{"name": "gpu", "addresses": ["0"]}'\n""")
    discovery.chmod(0o755)
    resource = "spark.worker.resource.gpu"
    workers = {f"{resource}.amount": 1, f"{resource}.discoveryScript": discovery}
    log = tmp_path / "log"
    with Cluster(tmp_path / "cluster", workers=1, cores=2, settings=workers) as cluster:
        with log.open("wb") as said:
            driver = subprocess.Popen(
                [sys.executable, "-c", DRIVER, cluster.url, str(tmp_path), json.dumps(SETTINGS)],
                env=environment(tmp_path) | {"PYTHONPATH": str(Path(__file__).parents[2])},
                cwd=tmp_path,
                stdin=subprocess.PIPE,
                stderr=said,
            )
        try:
            is_done = (tmp_path / "told.json").exists
            assert wait(lambda: is_done() or driver.poll() is not None, 4 * PATIENCE)
            cards = card_processes(cluster.folder)
            driver.communicate(b"\n", timeout=PATIENCE)
        finally:
            driver.kill()
            driver.communicate()
            for process in card_processes(cluster.folder):
                process.kill()
        assert driver.returncode == 0, log.read_text()[-3000:]
    told = json.loads((tmp_path / "told.json").read_text())
    gave, workers = zip(*told["tasks"], strict=True)
    assert list(gave) == [{"gpu": ["0"]}] * 2
    assert len(set(workers)) == 2
    assert list(told["devices"]["None"]) == ["simulator"]
    assert list(told["devices"]["cpu"]) == ["cpu"]
    for rows in told["found"].values():
        assert len(rows) == len(RIGHT)
        assert {tuple(row) for row in rows} == RIGHT
    assert len(cards) == 1


def card_processes(folder):
    """The processes that have a card for those whose temporary folder is below this one."""
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if "matchwood.match.batch.gpu.card_server" in (process.info["cmdline"] or [])
        and process.info["cmdline"][-1].startswith(str(folder))
    ]
