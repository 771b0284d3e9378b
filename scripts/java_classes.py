"""Stores Spark's classes as Java has them in memory once they are loaded: `java_classes.py FILE`.

The tests start two dozen Javas. One that maps such a file (the option SharedArchiveFile) takes half
of the processor time until Spark has answered a first query, because it neither reads these classes
from jars nor parses them. A Java for which the file was not made ignores it.

`make programs` runs this, with the options of tests/java_options.py, which must be the same.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from java_options import JAVA_OPTIONS


def load_classes(folder: Path) -> None:
    """Have a Spark do what most tests do, and end its Java, which then writes the file."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]")
    for name, value in {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1"}.items():
        builder = builder.config(name, value)
    spark = builder.config("spark.log.level", "ERROR").getOrCreate()
    java = spark.sparkContext._gateway
    path = str(folder / "table.parquet")
    spark.range(100).selectExpr("id", "cast(id as string) as text").write.parquet(path)
    spark.read.parquet(path).createOrReplaceTempView("rows")
    spark.sql("select text, count(*) from rows group by text order by text").collect()
    spark.table("rows").mapInArrow(_unchanged, "id long, text string").count()
    spark.stop()
    java.shutdown()
    java.proc.stdin.close()
    java.proc.wait()


def _unchanged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def main() -> None:
    path = Path(sys.argv[1]).resolve()
    if path.exists():
        return
    made = path.with_suffix(".part")
    os.environ["JDK_JAVA_OPTIONS"] = " ".join(JAVA_OPTIONS)
    # For Spark's Java alone: the one that puts its command line together would write a file, too.
    os.environ["SPARK_SUBMIT_OPTS"] = f"-XX:ArchiveClassesAtExit='{made}'"
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory() as folder:
        load_classes(Path(folder))
    if made.exists():  # a Java that is not OpenJDK's may not write it
        made.replace(path)


if __name__ == "__main__":
    main()
