"""The places in a checkpoint where rules are stored: two for a base, and more for its layers.

A version that a note of the checkpoint names is never overwritten. What no note needs any more is
deleted when its place is used again, because that is the only way through Spark.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from matchwood.spark.compile.compiled_rules import (
    CompiledRules,
    joined_attributes,
    load,
    stored_attributes,
)
from matchwood.spark.compile.layered_rules import Layer, layered
from matchwood.spark.compile.rule_buckets import packed, unpacked
from matchwood.spark.stream.changed_buckets import BucketHashes, of_json, to_json
from matchwood.spark.stream.durable_log import Note, clear


class StoredRules(NamedTuple):
    """A version of the rules: a base, the layers over it, and both as one set."""

    slot: str  # the place of the base
    base: CompiledRules
    layers: tuple[Layer, ...]
    rules: CompiledRules

    @classmethod
    def of(cls, slot: str, base: CompiledRules, layers: Sequence[Layer] = ()) -> StoredRules:
        return cls(slot, base, tuple(layers), layered(base, layers))

    def note(self) -> Note:
        """What the checkpoint says about them."""
        return {
            "version": self.rules.version,
            "slot": self.slot,
            "layers": [[one.place, packed(one.buckets).hex()] for one in self.layers],
            "id_type": self.rules.id_type,
            "rules": self.rules.rules,
            "rejected": self.rules.rejected_count,
        }

    def are_of(self, note: Note) -> bool:
        """Whether these are the rules of a note."""
        mine = self.note()
        noted = {"layers": [], **note, "slot": str(note["slot"])}
        return all(mine[key] == noted[key] for key in ("version", "slot", "layers"))


class RulePlaces:
    """Stored rules, and the hashes of the rows that they were made of."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def path(self, place: str) -> str:
        return f"{self._folder}/rules/{place}"

    def cleared(self, spark: SparkSession, place: str) -> str:
        """The path of a place where nothing is any more."""
        clear(spark, self.path(place))
        return self.path(place)

    def free_base(self, note: Note | None) -> str:
        """A place for a base that the rules of a note do not use."""
        return "0" if note is None else str(1 - int(note["slot"]))

    def free_layer(self, note: Note) -> str:
        """A place for a layer that the rules of a note do not use."""
        used = {place for place, _ in note.get("layers", [])}
        return next(place for place in map("layer-{}".format, count()) if place not in used)

    def opened(self, spark: SparkSession, note: Note) -> StoredRules:
        """The rules of a note, read from their places."""
        layers = [
            Layer(place, unpacked(bytes.fromhex(bits)), load(spark, self.path(place)))
            for place, bits in note.get("layers", [])
        ]
        slot = str(note["slot"])
        return StoredRules.of(slot, load(spark, self.path(slot)), layers)

    def attributes(self, spark: SparkSession, note: Note) -> dict[str, tuple[str, ...]]:
        """The attributes that the rules of a note ask for, which takes no look at the rules."""
        places = (str(note["slot"]), *(place for place, _ in note.get("layers", [])))
        return joined_attributes(stored_attributes(spark, self.path(place)) for place in places)

    def hashes(self, spark: SparkSession, note: Note) -> BucketHashes | None:
        """The hashes of the rows that the rules of a note were made of, if they are known."""
        if note.get("hashes") is None:
            return None
        rows = spark.read.text(f"{self.path(note['hashes'])}/hashes").collect()
        return of_json(json.loads(rows[0].value))

    def write_hashes(self, spark: SparkSession, place: str, hashes: BucketHashes) -> None:
        """Write hashes beside the rules at a place."""
        text = F.lit(json.dumps(to_json(hashes))).alias("value")
        frame = spark.range(1, numPartitions=1).select(text)
        frame.write.mode("overwrite").text(f"{self.path(place)}/hashes")
