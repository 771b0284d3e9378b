"""An archive of `matchwood package-env` is all that executors with a bare Python need."""

import json
import os
import subprocess
import sys
import tarfile

import pytest
from typer.testing import CliRunner

from matchwood.cli import app
from matchwood.spark.packed_environment import needed_packages
from spark.cluster import PATIENCE, Cluster, environment

DRIVER = """
import json, sys
from pyspark.sql import SparkSession
from matchwood.spark import compile_rules, match_events
from matchwood.spark.kernel_shipping import count_kernels

master, archive = sys.argv[1:]
settings = {"spark.archives": archive, "spark.driver.host": "127.0.0.1"}
builder = SparkSession.builder.master(master).config(map=settings)
spark = builder.getOrCreate()
kernels = count_kernels(spark, None)  # with those of the archive alone
rules = spark.createDataFrame([("adults", "age >= 18"), ("all", "true")], "id string, rule string")
events = spark.createDataFrame([(1, 20), (2, 10)], "key int, age int")

def where(batches):
    import matchwood, numba, pandas
    import pyarrow as pa
    for batch in batches:
        for module in (matchwood, numba, pandas):
            yield pa.record_batch({"place": [module.__file__]})

places = {row.place for row in spark.range(1).mapInArrow(where, "place string").collect()}
found = match_events(events, compile_rules(rules), keep=["key"]).collect()
print(json.dumps({
    "found": sorted((row.key, row.rule_id) for row in found),
    "places": sorted(places),
    "compiled": kernels.compiled,
    "loaded": kernels.loaded,
}))
spark.stop()
"""


UNPREPARED = """
import json, sys, time
from pyspark.sql import SparkSession
from matchwood.spark import compile_rules
from matchwood.spark.executors import UnpreparedExecutors

builder = SparkSession.builder.master(sys.argv[1]).config("spark.driver.host", "127.0.0.1")
spark = builder.getOrCreate()
rules = spark.createDataFrame([("adults", "age >= 18")], "id string, rule string")
begun = time.monotonic()
try:
    compile_rules(rules)
except UnpreparedExecutors as error:
    print(json.dumps({"seconds": time.monotonic() - begun, "error": str(error)}))
spark.stop()
"""


def driven(cluster, folder, program, python, *arguments):
    """What a driver prints as its last line, as JSON; and what it logs."""
    run = subprocess.run(
        [sys.executable, "-c", program, cluster.url, *arguments],
        env=environment(folder) | {"PYSPARK_PYTHON": python},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(run.stdout.splitlines()[-1]), run.stderr


def test_what_is_packed():
    """What matchwood needs, what that needs, and not what a platform has of its own."""
    names = {package.metadata["Name"].lower() for package in needed_packages()}
    assert {"matchwood", "numpy", "numba", "llvmlite", "pyarrow", "pandas", "six"} <= names
    assert not names & {"pyspark", "py4j", "pytest", "fastapi", "duckdb"}


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.long
def test_executors_with_a_bare_python(tmp_path):
    archive = tmp_path / "packed.tar.gz"
    told = CliRunner().invoke(app, ["package-env", "--output", str(archive), "--json"])
    assert told.exit_code == 0, told.output
    said = json.loads(told.stdout)
    assert said["kernels"] > 50
    with tarfile.open(archive) as packed:
        names = packed.getnames()
    assert not [name for name in names if "pyspark" in name or name.startswith(("/", ".."))]
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    lacks = subprocess.run([f"{bare}/bin/python", "-c", "import numpy"], capture_output=True)
    assert lacks.returncode != 0
    with Cluster(tmp_path / "cluster", workers=1, path=f"{bare}/bin:/usr/bin:/bin") as cluster:
        # Without the archive no task fails: that is said at once, in few lines, with what to do.
        refused, logged = driven(cluster, tmp_path, UNPREPARED, "python")
        assert refused["seconds"] < PATIENCE
        assert "Lost task" not in logged, logged  # and so nothing was tried again
        assert "Traceback" not in logged, logged
        assert f"{bare}/bin/python (Python " in refused["error"]
        assert "`matchwood package-env`" in refused["error"]
        result, _ = driven(
            cluster, tmp_path, DRIVER, "./environment/bin/python", f"{archive}#environment"
        )
    assert result["found"] == [[1, "adults"], [1, "all"], [2, "all"]]
    assert result["compiled"] == 0
    assert result["loaded"] == said["kernels"]
    unpacked = f"{os.sep}environment{os.sep}lib{os.sep}site-packages{os.sep}"
    assert all(
        unpacked in place and str(cluster.folder / "worker-0") in place
        for place in result["places"]
    ), result["places"]
