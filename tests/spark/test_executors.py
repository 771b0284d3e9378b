"""Executors that cannot run matchwood are found at once, with what they have and what to do."""

import os
import subprocess
import sys
import time

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from matchwood.spark import compile_rules, executors, session
from matchwood.spark.executors import UnpreparedExecutors, check_executors

pytestmark = pytest.mark.spark
CLASSIC = pytest.mark.parametrize("spark", ["classic"], indirect=True)


@pytest.fixture
def unchecked(monkeypatch):
    monkeypatch.setattr(executors, "_checked", set())


@CLASSIC
def test_a_python_without_matchwood(spark, unchecked, monkeypatch, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    bare = str(tmp_path / "bare" / "bin" / "python")
    monkeypatch.setattr(spark.sparkContext, "pythonExec", bare)
    rules = spark.createDataFrame([("a", "age > 1")], "id string, rule string")
    begun = time.monotonic()
    with pytest.raises(UnpreparedExecutors) as error:
        compile_rules(rules)
    assert time.monotonic() - begun < 60
    version = ".".join(map(str, sys.version_info[:3]))
    assert f"{bare} (Python {version})" in str(error.value)
    assert "PYSPARK_PYTHON" in str(error.value)
    assert "--archives" in str(error.value)


@CLASSIC
def test_a_session_that_was_started_elsewhere(spark, unchecked, monkeypatch):
    """Where nothing says which Python workers run, they run the one of the driver."""
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "python3")  # as Spark has it then
    monkeypatch.delenv("PYSPARK_PYTHON")
    check_executors(spark)
    assert spark.sparkContext.pythonExec == sys.executable


@pytest.mark.parametrize(
    ("variables", "settings", "chosen"),
    [
        ({"MASTER": "local[2]"}, {}, sys.executable),
        ({"SPARK_REMOTE": "local"}, {}, sys.executable),
        ({}, {"spark.master": "local[*]"}, sys.executable),
        ({}, {"spark.remote": "local[4]"}, sys.executable),
        ({"MASTER": "local"}, {"spark.pyspark.python": "/opt/python"}, "/opt/python"),
        ({"MASTER": "local", "PYSPARK_PYTHON": "/opt/python"}, {}, "/opt/python"),
        ({"MASTER": "spark://here:7077"}, {}, None),  # which has machines of its own
        ({"SPARK_REMOTE": "sc://here"}, {}, None),
    ],
)
def test_the_python_of_workers(monkeypatch, variables, settings, chosen):
    """It is named before Java starts, which hands it on to the workers."""
    for name in ("MASTER", "SPARK_REMOTE", "PYSPARK_PYTHON"):
        monkeypatch.setenv(name, variables.get(name, ""))
        if name not in variables:
            monkeypatch.delenv(name)
    started = []
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", lambda made: started.append(made))
    session._started(settings)
    assert os.environ.get("PYSPARK_PYTHON") == chosen
    assert len(started) == 1


@CLASSIC
def test_no_python_at_all(spark, unchecked, monkeypatch):
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/nowhere/python")
    with pytest.raises(UnpreparedExecutors, match=r"Cannot run program.*/nowhere/python"):
        check_executors(spark)


@CLASSIC
def test_another_version(spark, unchecked, monkeypatch):
    monkeypatch.setattr(executors, "_runs_this_python", lambda spark: False)
    check_executors(spark)
    monkeypatch.setattr(executors, "_checked", set())
    monkeypatch.setattr("matchwood.__version__", "99.0")
    with pytest.raises(UnpreparedExecutors, match=r"the driver has matchwood 99\.0"):
        check_executors(spark)
