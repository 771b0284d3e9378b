"""The version of a set of rules: a hash of what they say, however they are compiled."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

from matchwood.match.stored import LANGUAGE
from matchwood.schema import Schema

# Rules are hashed bucket by bucket, so that no place needs them all. A bucket is a matter of the
# id alone, and lies in one shard whatever their number.
BUCKETS = 4096

Id = str | int


def bucket_of(rule_id: Id) -> int:
    """The bucket of a rule: as in SQL, `crc32(cast(id as string)) % 4096`."""
    return zlib.crc32(str(rule_id).encode()) % BUCKETS


def bucket_hashes(rules: Iterable[tuple[Id, str]]) -> dict[int, str]:
    """SHA-256 of each bucket: its (id, canonical text) in the order of ids."""
    buckets: dict[int, list[tuple[Id, str]]] = {}
    for rule_id, text in rules:
        buckets.setdefault(bucket_of(rule_id), []).append((rule_id, text))
    found = {}
    for bucket, held in buckets.items():
        held.sort()
        hashed = hashlib.sha256()
        for rule_id, text in held:
            name, body = str(rule_id).encode(), text.encode()
            hashed.update(struct.pack("<II", len(name), len(body)) + name + body)
        found[bucket] = hashed.hexdigest()
    return found


def version_of(
    buckets: Mapping[int, str], id_type: str, schema: Schema | None, language: int = LANGUAGE
) -> str:
    """SHA-256 over the buckets in order, the type of ids, the schema and the language."""
    hashed = hashlib.sha256()
    about = {"language": language, "ids": id_type, "schema": schema_to_json(schema)}
    hashed.update(json.dumps(about, sort_keys=True).encode())
    for bucket in sorted(buckets):
        hashed.update(struct.pack("<I", bucket) + bytes.fromhex(buckets[bucket]))
    return hashed.hexdigest()


def schema_to_json(schema: Schema | None) -> dict[str, Any] | None:
    """The dict form of a schema, which `Schema.from_dict` reads."""
    return None if schema is None else schema.to_dict()
