"""A stream gives what a table and `evaluate` give, with one version of rules a micro-batch."""

import json
import logging
import os
import shutil
from collections import Counter

import pytest

from engine.expected import expected
from matchwood.spark import compile_rules, load, match_events, match_stream, read_matches
from matchwood.spark.pipeline import Rules, Sink
from matchwood.spark.stream_log import Register
from spark.cases import EVENTS, RULES, SCHEMA

pytestmark = pytest.mark.spark
FIRST = {"adults": "age >= 18", "romans": "city = 'Rome'"}
SECOND = {"adults": "age >= 21", "all": "key >= 0"}
# A query of Connect starts a process on the server: it is tried where that could matter.
CLASSIC = pytest.mark.parametrize("spark", ["classic"], indirect=True)
SIMPLE = "key bigint, age int, city string"
PEOPLE = [{"key": key, "age": key % 40, "city": ("Rome", "Oslo")[key % 2]} for key in range(60)]


class Place:
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
        """One file of events: a micro-batch."""
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
        """All events that are there, a micro-batch a file."""
        finish(self.start(rules, trigger="availableNow", **more))

    def rows(self, sink=None):
        return read_matches(self.spark, sink or self.sink).collect()


def finish(query):
    """Wait for the end of a query; what went wrong in it is raised."""
    assert query.awaitTermination(120)


def pairs(rows):
    found = Counter((row["key"], row["rule_id"]) for row in rows)
    assert not found or max(found.values()) == 1, "a match is there twice"
    return set(found)


def right(rules, events):
    return {(events[place]["key"], rule) for place, rule in expected(rules, events)}


@pytest.fixture
def place(spark, tmp_path):
    return Place(spark, tmp_path)


def test_a_stream_is_a_table_is_evaluate(spark, tmp_path, compiled, events):
    """Every kind of value, from a folder of Parquet."""
    source, sink = str(tmp_path / "events"), str(tmp_path / "sink")
    events.write.parquet(source)
    compiled.save(str(tmp_path / "rules"))
    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(source)
    query = match_stream(
        stream,
        str(tmp_path / "rules"),
        checkpoint=str(tmp_path / "checkpoint"),
        sink=sink,
        keep=["key", "address"],
        trigger="availableNow",
    )
    finish(query)
    found = read_matches(spark, sink)
    assert found.columns == ["key", "address", "rule_id", "rules_version", "batch"]
    assert dict(found.dtypes)["batch"] == "bigint"
    table = match_events(events, compiled, keep=["key", "address"])
    rows = found.collect()
    assert pairs(rows) == pairs(table.collect()) == right(RULES, EVENTS)
    assert {row.rules_version for row in rows} == {compiled.version}
    assert {row.batch for row in rows} == {0, 1}


def test_rules_change_between_micro_batches(spark, place):
    """While the query runs, without a restart."""
    place.set_rules(FIRST)
    place.add(*PEOPLE[:20])
    query = place.start(trigger="100 milliseconds")
    try:
        query.processAllAvailable()
        place.set_rules(SECOND)
        place.add(*PEOPLE[20:40])
        query.processAllAvailable()
        place.add(*PEOPLE[40:])
        query.processAllAvailable()
    finally:
        query.stop()
    rows = place.rows()
    versions = versions_of(rows)
    assert {batch: len(found) for batch, found in versions.items()} == {0: 1, 1: 1, 2: 1}
    assert versions[0] != versions[1] == versions[2]
    assert pairs(rows) == right(FIRST, PEOPLE[:20]) | right(SECOND, PEOPLE[20:])
    one = spark.createDataFrame(list(SECOND.items()), "id string, rule string")
    assert versions[1] == {compile_rules(one).version}


def versions_of(rows):
    found = {}
    for row in rows:
        found.setdefault(row.batch, set()).add(row.rules_version)
    return found


@CLASSIC
def test_rules_change_while_nothing_runs(place):
    for number, rules in enumerate((FIRST, SECOND, FIRST)):
        place.set_rules(rules)
        place.add(*PEOPLE[number * 20 : number * 20 + 20])
        place.run()
    rows = place.rows()
    expect = right(FIRST, PEOPLE[:20] + PEOPLE[40:]) | right(SECOND, PEOPLE[20:40])
    assert pairs(rows) == expect
    versions = versions_of(rows)
    assert versions[0] == versions[2] != versions[1]
    place.run()  # nothing new: nothing is written
    assert place.rows() == rows


@CLASSIC
def test_compiled_rules_and_tables_that_change(spark, place):
    def frame(rules):
        return spark.createDataFrame(list(rules.items()), "name string, says string")

    spark.sql("drop table if exists changing_rules")
    place.add(*PEOPLE[:20])
    frame(FIRST).write.saveAsTable("changing_rules")
    table = Rules(table="changing_rules", id="name", rule="says")
    place.run(table)
    place.add(*PEOPLE[20:40])
    frame(SECOND).write.mode("overwrite").saveAsTable("changing_rules")
    place.run(table)
    # The same checkpoint, with rules from elsewhere
    place.add(*PEOPLE[40:])
    saved = str(place.folder / "saved-rules")
    compile_rules(frame(FIRST), "name", "says", saved)
    place.run(saved)
    place.add({"key": 60, "age": 3, "city": "Bonn"})
    compile_rules(frame(SECOND), "name", "says").save(saved, overwrite=True)
    place.run(saved)
    spark.sql("drop table changing_rules")
    late = [{"key": 60, "age": 3, "city": "Bonn"}]
    first, second = PEOPLE[:20] + PEOPLE[40:], PEOPLE[20:40] + late
    assert pairs(place.rows()) == right(FIRST, first) | right(SECOND, second)


@CLASSIC
def test_rows_of_a_query_tell_a_change(spark, place):
    """No files to look at: the rows themselves are compared."""
    view = spark.createDataFrame([(1, "age >= 18")], "id int, rule string")
    view.createOrReplaceTempView("rules_of_view")
    source = Rules(query="select * from rules_of_view where id > 0")
    place.add(*PEOPLE[:20])
    place.run(source)
    more = spark.createDataFrame([(1, "age >= 18"), (2, "age < 3")], "id int, rule string")
    more.createOrReplaceTempView("rules_of_view")
    place.add(*PEOPLE[20:])
    place.run(source)
    now = {1: "age >= 18", 2: "age < 3"}
    assert pairs(place.rows()) == right({1: now[1]}, PEOPLE[:20]) | right(now, PEOPLE[20:])
    assert dict(read_matches(spark, place.sink).dtypes)["rule_id"] == "bigint"


@CLASSIC  # through Connect the server logs
def test_rules_that_cannot_be_used_do_not_stop_the_stream(spark, place, caplog):
    caplog.set_level(logging.WARNING, "matchwood.spark.stream")
    rejected = str(place.folder / "rejected")
    place.set_rules(FIRST | {"bad": "age >="})
    query = place.start(trigger="100 milliseconds", rejected_rules=rejected)
    assert "1 were rejected" in caplog.text
    try:
        for number, (text, told) in enumerate(UNUSABLE):
            caplog.clear()
            if text is None:
                shutil.rmtree(place.rules)
            else:
                (place.folder / "rules" / "rules.json").write_text(text)
            place.add(*PEOPLE[number * 5 : number * 5 + 5])
            query.processAllAvailable()
            assert told in caplog.text
            assert "rules stay at" in caplog.text
        place.set_rules(SECOND)
        place.add(*PEOPLE[20:])
        query.processAllAvailable()
    finally:
        query.stop()
    rows = place.rows()
    assert pairs(rows) == right(FIRST, PEOPLE[:20]) | right(SECOND, PEOPLE[20:])
    refused = spark.read.parquet(rejected).collect()
    version = next(row.rules_version for row in rows if row.batch == 0)
    assert ("bad", 1, version) in {(row.id, row.line, row.version) for row in refused}
    assert {row.id for row in refused} == {"bad", "a", "b"}


UNUSABLE = [
    ("not a rule\n{", "no column 'id'"),
    ('{"id": "a", "rule": "age >="}\n{"id": "b", "rule": "and"}', "all 2 rules were rejected"),
    ('{"id": 7, "rule": "age > 1"}', "ids are bigint now and string"),
    (None, "does not exist"),
]


def test_events_that_cannot_be_read_go_to_rejects(spark, place):
    place.schema = "key bigint, event string, _corrupt_record string"
    place.set_rules(FIRST)
    good = [{"key": one["key"], "event": json.dumps(one)} for one in PEOPLE[:10]]
    place.add(*good[:5], '{"key": 3, "event":', {"key": 90, "event": "[1]"})
    place.add(*good[5:], {"key": 91, "event": None}, {"key": 92, "event": '{"age": '})
    rejects = str(place.folder / "rejects")
    place.run(attributes="event", rejects=rejects)
    assert pairs(place.rows()) == right(FIRST, PEOPLE[:10])
    found = place.rows(rejects)
    told = {(row.key, row.batch): (row.reason, row.unreadable) for row in found}
    assert len(told) == len(found) == 4
    assert told[None, 0] == ("the line cannot be read", '{"key": 3, "event":')
    assert told[91, 1] == ("the event is null", None)
    assert {key for key, _ in told} == {None, 90, 91, 92}


@CLASSIC
def test_arrays_formats_and_choices(place):
    place.set_rules(FIRST)
    place.add(*PEOPLE[:20])
    place.add(*PEOPLE[20:])
    sink = Sink(path=place.sink, format="json", partition_by=("city",))
    place.run(sink=sink, keep=["key", "city"], output="array", layout="sharded")
    rows = place.rows()
    assert {row.key for row in rows} == {one["key"] for one in PEOPLE}
    found = {(row.key, rule) for row in rows for rule in row.rule_ids}
    assert found == right(FIRST, PEOPLE)
    assert all(row.city == PEOPLE[row.key]["city"] for row in rows)


def test_other_sinks_are_told_the_batch(spark, place):
    place.set_rules(FIRST)
    place.add(*PEOPLE[:20])
    place.add(*PEOPLE[20:])
    path = str(place.folder / "lines")

    def call(frame, batch):
        rows = frame.where(f"batch = {batch}").selectExpr("to_json(struct(*)) as value")
        rows.write.mode("append").text(path)

    place.run(sink=call)
    rows = [json.loads(row.value) for row in spark.read.text(path).collect()]
    assert pairs(rows) == right(FIRST, PEOPLE)
    assert {row["batch"] for row in rows} == {0, 1}

    spark.sql("drop table if exists matches_of_stream")
    place.checkpoint += "-2"
    place.run(sink=Sink(table="matches_of_stream"))
    assert pairs(spark.table("matches_of_stream").collect()) == right(FIRST, PEOPLE)
    spark.sql("drop table matches_of_stream")


@CLASSIC
def test_a_sink_that_fails_between_two(spark, place):
    """Matches are complete, rejects are not: the next start does what is missing."""
    place.set_rules(FIRST)
    place.add(*PEOPLE[:20], '{"key":')
    place.schema += ", _corrupt_record string"
    full = True
    rejected = []

    def rejects(frame, batch):
        if full:
            raise OSError("the disk is full")
        rejected.extend(frame.collect())

    with pytest.raises(Exception, match="the disk is full"):
        place.run(rejects=rejects)
    rows = place.rows()
    assert pairs(rows) == right(FIRST, PEOPLE[:20])
    full = False
    place.set_rules(SECOND)
    place.add(*PEOPLE[20:])
    place.run(rejects=rejects)
    assert [row for row in place.rows() if row.batch == 0] == rows
    assert pairs(place.rows()) == right(FIRST, PEOPLE[:20]) | right(SECOND, PEOPLE[20:])
    assert [(row.unreadable, row.batch) for row in rejected] == [('{"key":', 0)]


@CLASSIC
def test_readers_see_complete_batches_only(spark, place):
    place.set_rules(FIRST)
    with pytest.raises(ValueError, match="no stream has written there"):
        read_matches(spark, place.sink)
    place.run()
    assert place.rows() == []
    place.add(*PEOPLE[:20])
    place.run()
    # What an attempt at the next micro-batch left when it was killed
    half = match_events(
        spark.createDataFrame([(1, 20, "Rome")], SIMPLE),
        load(spark, f"{place.checkpoint}/matchwood/rules/0"),
        keep=["key"],
    )
    half.write.parquet(f"{place.sink}/batch=1")
    assert pairs(place.rows()) == right(FIRST, PEOPLE[:20])
    place.add(*PEOPLE[20:])
    place.run()
    assert pairs(place.rows()) == right(FIRST, PEOPLE)


@CLASSIC
def test_what_is_wrong_is_said_at_the_start(spark, place, events):
    place.set_rules(FIRST)
    place.add(*PEOPLE[:20])
    (place.folder / "empty").mkdir()
    with pytest.raises(ValueError, match="not a stream"):
        match_stream(events, place.rules, checkpoint="c", sink="s", keep=[])
    for more, told in [
        ({"keep": ["kee"]}, "no column 'kee'"),
        ({"keep": ["key", "batch"]}, "is added"),
        ({"sink": place.checkpoint}, "a folder each"),
        ({"attributes": "age"}, "expected a map"),
        ({"rules": str(place.folder / "empty")}, "do not tell their format"),
    ]:
        with pytest.raises(ValueError, match=told):
            place.run(**more)
    place.run()
    with pytest.raises(ValueError, match="another schema"):
        place.run(output="array")
    place.checkpoint += "-2"
    with pytest.raises(ValueError, match="another checkpoint"):
        place.run()
    assert pairs(place.rows()) == right(FIRST, PEOPLE[:20])
    shutil.rmtree(place.rules)
    place.checkpoint += "-3"
    with pytest.raises(Exception, match="PATH_NOT_FOUND"):
        place.run(sink=place.sink + "-3")


def test_the_newest_note_is_whole(spark, tmp_path):
    register = Register(str(tmp_path / "notes"))
    assert register.newest(spark) is None
    for number in range(3):
        register.write(spark, number, {"says": f"'{number}'\n\"x\" \\ é"})
        again = Register(register.folder)
        note = again.newest(spark)
        assert (note["number"], note["says"]) == (number, f"'{number}'\n\"x\" \\ é")
    # Killed while the next is written: its place is empty, or half there
    shutil.rmtree(tmp_path / "notes" / "1")
    (tmp_path / "notes" / "1" / "_temporary").mkdir(parents=True)
    assert Register(register.folder).newest(spark)["number"] == 2
