"""The folders of a stream under test: rules and events are put in, matches are read."""

import json
import os
from collections import Counter

from matcher.expected import expected
from matchwood.spark import match_stream, read_matches

FIRST = {"adults": "age >= 18", "romans": "city = 'Rome'"}
SECOND = {"adults": "age >= 21", "all": "key >= 0"}
SIMPLE = "key bigint, age int, city string"
PEOPLE = [{"key": key, "age": key % 40, "city": ("Rome", "Oslo")[key % 2]} for key in range(60)]


class StreamFolders:
    """The folders of one stream, and what is put into them."""

    def __init__(self, spark, folder, schema=SIMPLE):
        self.spark = spark
        self.folder = folder
        self.schema = schema
        self.sink, self.checkpoint, self.rules = (
            str(folder / name) for name in ("sink", "checkpoint", "rules")
        )
        self.events = folder / "events"
        self.events.mkdir()
        self.files = 0

    def add(self, *lines):
        """Add one file of events, which will be one micro-batch."""
        text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
        hidden = self.events / f".{self.files}"
        hidden.write_text(text)
        os.utime(hidden, (self.files, self.files))  # the order in which Spark takes them
        hidden.rename(self.events / f"{self.files:03}.json")
        self.files += 1

    def set_rules(self, rules, name="rules.json"):
        folder = self.folder / "rules"
        folder.mkdir(exist_ok=True)
        lines = [json.dumps({"id": id, "rule": rule}) for id, rule in rules.items()]
        (folder / name).write_text("\n".join(lines))

    def stream(self):
        reader = self.spark.readStream.schema(self.schema).option("maxFilesPerTrigger", 1)
        return reader.json(str(self.events))

    def start(self, rules=None, **more):
        given = {"checkpoint": self.checkpoint, "sink": self.sink, "keep": ["key"], **more}
        return match_stream(self.stream(), rules or self.rules, **given)

    def run(self, rules=None, **more):
        """Match all events that are there, one micro-batch per file."""
        finish(self.start(rules, trigger="availableNow", **more))

    def rows(self, sink=None):
        return read_matches(self.spark, sink or self.sink).collect()


def finish(query):
    """Wait for the end of a query, and raise its error if it failed."""
    assert query.awaitTermination(120)


def pairs(rows):
    found = Counter((row["key"], row["rule_id"]) for row in rows)
    assert not found or max(found.values()) == 1, "a match is there twice"
    return set(found)


def right(rules, events, towns=()):
    """What `evaluate` says, with the values of the list `towns`."""
    found = expected(rules, events, lists={"towns": towns})
    return {(events[place]["key"], rule) for place, rule in found}


def versions_of(rows):
    found = {}
    for row in rows:
        found.setdefault(row.batch, set()).add(row.rules_version)
    return found
