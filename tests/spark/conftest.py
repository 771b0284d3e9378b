"""One lazy session a process for the Spark tests: classic, or Connect with its server beside it."""

import os
import sys

import pytest

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.ui.showConsoleProgress": "false",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """A small session for the whole suite."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    sql = pytest.importorskip("pyspark.sql")
    builder = sql.SparkSession.builder.appName("matchwood tests").master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    builder = builder.config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
