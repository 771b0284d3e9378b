"""Compiled rules as rows: how segments travel between executors, storage and the driver.

A segment file is cut into pieces, a row each, which can come in any order; what is known of a
shard and the rules that were refused are rows of the same table.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any, NamedTuple

PIECE = 1 << 20  # bytes
TOGETHER = 32  # pieces that the driver takes at once: Java holds several copies of them
# How Parquet's writer is told to keep little in memory, and so that readers can skip: groups of a
# few pieces, and a look at their size after each, not after a hundred rows.
WRITING = {
    "parquet.block.size": str(8 * PIECE),
    "parquet.page.size.row.check.min": "2",
    "parquet.page.size.row.check.max": "8",
}

SCHEMA = (
    "kind string, shard int, number int, data binary, "
    "id string, rule string, line int, `column` int, reason string"
)
SEGMENT, ABOUT, REJECT = "segment", "about", "reject"


class Segment(NamedTuple):
    """A file of rules: its name on every executor, and where it is on the driver."""

    name: str
    path: Path
    bytes: int
    rules: int
    sha256: str
    shard: int


def arrow_schema() -> Any:
    import pyarrow as pa

    text, number = pa.string(), pa.int32()
    return pa.schema(
        [
            ("kind", text), ("shard", number), ("number", number), ("data", pa.binary()),
            ("id", text), ("rule", text), ("line", number), ("column", number), ("reason", text),
        ]
    )  # fmt: skip


def rows(kind: str, shard: int, **columns: list[Any]) -> Any:
    """A batch of rows of one kind; columns that are not given are null."""
    import pyarrow as pa

    schema = arrow_schema()
    size = len(next(iter(columns.values())))
    columns |= {"kind": [kind] * size, "shard": [shard] * size}
    arrays = [
        pa.array(columns[field.name], field.type)
        if field.name in columns
        else pa.nulls(size, field.type)
        for field in schema
    ]
    return pa.record_batch(arrays, schema=schema)


def of_file(path: Path, shard: int) -> Iterator[Any]:
    """The pieces of a segment file, a batch each."""
    with path.open("rb") as file:
        number = 0
        while data := file.read(PIECE):
            yield rows(SEGMENT, shard, number=[number], data=[data])
            number += 1


def of_facts(facts: dict[str, Any], shard: int) -> Any:
    return rows(ABOUT, shard, number=[0], data=[json.dumps(facts).encode()])


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Gathering:
    """Files put together from pieces, in a folder of the driver."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def take(self, table: Any, sizes: Mapping[int, int]) -> None:
        """Fetch the segments of these shards, by their bytes, from a table of pieces.

        A few at a time: Java would hold a whole file of the table, whatever its size.
        """
        from pyspark.sql import functions as F

        segments = table.where(F.col("kind") == SEGMENT).select("shard", "number", "data")
        number = F.col("number")
        for some in portions(sizes):
            asked = [(F.col("shard") == s) & (number >= a) & (number < z) for s, a, z in some]
            for piece in segments.where(reduce(or_, asked)).collect():
                path = self.path(piece.shard)
                with path.open("r+b" if path.exists() else "w+b") as file:
                    file.seek(piece.number * PIECE)
                    file.write(piece.data)

    def path(self, shard: int) -> Path:
        return self._folder / f"{shard}.gathered"


def portions(sizes: Mapping[int, int]) -> Iterator[list[tuple[int, int, int]]]:
    """Ranges of pieces (shard, first, end), as many together as are taken at once.

    >>> list(portions({0: 3, 1: PIECE + 1, 2: 40 * PIECE}))
    [[(0, 0, 1), (1, 0, 2), (2, 0, 29)], [(2, 29, 40)]]
    """
    held: list[tuple[int, int, int]] = []
    free = TOGETHER
    for shard, size in sizes.items():
        first, end = 0, -(-size // PIECE)
        while first < end:
            high = min(end, first + free)
            held.append((shard, first, high))
            free -= high - first
            first = high
            if not free:
                yield held
                held, free = [], TOGETHER
    if held:
        yield held
