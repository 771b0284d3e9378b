"""A lazy session for the Spark tests: all run through a classic session and through Connect.

A process has one kind at a time. A test that is only for one says so:
`@pytest.mark.parametrize("spark", ["classic"], indirect=True)`.
"""

import contextlib
import os
import warnings
from pathlib import Path

import pytest

from spark.cases import EVENTS, RULES, SCHEMA

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
}


def session(kind, warehouse):
    """A session of a kind, or a skip where it cannot be had."""
    pyspark = pytest.importorskip("pyspark")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("matchwood tests")
    if kind == "connect":
        if int(pyspark.__version__.split(".")[0]) < 4:
            pytest.skip("the server of Spark Connect comes with PySpark 4")
        pytest.importorskip("grpc")
        builder = builder.remote("local[2]")
    else:
        builder = builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    Path(warehouse).mkdir(exist_ok=True)
    builder = builder.config("spark.sql.warehouse.dir", str(warehouse))
    # Java stays in the folder where it is started: relative paths of pages are not for ours
    with warnings.catch_warnings(), contextlib.chdir(warehouse):
        warnings.simplefilter("ignore")  # the server has its settings already
        return free_port(builder) if kind == "connect" else builder.getOrCreate()


def free_port(builder):
    """A Connect server on any port that is free: others may test on this machine too.

    Python's side takes that from a variable, which the JVM, already there, does not see.
    """
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized(conf=SparkConf().setAll(list(SETTINGS.items())))
    os.environ["SPARK_TESTING"] = "1"
    try:
        return builder.getOrCreate()
    finally:
        del os.environ["SPARK_TESTING"]


@pytest.fixture(scope="session", params=["classic", "connect"])
def spark(request, tmp_path_factory):
    """A small session, one for all tests of its kind."""
    made = session(request.param, tmp_path_factory.mktemp("warehouse"))
    yield made
    made.stop()


@pytest.fixture(scope="session")
def compiled(spark):
    """The rules of `cases`, in several shards."""
    from matchwood.spark import compile_rules

    rules = spark.createDataFrame(list(RULES.items()), "id string, rule string")
    return compile_rules(rules, shards=3)


@pytest.fixture(scope="session")
def events(spark):
    """The events of `cases`, as columns."""
    rows = [tuple(one.values()) for one in EVENTS]
    return spark.createDataFrame(rows, SCHEMA).repartition(2)
