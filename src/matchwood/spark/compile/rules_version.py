"""The version of a set of rules: a hash of their meaning, however they are compiled."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable, Mapping
from typing import Any

from matchwood.match.parts.part_file import LANGUAGE
from matchwood.schema import Schema
from matchwood.spark.compile.rule_buckets import bucket_of
from matchwood.tables.rule_table import RuleId

# The SHA-256 of a bucket, and how many rules it has.
HashedBucket = tuple[str, int]


def bucket_hashes(rules: Iterable[tuple[RuleId, str]]) -> dict[int, HashedBucket]:
    """The SHA-256 of each bucket, over its ids and canonical texts in the order of ids."""
    buckets: dict[int, list[tuple[RuleId, str]]] = {}
    for rule_id, text in rules:
        buckets.setdefault(bucket_of(rule_id), []).append((rule_id, text))
    hashes = {}
    for bucket, members in buckets.items():
        members.sort()
        hashed = hashlib.sha256()
        for rule_id, text in members:
            name, body = str(rule_id).encode(), text.encode()
            hashed.update(struct.pack("<II", len(name), len(body)) + name + body)
        hashes[bucket] = hashed.hexdigest(), len(members)
    return hashes


def version_of(
    buckets: Mapping[int, HashedBucket],
    id_type: str,
    schema: Schema | None,
    language: int = LANGUAGE,
) -> str:
    """The SHA-256 over the buckets in order, the type of ids, the schema and the language."""
    hashed = hashlib.sha256()
    about = {"language": language, "ids": id_type, "schema": schema_to_json(schema)}
    hashed.update(json.dumps(about, sort_keys=True).encode())
    for bucket in sorted(buckets):
        hashed.update(struct.pack("<I", bucket) + bytes.fromhex(buckets[bucket][0]))
    return hashed.hexdigest()


def schema_to_json(schema: Schema | None) -> dict[str, Any] | None:
    """The dict form of a schema, which `Schema.from_dict` reads."""
    return None if schema is None else schema.to_dict()
