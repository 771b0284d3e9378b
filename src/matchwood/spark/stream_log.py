"""A small durable note, through nothing but Spark's readers and writers of files.

A checkpoint or a sink may be on any storage that Spark has been given, and through Connect there
is no other way to reach it: no rename, no delete.
"""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

_ATTEMPTS = 5

Note = dict[str, Any]


class Register:
    """The newest of the numbered notes that were written to a folder.

    Two places take turns: one holds the newest note while the other is written. Whoever is killed
    at any moment leaves the newest or the one before it, whole.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder.rstrip("/")
        self.last: Note | None = None  # of this process, which alone writes

    def newest(self, spark: SparkSession) -> Note | None:
        """The note with the highest number."""
        for _ in range(_ATTEMPTS):
            try:
                notes = self._read(spark)
            except Exception as error:
                if is_missing(error):
                    return None
                raise
            if notes:
                self.last = max(notes, key=lambda note: int(note["number"]))
                return self.last
            # Both were replaced between listing and reading; or the first was never finished.
        return None

    def _read(self, spark: SparkSession) -> list[Note]:
        reader = spark.read.schema("value string").option("recursiveFileLookup", "true")
        rows = reader.option("ignoreMissingFiles", "true").text(self.folder).collect()
        return [json.loads(row.value) for row in rows]

    def write(self, spark: SparkSession, number: int, note: Note) -> Note:
        """Write a note, which becomes the newest; the one before it stays."""
        if self.last is None:
            self.newest(spark)
        place = 0 if self.last is None else 1 - int(self.last["place"])
        written = {**note, "number": number, "place": place}
        frame = spark.range(1, numPartitions=1).select(F.lit(json.dumps(written)).alias("value"))
        frame.write.mode("overwrite").text(f"{self.folder}/{place}")
        self.last = written
        return written


def is_missing(error: BaseException) -> bool:
    """Whether an error of Spark says that nothing is at a path."""
    return "PATH_NOT_FOUND" in str(error)


def clear(spark: SparkSession, path: str) -> None:
    """Whatever was at a path is gone: Spark deletes only what it overwrites."""
    spark.range(0).write.mode("overwrite").parquet(path)
