"""The version of a set of rules: a hash of their meaning, however they are compiled."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

from matchwood.match.parts.part_file import LANGUAGE
from matchwood.schema import Schema
from matchwood.tables.rule_table import RuleId

# Buckets of rules. Each bucket is hashed by itself, so that no process needs all rules. The bucket
# depends on the id alone, and lies in one shard whatever the number of shards.
BUCKETS = 4096


def bucket_of(rule_id: RuleId) -> int:
    """The bucket of a rule; in SQL it is `crc32(cast(id as string)) % 4096`."""
    return zlib.crc32(str(rule_id).encode()) % BUCKETS


def bucket_hashes(rules: Iterable[tuple[RuleId, str]]) -> dict[int, str]:
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
        hashes[bucket] = hashed.hexdigest()
    return hashes


def version_of(
    buckets: Mapping[int, str], id_type: str, schema: Schema | None, language: int = LANGUAGE
) -> str:
    """The SHA-256 over the buckets in order, the type of ids, the schema and the language."""
    hashed = hashlib.sha256()
    about = {"language": language, "ids": id_type, "schema": schema_to_json(schema)}
    hashed.update(json.dumps(about, sort_keys=True).encode())
    for bucket in sorted(buckets):
        hashed.update(struct.pack("<I", bucket) + bytes.fromhex(buckets[bucket]))
    return hashed.hexdigest()


def schema_to_json(schema: Schema | None) -> dict[str, Any] | None:
    """The dict form of a schema, which `Schema.from_dict` reads."""
    return None if schema is None else schema.to_dict()
