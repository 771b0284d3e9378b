"""The fixture `spark`: tests run on a classic session and on one of Spark Connect.

A process has one kind at a time. A test that is only for one of them says so:
`@pytest.mark.parametrize("spark", ["classic"], indirect=True)`.
"""

import contextlib
import os
import warnings
from pathlib import Path

import pytest

# Small queries are dominated by what Spark does around them: generating code, planning stages
# again and measuring them takes longer than a few rows do.
SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.shuffle.compress": "false",
    "spark.shuffle.spill.compress": "false",
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
    "spark.python.daemon.module": "unzipped_daemon",
}
# Where the workers of a session find that module.
WORKER_PATH = Path(__file__).parent / "worker_path"


def session(kind, warehouse):
    """A session of one kind; the test is skipped if there cannot be one."""
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
    for name, value in (SETTINGS | connectors(warehouse)).items():
        builder = builder.config(name, value)
    Path(warehouse).mkdir(exist_ok=True)
    builder = builder.config("spark.sql.warehouse.dir", str(warehouse))
    # Java keeps the folder and the environment in which it is started, and writes to relative paths
    # there.
    with warnings.catch_warnings(), contextlib.chdir(warehouse), pytest.MonkeyPatch.context() as it:
        warnings.simplefilter("ignore")  # the server has its settings already
        it.setenv("PYTHONPATH", str(WORKER_PATH), prepend=os.pathsep)
        return free_port(builder) if kind == "connect" else builder.getOrCreate()


def connectors(warehouse, faulty=False):
    """The settings for Kafka, Delta and Iceberg, whose jars `make test-connectors` names.

    With `faulty`, a connector of Kafka with a known mistake takes the place of the right one.
    """
    folder = os.environ.get("CONNECTORS")
    if folder is None:
        return {}
    jars = sorted(str(path) for path in Path(folder, "spark").glob("*.jar"))
    if faulty:
        jars = [jar for jar in jars if "spark-sql-kafka" not in jar]
        jars += [str(path) for path in Path(folder, "faulty").glob("*.jar")]
    extensions = ["io.delta.sql.DeltaSparkSessionExtension"]
    settings = {
        "spark.jars": ",".join(jars),
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "2",
    }
    if any("iceberg" in jar for jar in jars):  # there is none yet for the newest Spark
        extensions.append("org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
        settings |= {
            "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.ice.type": "hadoop",
            "spark.sql.catalog.ice.warehouse": f"{warehouse}/ice",
        }
    return settings | {"spark.sql.extensions": ",".join(extensions)}


def needs_iceberg(spark):
    """Skip the test if there is no connector of Iceberg for this Spark."""
    if spark.conf.get("spark.sql.catalog.ice", None) is None:
        pytest.skip("there is no connector of Iceberg for this Spark")


def free_port(builder):
    """A Connect server on any free port, as others may run tests on this machine too.

    Python reads that from a variable, which the JVM does not see: it has been started before.
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
    """A small session, shared by all tests of its kind."""
    made = session(request.param, tmp_path_factory.mktemp("warehouse"))
    yield made
    made.stop()
