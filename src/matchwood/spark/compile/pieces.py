"""Compiled rules as rows: how segments travel between executors, storage and the driver.

A segment file is cut into pieces with one row per piece, in any order. The facts about a shard and
the rules that were rejected are rows of the same table.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any, NamedTuple

from matchwood.spark.compile.rule_buckets import PackedBuckets

# Bytes of a piece.
PIECE = 1 << 20
# Pieces that the driver fetches at once: Java holds several copies of them.
PIECES_AT_ONCE = 32
# Options of the Parquet writer that limit its memory and let readers skip: row groups of a few
# pieces, whose size is checked after every few rows instead of every hundred.
WRITING = {
    "parquet.block.size": str(8 * PIECE),
    "parquet.page.size.row.check.min": "2",
    "parquet.page.size.row.check.max": "8",
}

SCHEMA = (
    "kind string, shard int, number int, data binary, "
    "id string, rule string, line int, `column` int, reason string"
)
# The kinds of rows: a piece of a segment, the facts about a shard, a rejected rule.
SEGMENT, ABOUT, REJECT = "segment", "about", "reject"


class SegmentFile(NamedTuple):
    """A file of rules: its name on every executor, and its path on the driver."""

    name: str
    path: Path
    bytes: int
    rules: int
    sha256: str
    shard: int
    replaced: PackedBuckets = (
        b""  # the buckets whose rules another segment has, packed; "" for none
    )


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
    """A batch of rows of one kind; columns that are not named are null."""
    import pyarrow as pa

    schema = arrow_schema()
    size = max(map(len, columns.values()))
    columns |= {"kind": [kind] * size, "shard": [shard] * size}
    arrays = [
        pa.array(columns[field.name], field.type)
        if field.name in columns
        else pa.nulls(size, field.type)
        for field in schema
    ]
    return pa.record_batch(arrays, schema=schema)


def of_file(path: Path, shard: int) -> Iterator[Any]:
    """The pieces of a segment file, one batch per piece."""
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


class PieceCollector:
    """Puts segment files together from their pieces, in a folder of the driver."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def take(self, table: Any, sizes: Mapping[int, int]) -> None:
        """Fetch segments from a table of pieces, given the bytes of each shard.

        Only a few pieces are fetched at a time, or Java would hold the whole table.
        """
        from pyspark.sql import functions as F

        segments = table.where(F.col("kind") == SEGMENT).select("shard", "number", "data")
        number = F.col("number")
        for ranges in portions(sizes):
            wanted = [(F.col("shard") == s) & (number >= a) & (number < z) for s, a, z in ranges]
            for piece in segments.where(reduce(or_, wanted)).collect():
                path = self.path(piece.shard)
                with path.open("r+b" if path.exists() else "w+b") as file:
                    file.seek(piece.number * PIECE)
                    file.write(piece.data)

    def path(self, shard: int) -> Path:
        return self._folder / f"{shard}.gathered"


def portions(sizes: Mapping[int, int]) -> Iterator[list[tuple[int, int, int]]]:
    """Ranges of pieces (shard, first, end), grouped by what is fetched at once.

    >>> list(portions({0: 3, 1: PIECE + 1, 2: 40 * PIECE}))
    [[(0, 0, 1), (1, 0, 2), (2, 0, 29)], [(2, 29, 40)]]
    """
    portion: list[tuple[int, int, int]] = []
    free = PIECES_AT_ONCE
    for shard, size in sizes.items():
        first, end = 0, -(-size // PIECE)
        while first < end:
            high = min(end, first + free)
            portion.append((shard, first, high))
            free -= high - first
            first = high
            if not free:
                yield portion
                portion, free = [], PIECES_AT_ONCE
    if portion:
        yield portion
