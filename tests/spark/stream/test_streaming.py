"""A stream gives what a table and `evaluate` give, with one version of rules per micro-batch."""

import json
import logging
import shutil

import pytest

from matchwood.spark import compile_rules, load, match_events, match_stream, read_matches
from matchwood.spark.endpoints import RowSource, RuleSource, Sink
from spark.cases import EVENTS, RULES, SCHEMA
from spark.stream.stream_folders import (
    FIRST,
    PEOPLE,
    SECOND,
    SIMPLE,
    StreamFolders,
    finish,
    pairs,
    right,
    versions_of,
)

pytestmark = pytest.mark.spark
# A query of Connect starts a process on the server, so it is tried only where it could differ.
CLASSIC = pytest.mark.parametrize("spark", ["classic"], indirect=True)


@pytest.fixture
def place(spark, tmp_path):
    return StreamFolders(spark, tmp_path)


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


def test_rules_and_lists_change_between_micro_batches(spark, place):
    """They are replaced while the query runs, without a restart."""
    listed = {"listed": "city in list 'towns'"}
    towns = place.folder / "towns.txt"
    towns.write_text("Rome")
    place.set_rules(FIRST)
    place.add(*PEOPLE[:20])
    lists = {"towns": RowSource(path=str(towns), format="text")}
    query = place.start(trigger="100 milliseconds", lists=lists)
    try:
        query.processAllAvailable()
        place.set_rules(SECOND | listed)
        place.add(*PEOPLE[20:40])
        query.processAllAvailable()
        towns.write_text("Oslo")
        place.add(*PEOPLE[40:])
        query.processAllAvailable()
    finally:
        query.stop()
    rows = place.rows()
    versions = versions_of(rows)
    assert {batch: len(found) for batch, found in versions.items()} == {0: 1, 1: 1, 2: 1}
    assert versions[0] != versions[1] == versions[2]
    romans, others = right(listed, PEOPLE[20:40], ["Rome"]), right(listed, PEOPLE[40:], ["Oslo"])
    assert romans
    assert others
    expect = right(FIRST, PEOPLE[:20]) | right(SECOND, PEOPLE[20:]) | romans | others
    assert pairs(rows) == expect
    one = spark.createDataFrame(list((SECOND | listed).items()), "id string, rule string")
    assert versions[1] == {compile_rules(one).version}


@CLASSIC
@pytest.mark.long  # other tests change rules during a run and between two
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
    place.run()  # without new events nothing is written
    assert place.rows() == rows


@CLASSIC
@pytest.mark.long  # four runs; other tests change rules in files, and rows of a query
def test_compiled_rules_and_tables_that_change(spark, place):
    def frame(rules):
        return spark.createDataFrame(list(rules.items()), "name string, says string")

    spark.sql("drop table if exists changing_rules")
    place.add(*PEOPLE[:20])
    frame(FIRST).write.saveAsTable("changing_rules")
    table = RuleSource(table="changing_rules", id="name", rule="says")
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
    """A query has no files, so its rows are compared."""
    view = spark.createDataFrame([(1, "age >= 18")], "id int, rule string")
    view.createOrReplaceTempView("rules_of_view")
    source = RuleSource(query="select * from rules_of_view where id > 0")
    place.add(*PEOPLE[:20])
    place.run(source)
    more = spark.createDataFrame([(1, "age >= 18"), (2, "age < 3")], "id int, rule string")
    more.createOrReplaceTempView("rules_of_view")
    place.add(*PEOPLE[20:])
    place.run(source)
    now = {1: "age >= 18", 2: "age < 3"}
    assert pairs(place.rows()) == right({1: now[1]}, PEOPLE[:20]) | right(now, PEOPLE[20:])
    assert dict(read_matches(spark, place.sink).dtypes)["rule_id"] == "bigint"


@CLASSIC  # through Connect it is the server that logs
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
    place.run(sink=sink, keep=["key", "city"], output="events", layout="sharded")
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
    """Matches are complete and rejects are not: the next start writes what is missing."""
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
    # This is what a killed attempt at the next micro-batch leaves.
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
        ({"rules": str(place.folder / "empty")}, "do not name one format"),
    ]:
        with pytest.raises(ValueError, match=told):
            place.run(**more)
    place.run()
    with pytest.raises(ValueError, match="another schema"):
        place.run(output="events")
    place.checkpoint += "-2"
    with pytest.raises(ValueError, match="another checkpoint"):
        place.run()
    assert pairs(place.rows()) == right(FIRST, PEOPLE[:20])
    shutil.rmtree(place.rules)
    place.checkpoint += "-3"
    with pytest.raises(Exception, match="PATH_NOT_FOUND"):
        place.run(sink=place.sink + "-3")
