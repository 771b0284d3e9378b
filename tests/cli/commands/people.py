"""Rules and events of people, which the tests of several commands match."""

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

RULES: list[dict[str, Any]] = [
    {"id": "adults", "rule": "age >= 18", "tags": ["eu", "us"], "priority": 1},
    {"id": "vip", "rule": "tier = 'gold' and not blocked", "tags": ["eu"], "priority": 5},
    {"id": "teens", "rule": {"attr": "age", "op": "between", "low": 13, "high": 19}},
]
EVENTS: list[dict[str, Any]] = [
    {"key": "a", "age": 18, "tier": "gold", "blocked": False},
    {"key": "b", "age": 12, "tier": "gold", "blocked": True},
    {"key": "c", "age": 40, "tier": "tin", "blocked": False},
]
MATCHES = {0: {"adults", "vip", "teens"}, 2: {"adults"}}
BAD_RULE = '{"id": "bad", "rule": "age >"}\n'


def jsonl(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def write_files(folder: Path) -> None:
    """rules.jsonl, bad.jsonl with a bad rule at its end, and events in all three formats."""
    (folder / "rules.jsonl").write_text(jsonl(RULES))
    (folder / "bad.jsonl").write_text(jsonl(RULES) + BAD_RULE)
    (folder / "events.jsonl").write_text(jsonl(EVENTS))
    pq.write_table(pa.Table.from_pylist(EVENTS), folder / "events.parquet")
    with open(folder / "events.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, list(EVENTS[0]))
        writer.writeheader()
        writer.writerows(EVENTS)


def matches_in(out: str) -> dict[Any, set[Any]]:
    """The ids of the rules by event, of the lines that `match` prints."""
    read = [json.loads(line) for line in out.splitlines()]
    assert all(list(one) == ["event", "rules"] for one in read)
    found = {one["event"]: set(one["rules"]) for one in read}
    assert len(found) == len(read)
    return found
