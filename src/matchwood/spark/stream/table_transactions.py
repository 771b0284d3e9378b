"""How tables of Delta and Iceberg tell that they have a micro-batch already.

Both keep what a writer says about itself with each commit, in the same transaction as the rows:
Delta a number per application, and Iceberg properties of the snapshot.
"""

from __future__ import annotations

from typing import Protocol

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from matchwood.spark.endpoints import Sink, format_of
from matchwood.spark.storage import provider_of

# Properties of Iceberg's snapshots: the stream that wrote one, and the number of the micro-batch.
STREAM_PROPERTY, BATCH_PROPERTY = "matchwood.stream", "matchwood.batch"


class Transactions(Protocol):
    """What a stream tells a table, and asks it."""

    def options(self, number: int) -> dict[str, str]:
        """The options with which a micro-batch is written."""

    def done(self, spark: SparkSession, number: int) -> bool:
        """Whether the table is known to have a micro-batch."""


def transactions_of(spark: SparkSession, sink: Sink, stream: str) -> Transactions | None:
    """The transactions of the table behind a sink; None if it has none that are known here."""
    form = format_of(sink) if sink.table is None else provider_of(spark, sink.table)
    if form == "delta":
        return DeltaTransactions(stream)
    if form == "iceberg" and sink.table is not None:
        return IcebergTransactions(sink.table, stream)
    return None


class DeltaTransactions:
    """Delta ignores a write whose number its application has written already."""

    def __init__(self, stream: str) -> None:
        self._application = f"matchwood-{stream}"

    def options(self, number: int) -> dict[str, str]:
        return {"txnAppId": self._application, "txnVersion": str(number)}

    def done(self, spark: SparkSession, number: int) -> bool:
        return False


class IcebergTransactions:
    """Iceberg writes twice what it is given twice, so its snapshots are asked before."""

    def __init__(self, table: str, stream: str) -> None:
        self._table = table
        self._stream = stream

    def options(self, number: int) -> dict[str, str]:
        return {
            f"snapshot-property.{STREAM_PROPERTY}": self._stream,
            f"snapshot-property.{BATCH_PROPERTY}": str(number),
        }

    def done(self, spark: SparkSession, number: int) -> bool:
        spark.catalog.refreshTable(self._table)  # else the catalog may know an old state of it
        # Snapshots that the table was rolled back from do not count.
        current = spark.read.table(f"{self._table}.history").where("is_current_ancestor")
        snapshots = spark.read.table(f"{self._table}.snapshots").select("snapshot_id", "summary")
        summary = F.col("summary")
        mine = summary[STREAM_PROPERTY] == self._stream
        reached = summary[BATCH_PROPERTY].cast("bigint") >= number
        return not (
            snapshots.join(current.select("snapshot_id"), "snapshot_id", "left_semi")
            .where(mine & reached)
            .isEmpty()
        )
