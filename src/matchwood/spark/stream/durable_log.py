"""A small durable note, written and read with nothing but Spark's readers and writers of files.

A checkpoint or a sink may be on any storage that Spark can reach, and through Spark Connect there
is no other way to reach it: files can be neither renamed nor deleted.
"""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from matchwood.spark.storage import exists

# How often both notes are read before the folder counts as empty.
_ATTEMPTS = 5

Note = dict[str, Any]


class DurableLog:
    """Numbered notes in a folder, of which the newest counts.

    Of two with the same number, that is the one that was written again.

    Two subfolders, 0 and 1, take turns: one holds the newest note while the other is written. A
    process that is killed at any moment leaves the newest note, or the one before it, complete.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder.rstrip("/")
        self.last: Note | None = None  # of this process, which is the only writer

    def newest(self, spark: SparkSession) -> Note | None:
        """The newest note."""
        if not exists(spark, self.folder):
            return None
        for _ in range(_ATTEMPTS):
            try:
                notes = self._read(spark)
            except Exception as error:
                if is_missing(error):
                    return None
                raise
            if notes:
                self.last = max(notes, key=lambda note: (int(note["number"]), note.get("again", 0)))
                return self.last
            # Both were replaced between listing and reading, or the first was never completed.
        return None

    def note(self, spark: SparkSession, number: int) -> Note | None:
        """The note with a number, if it is the newest one or the one before it."""
        found = (note for note in self._read(spark) if int(note["number"]) == number)
        return max(found, key=lambda note: int(note.get("again", 0)), default=None)

    def _read(self, spark: SparkSession) -> list[Note]:
        reader = spark.read.schema("value string").option("recursiveFileLookup", "true")
        rows = reader.option("ignoreMissingFiles", "true").text(self.folder).collect()
        return [json.loads(row.value) for row in rows]

    def write(self, spark: SparkSession, number: int, note: Note) -> Note:
        """Write a note, which becomes the newest; the one before it is kept."""
        if self.last is None:
            self.newest(spark)
        subfolder = 0 if self.last is None else 1 - int(self.last["place"])
        again = 0
        if self.last is not None and self.last["number"] == number:
            again = 1 + int(self.last.get("again", 0))
        written = {**note, "number": number, "again": again, "place": subfolder}
        frame = spark.range(1, numPartitions=1).select(F.lit(json.dumps(written)).alias("value"))
        frame.write.mode("overwrite").text(f"{self.folder}/{subfolder}")
        self.last = written
        return written


def is_missing(error: BaseException) -> bool:
    """Whether an error of Spark says that there is nothing at a path."""
    return "PATH_NOT_FOUND" in str(error)


def clear(spark: SparkSession, path: str) -> None:
    """Delete what is at a path by overwriting it, which is the only way through Spark."""
    spark.range(0).write.mode("overwrite").parquet(path)
