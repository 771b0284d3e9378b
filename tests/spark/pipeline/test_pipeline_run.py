"""A pipeline from its file to its tables: the right matches and figures, and no silent loss."""

import json
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from threading import Event
from urllib.request import urlopen

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

from matchwood.language import evaluate, parse
from plain_environment import without_connect

pytest.importorskip("pyspark")

from pyspark.sql.streaming import StreamingQueryListener

from matchwood.spark import job as job_folder
from matchwood.spark.pipeline.pipeline_file import PipelineError
from matchwood.spark.pipeline.pipeline_run import RunError, run
from matchwood.spark.session import is_connect
from matchwood.spark.stream.streaming import read_matches

pytestmark = pytest.mark.spark

RULES = {
    "adults": "age >= 18",
    "vip": "tier = 'gold' and not blocked",
    "teens": "age between 13 and 19",
    "unknown": "age is null",
    "never": "age > 1000",
    "fans": "contains(likes, 'jazz')",
}
BAD_RULES = {"broken": "age >=", "odd": "upper(tier) = 'A'"}
EVENTS = [
    {
        "key": n,
        "age": None if n % 7 == 0 else n % 50,
        "tier": ("gold", "tin", None)[n % 3],
        "blocked": n % 4 == 0,
        "likes": [["jazz", "wine"], [], ["opera"]][n % 3],
    }
    for n in range(200)
]
SCHEMA = "key int, age int, tier string, blocked boolean, likes array<string>"
EXPECTED = {
    (event["key"], rule_id)
    for rule_id, rule in RULES.items()
    for event in EVENTS
    if evaluate(parse(rule), {k: v for k, v in event.items() if v is not None}) is True
}


@pytest.fixture(scope="module")
def data(spark, tmp_path_factory):
    """Rules, some of them bad, and events, in Parquet."""
    folder = tmp_path_factory.mktemp("data")
    rules = spark.createDataFrame(list((RULES | BAD_RULES).items()), "id string, rule string")
    rules.coalesce(1).write.parquet(f"{folder}/rules")
    rows = [tuple(event.values()) for event in EVENTS]
    spark.createDataFrame(rows, SCHEMA).repartition(2).write.parquet(f"{folder}/events")
    return folder


@pytest.fixture
def form(data, tmp_path):
    """A pipeline over them, which tests change."""
    return {
        "rules": {"format": "parquet", "path": f"{data}/rules"},
        "events": {"format": "parquet", "path": f"{data}/events", "keep": ["key"]},
        "matches": {"format": "parquet", "path": f"{tmp_path}/matches"},
        "rejects": {"format": "json", "path": f"{tmp_path}/rejects"},
        "rejected_rules": {"format": "parquet", "path": f"{tmp_path}/bad"},
        "job": {"name": "tests"},
    }


def pairs(spark, path):
    return [(row.key, row.rule_id) for row in spark.read.parquet(str(path)).collect()]


def test_matches_and_figures(spark, form, tmp_path):
    told = []
    summary = run(form, spark, progress=lambda stage, done: told.append((stage, done)))
    found = pairs(spark, tmp_path / "matches")
    assert set(found) == EXPECTED
    assert len(found) == len(EXPECTED)
    assert (summary.rules, summary.rules_rejected) == (len(RULES), len(BAD_RULES))
    counts = summary.counts
    assert (counts.events, counts.events_rejected, counts.matches) == (200, 0, len(EXPECTED))
    assert list(summary.devices) == ([] if is_connect(spark) else ["cpu"])
    per_event = Counter(key for key, _ in EXPECTED)
    assert counts.events_matched == len(per_event)
    assert {(bar.low, bar.high): bar.count for bar in counts.matches_per_event} == {
        (0, 0): 200 - len(per_event),
        (1, 1): sum(n == 1 for n in per_event.values()),
        (2, 3): sum(2 <= n <= 3 for n in per_event.values()),
        (4, 7): sum(n >= 4 for n in per_event.values()),
    }
    per_rule = Counter(rule for _, rule in EXPECTED)
    assert dict(counts.top_rules) == dict(per_rule)
    assert counts.top_rules[0] == per_rule.most_common(1)[0]
    assert sum(bar.count for bar in counts.matches_per_rule) == len(RULES)
    assert counts.matches_per_rule[0].count == 1  # never
    bad = spark.read.parquet(str(tmp_path / "bad")).collect()
    assert {row.id for row in bad} == set(BAD_RULES)
    assert spark.read.schema("key int, reason string").json(str(tmp_path / "rejects")).count() == 0
    assert [stage for stage, done in told if done is None] == list(summary.stages)
    report = tmp_path / "matches-report"
    written = json.loads((report / "summary.json").read_text())
    assert written["matches"] == len(EXPECTED)
    assert written["top_rules"][0]["rule_id"] == counts.top_rules[0][0]
    assert (report / "page.html").read_text().count("<svg") == 3
    # Another run appends its rows, and counts only those.
    form["matches"]["mode"] = "append"
    del form["rejects"], form["rejected_rules"]
    assert run(form, spark).counts == counts
    assert Counter(pairs(spark, tmp_path / "matches")) == dict.fromkeys(EXPECTED, 2)


def test_arrays_partitions_and_choices(spark, form, tmp_path):
    form["events"] |= {"keep": ["key", "day"], "select": ["*", "cast(key % 2 as int) as day"]}
    form["events"]["where"] = "key < 100"
    form["matches"] |= {"output": "events", "partition_by": ["day"]}
    form["job"] |= {"layout": "sharded", "limit": 1, "profile": True}
    summary = run(form, spark)
    assert (tmp_path / "matches" / "day=0").is_dir()
    rows = spark.read.parquet(str(tmp_path / "matches")).collect()
    assert len(rows) == summary.counts.events == 100
    assert all(row.day == row.key % 2 for row in rows)
    found = {(row.key, rule) for row in rows for rule in row.rule_ids}
    assert found < EXPECTED
    assert max(len(row.rule_ids) for row in rows) == 1


BAD_LINES = {
    '{"key": 1000, "age": 20': "not JSON: Expecting ',' delimiter at column 24",
    '{"key": 1001, "age": "twenty"}': 'age: expected an integer, found "twenty"',
    '{"key": 1002} {"key": 1003}': "not JSON: Extra data at column 15",
    "[]": "expected an object, found a list",
    '[{"key": 1004}, {"key": 1005}]': "expected an object, found a list",
    "null": "expected an object, found null",
    '{"key": 1006, "tier": 7}': "tier: expected a string, found 7",
    '{"key": 1007, "tier": ["gold"]}': 'tier: expected a string, found ["gold"]',
    '{"key": 1008, "likes": ["jazz", 1]}': "likes: expected a string, found 1",
    '{"key": 1009, "blocked": 1}': "blocked: expected a boolean, found 1",
    '{"key": 10000000000}': "key: expected an integer, found 10000000000",
    '{"key": 1010, "seen": "today"}': "a value does not fit the schema",
}


@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_no_line_is_lost(spark, form, tmp_path, mode):
    lines = [json.dumps(event | {"seen": "31.01.2026 12:00"}) for event in EVENTS]
    # Blank lines are no events, but those that Spark counts in a stream of Connect.
    lines[3:3] = [*BAD_LINES, *([] if mode == "stream" and is_connect(spark) else ["", "  "])]
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "some.jsonl").write_text("\n".join(lines) + "\n")
    form["events"] = {
        **{"path": f"{tmp_path}/events", "format": "json", "keep": ["key", "seen"]},
        **{"schema": f"{SCHEMA}, seen timestamp", "where": "seen > timestamp'2026-01-31'"},
        "options": {"timestampFormat": "dd.MM.yyyy HH:mm"},
    }
    if mode == "stream":
        options = form["events"]["options"]
        form = stream_form(form, tmp_path)
        form["events"] |= {"schema": f"{SCHEMA}, seen timestamp", "options": options}
    summary = run(form, spark)
    assert summary.warnings == ()
    counts = summary.counts
    assert (counts.events, counts.events_rejected) == (200 + len(BAD_LINES), len(BAD_LINES))
    assert set(pairs(spark, tmp_path / "matches")) == EXPECTED
    rejects = spark.read.schema("key int, reason string, unreadable string")
    reasons = dict(counts.reject_reasons)
    assert reasons["the line cannot be read: expected an object"] == 3
    assert reasons["the line cannot be read: not JSON: Extra data"] == 1
    assert summary.places["events"] == f"{tmp_path}/events"
    page = (tmp_path / "matches-report" / "page.html").read_text()
    assert f"{tmp_path}/rejects" in page
    assert "tier: expected a string" in page
    told = {row.unreadable: row.reason for row in rejects.json(f"{tmp_path}/rejects").collect()}
    assert told == {line: f"the line cannot be read: {why}" for line, why in BAD_LINES.items()}


def test_a_reader_that_may_lose_lines_is_told(spark, form, tmp_path):
    (tmp_path / "events.json").write_text(json.dumps(EVENTS, indent=1))
    path = f"{tmp_path}/events.json"
    form["events"] = {"path": path, "options": {"multiLine": "true"}, "keep": ["key"]}
    summary = run(form, spark)
    assert summary.counts.matches == len(EXPECTED)
    assert summary.warnings[0].startswith(f"{path}: some lines of JSON may be lost, because ")
    assert "the option 'multiLine' needs Spark's own reader" in summary.warnings[0]


def test_lines_of_rules_are_not_lost_either(spark, form, tmp_path):
    lines = [json.dumps({"id": id, "rule": rule}) for id, rule in RULES.items()]
    lines += ["[]", '{"id": "a", "rule": "true"} {"id": "b", "rule": "true"}']
    (tmp_path / "rules.jsonl").write_text("\n".join(lines))
    form["rules"] = {"path": f"{tmp_path}/rules.jsonl"}
    summary = run(form, spark)
    assert (summary.rules, summary.rules_rejected) == (len(RULES), 2)
    bad = spark.read.parquet(str(tmp_path / "bad")).collect()
    assert {row.rule for row in bad} == set(lines[-2:])


def test_what_events_cannot_have_is_printed(spark, form):
    form["events"]["select"] = ["*", "array(array(age)) as ages"]
    form["rules"] = {"query": "select 1 as id, 'contains(ages, 20) or tier > 5' as rule"}
    summary = run(form, spark)
    asked = "rules ask for 'ages' as a number, but events have it as lists of lists"
    printed = sorted(line for line in summary.sentences() if line.startswith("warning  "))
    assert printed[0].startswith(f"warning  {asked} (array<array<int>>): it is undefined")
    assert "'tier' as a number, but events have it as string" in printed[1]


def test_events_in_one_column(spark, form, tmp_path):
    texts = [json.dumps({k: v for k, v in event.items() if v is not None}) for event in EVENTS]
    rows = [(n, text.encode()) for n, text in enumerate(texts)]
    rows += [(500, b"{"), (501, b"[1]")]
    spark.createDataFrame(rows, "key int, value binary").createOrReplaceTempView("held_events")
    form["events"] = {"table": "held_events", "keep": ["key"], "attributes": "value"}
    summary = run(form, spark)
    assert (summary.counts.events, summary.counts.events_rejected) == (202, 2)
    assert set(pairs(spark, tmp_path / "matches")) == EXPECTED
    rejects = spark.read.json(str(tmp_path / "rejects")).collect()
    assert {row.key for row in rejects} == {500, 501}
    assert all(row.reason for row in rejects)


@pytest.mark.parametrize("spark", ["classic"], indirect=True)
@pytest.mark.parametrize(
    ("writer", "stages"),
    [("spark", ("compile", "match", "write")), ("workers", ("compile", "match"))],
)
def test_jobs_are_described(spark, form, writer, stages):
    """Spark lists the jobs of a stage under the name of the run and of the stage."""
    form["job"]["name"] = f"described {writer}"
    form["matches"]["writer"] = writer
    run(form, spark)
    for name in ("spark.job.description", "spark.jobGroup.id"):
        assert spark.sparkContext.getLocalProperty(name) is None
    groups = jobs_described(spark, f"described {writer}: ")
    assert {*stages} <= {*groups}
    assert all(group.startswith("matchwood ") for group in groups.values())


def jobs_described(spark, name):
    """The descriptions of jobs that begin with a name, without it, and the groups of these jobs."""
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    listed = [jobs.apply(place) for place in range(jobs.size())]
    told = {
        job.description().get(): job.jobGroup().get()
        for job in listed
        if job.description().isDefined()
    }
    return {text.removeprefix(name): group for text, group in told.items() if text.startswith(name)}


def test_tables_and_queries(spark, form, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spark.sql("create database if not exists ads")
    try:
        form["events"]["query"] = f"select * from parquet.`{form['events'].pop('path')}`"
        form["matches"] = {"table": "ads.matches", "format": "parquet"}
        run(form, spark)
        rows = spark.table("ads.matches").collect()
        assert {(row.key, row.rule_id) for row in rows} == EXPECTED
        assert (tmp_path / "tests-report" / "summary.json").exists()
        with pytest.raises(PipelineError, match=r"matches\.table: .*ads\.matches exists already"):
            run(form, spark)
    finally:
        spark.sql("drop database ads cascade")


@pytest.mark.parametrize("spark", ["classic"], indirect=True)
def test_rules_from_a_database(spark, form, data, tmp_path):
    options = {"url": f"jdbc:derby:{tmp_path}/db;create=true", "dbtable": "rules"}
    spark.read.parquet(f"{data}/rules").write.format("jdbc").options(**options).save()
    form["rules"] = {"format": "jdbc", "options": options, "id": "id", "rule": "rule"}
    assert run(form, spark).counts.matches == len(EXPECTED)


def test_rules_that_are_compiled_already(spark, form, tmp_path):
    form["rules"]["save"] = f"{tmp_path}/compiled"
    first = run(form, spark)
    form["rules"] = {"compiled": f"{tmp_path}/compiled"}
    for name in ("matches", "rejects", "rejected_rules"):
        form[name]["mode"] = "overwrite"
    again = run(form, spark)
    assert (again.rules_version, again.counts) == (first.rules_version, first.counts)
    form["rules"] = {"compiled": f"{tmp_path}/none"}
    with pytest.raises(PipelineError, match=r"rules\.compiled: .*there are no compiled rules"):
        run(form, spark)


def test_attributes_that_no_column_has_are_told(spark, form, data):
    spark.read.parquet(f"{data}/events").drop("tier").createOrReplaceTempView("untiered")
    form["events"] = {"table": "untiered", "keep": ["key"]}
    assert any("'tier'" in warning for warning in run(form, spark).warnings)


FILE = """\
[rules]
table = "{table}"
id = "{id}"
[events]
format = "{format}"
path = "{path}"
keep = ["{keep}"]
[matches]
format = "{sink}"
path = "{out}"
partition_by = ["{partition}"]
"""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"table": "no.such"}, r":2: \[rules\]: .*no`?\.`?such.* cannot be found"),
        ({"id": "idd"}, r":3: id: \[rules\] has no column 'idd', did you mean 'id'\?"),
        ({"format": "nope"}, r":6: \[events\]: .*data source"),
        ({"path": "/no/such/path"}, r":6: \[events\]: Path does not exist: file:/no/such/path"),
        ({"keep": "kei"}, r":7: keep: \[events\] has no column 'kei', did you mean 'key'\?"),
        ({"sink": "nope"}, r":9: \[matches\]: Spark does not know the format 'nope'"),
        ({"out": "{data}/events"}, r":10: \[matches\]: .*events exists already; mode = "),
        ({"partition": "day"}, r":11: partition_by: \[matches\] has no column 'day'; there are "),
    ],
)
def test_what_is_missing_is_said_with_its_line(spark, data, tmp_path, change, message):
    spark.read.parquet(f"{data}/rules").createOrReplaceTempView("rules_here")
    given = {
        **{"table": "rules_here", "id": "id", "format": "parquet", "path": "{data}/events"},
        **{"keep": "key", "sink": "parquet", "out": "{tmp}/out", "partition": "key"},
    } | change
    given = {key: value.format(data=data, tmp=tmp_path) for key, value in given.items()}
    file = tmp_path / "pipeline.toml"
    file.write_text(FILE.format(**given))
    with pytest.raises(PipelineError, match=r"pipeline\.toml" + message):
        run(file, spark)
    assert not (tmp_path / "out").exists()


def test_a_name_that_is_added_cannot_be_kept(spark, form):
    form["events"] |= {"select": ["key as rule_id"], "keep": ["rule_id"]}
    with pytest.raises(PipelineError, match="'rule_id' is the name of a column that is added"):
        run(form, spark)


def test_a_stage_that_fails_is_named(spark, form):
    form["events"]["select"] = ["key", "assert_true(key < 100) is null as age"]
    with pytest.raises(RunError, match=r"the stage 'match' failed: .*100.* is not true") as error:
        run(form, spark)
    assert error.value.stage == "match"


@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_events_have_aliases(spark, form, tmp_path, mode):
    if mode == "stream":
        form = stream_form(form, tmp_path)
    form["events"]["select"] = ["key", "age as years", "struct(tier, blocked) as data", "likes"]
    form["events"]["aliases"] = {"age": ["old", "years"], "*": "data.*"}
    summary = run(form, spark)
    found = [(row.key, row.rule_id) for row in matches_of(spark, tmp_path, mode)]
    assert sorted(found) == sorted(EXPECTED)
    assert summary.warnings == ()


def matches_of(spark, tmp_path, mode):
    path = f"{tmp_path}/matches"
    frame = spark.read.parquet(path) if mode == "batch" else read_matches(spark, path)
    return frame.collect()


def stream_form(form, tmp_path):
    form["events"] |= {"schema": SCHEMA, "options": {"maxFilesPerTrigger": 1}}
    form["job"] |= {"mode": "stream", "checkpoint": f"{tmp_path}/state", "trigger": "availableNow"}
    return form


@pytest.mark.parametrize("output", ["rows", pytest.param("events", marks=pytest.mark.long)])
def test_a_stream(spark, form, tmp_path, data, output):
    form = stream_form(form, tmp_path)
    form["matches"]["output"] = output
    form["rules"]["select"] = ["id", "if(id = 'fans', \"tier in list 'tiers'\", rule) as rule"]
    form["lists"] = {"tiers": {"query": "select 'gold'"}}  # who are fans of jazz
    if output == "events":
        del form["rejects"]
    told = []
    first = run(form, spark, told=told.append)
    counts = first.counts
    batches = [line for line in told if line.startswith("batch ")]
    assert len(batches) == 2
    matches = sum(int(re.search(r"events, ([\d,]+) matches", line)[1]) for line in batches)
    assert matches == len(EXPECTED)
    assert all(line.endswith(f", rules {first.rules_version[:12]}") for line in batches)
    assert (first.rules, first.rules_rejected) == (len(RULES), len(BAD_RULES))
    assert (counts.events, counts.matches) == (200, len(EXPECTED))
    assert dict(counts.top_rules) == Counter(rule for _, rule in EXPECTED)
    found = read_matches(spark, f"{tmp_path}/matches")
    if output == "events":
        found = found.selectExpr("key", "explode(rule_ids) as rule_id")
        assert sum(bar.count for bar in counts.matches_per_event) == 200
    assert sorted((row.key, row.rule_id) for row in found.collect()) == sorted(EXPECTED)
    again = run(form, spark)  # no new events
    assert (again.rules, again.counts.events, again.counts.matches) == (len(RULES), 0, 0)
    assert (tmp_path / "matches-report" / "page.html").exists()


AS_JSON = "to_json(struct(age, tier, blocked, likes))"
UNREAD = "not JSON: Expecting property name enclosed in double quotes"


def with_bad_events(form):
    """Events as JSON, of which one in a hundred cannot be read; returns the right matches."""
    form["events"]["attributes"] = "event"
    form["events"]["select"] = ["key", f"if(key % 100 = 99, '{{', {AS_JSON}) as event"]
    return {(key, rule) for key, rule in EXPECTED if key % 100 != 99}


class Listener(StreamingQueryListener):
    """Notes what Spark tells of streams: the rows of each micro-batch."""

    def __init__(self):
        self.rows = {}
        self.ended = Event()

    def onQueryStarted(self, event):
        pass

    def onQueryProgress(self, event):
        if event.progress.numInputRows:
            self.rows[event.progress.name, event.progress.batchId] = event.progress.numInputRows

    def onQueryIdle(self, event):
        pass

    def onQueryTerminated(self, event):
        self.ended.set()


@pytest.mark.parametrize("spark", ["classic"], indirect=True)
@pytest.mark.parametrize("rejects", [True, False])
def test_what_goes_to_a_table_is_counted_as_it_is_written(spark, form, tmp_path, rejects):
    """Nothing can be read back of such a sink; what is not known is absent."""
    form = stream_form(form, tmp_path)
    form["matches"] = {"table": "streamed", "format": "parquet"}
    form["job"]["report"] = f"{tmp_path}/report"
    if not rejects:
        del form["rejects"]
    form["job"] |= {"metrics": "0", "name": f"table {rejects}"}  # any free port
    right = with_bad_events(form)
    told, shown, listener = [], [], Listener()

    def tell(line):
        told.append(line)
        if line.startswith("batch "):
            url = next(one for one in told if "Prometheus" in one).split()[-1]
            shown.append(urlopen(url, timeout=60).read().decode())

    spark.streams.addListener(listener)
    try:
        summary = run(form, spark, told=tell)
        assert spark.table("streamed").count() == len(right)
        assert listener.ended.wait(60)
    finally:
        spark.streams.removeListener(listener)
        spark.sql("drop table if exists streamed")
    # Spark's own figures go to its listeners, under the name of the run.
    assert listener.rows == {(form["job"]["name"], 0): 100, (form["job"]["name"], 1): 100}
    counts = summary.counts
    assert (counts.events, counts.events_rejected, counts.matches) == (200, 2, len(right))
    assert counts.reject_reasons == ((UNREAD, 2),)
    assert (counts.events_matched, counts.rules_matched) == (None, None)
    written = json.loads((tmp_path / "report" / "summary.json").read_text())
    assert written["matches"] == len(right)
    assert written["reject_reasons"] == [{"reason": UNREAD, "events": 2}]
    unknown = {"events_matched", "rules_matched", "matches_per_event", "matches_per_rule"}
    assert not {*unknown, "top_rules"} & set(written)
    page = (tmp_path / "report" / "page.html").read_text()
    assert "Rejected events" in page
    assert "Matches per" not in page
    assert "none" not in page.partition("<body>")[2]
    assert f"matches  {len(right):,}, " in "\n".join(summary.sentences())
    groups = jobs_described(spark, f"{form['job']['name']}: ")
    assert {f"batch {number}, {what}" for number in (0, 1) for what in ("rules", "matches")} <= {
        *groups
    }
    batches = [line for line in told if line.startswith("batch ")]
    assert len(batches) == 2  # one per file
    assert all(f", rules {summary.rules_version[:12]}" in line for line in batches)
    labels = f'{{pipeline="{form["job"]["name"]}"}}'
    assert f"\nmatchwood_stream_matches_total{labels} {len(right)}\n" in shown[-1]
    assert f"\nmatchwood_stream_events_total{labels} 200\n" in shown[-1]
    assert f'version="{summary.rules_version}"' in shown[-1]


@pytest.mark.parametrize("spark", ["classic"], indirect=True)
def test_a_second_interrupt_ends_a_stream_at_once(spark, form, tmp_path):
    """The micro-batch that was running is matched by the next run, which counts all of it."""
    form = stream_form(form, tmp_path)
    del form["rejects"]
    right = with_bad_events(form)
    slow = "reflect('java.lang.Thread', 'sleep', if(key < 150, 500L, 0L))"
    form["events"]["where"] = f"{slow} is null or key >= 0"

    def twice(stage, done):
        if (stage, done) == ("match", None):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    summary = run(form, spark, progress=twice)
    assert (summary.interrupted, summary.counts.events) == (True, 0)  # and no file was complete
    del form["events"]["where"]
    counts = run(form, spark).counts
    assert (counts.events, counts.events_rejected, counts.matches) == (200, 2, len(right))
    assert counts.reject_reasons == ((UNREAD, 2),)
    found = read_matches(spark, f"{tmp_path}/matches").collect()
    assert sorted((row.key, row.rule_id) for row in found) == sorted(right)


KNOWN = """
[attributes]
age = { maximum = 40 }
tier = "string"
blocked = "boolean"
likes = "list of string"
[types.visits]
age = "optional"
tier = "optional"
blocked = "mandatory"
likes = "optional"
"""


@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_events_are_held_to_the_schema(spark, form, tmp_path, mode):
    (tmp_path / "known.toml").write_text(KNOWN)
    form["job"] |= {"enforce": True}
    form["events"]["select"] = ["*", "'visits' as event_type"]
    if mode == "stream":
        form = stream_form(form, tmp_path)
    with pytest.raises(PipelineError, match=r"job\.enforce: enforce: there is no schema"):
        run(form, spark)
    form["job"]["schema"] = f"{tmp_path}/known.toml"
    counts = run(form, spark).counts
    old = {event["key"] for event in EVENTS if (event["age"] or 0) > 40}
    assert counts.events_rejected == len(old) > 0
    assert counts.matches == sum(key not in old for key, _ in EXPECTED)
    rejects = spark.read.schema("key int, reason string").json(f"{tmp_path}/rejects")
    assert {row.key for row in rejects.collect()} == old
    assert all("age" in row.reason for row in rejects.collect())


def test_what_a_stream_cannot_do_is_refused(spark, form, tmp_path):
    form = stream_form(form, tmp_path)
    form["rules"]["where"] = "id in ('broken', 'odd')"
    with pytest.raises(PipelineError, match=r"rules: \[rules\]: all 2 rules were rejected"):
        run(form, spark)
    form["events"] = {"query": "select 1 as key", "keep": ["key"]}
    with pytest.raises(PipelineError, match=r"job: \[events\] is a table: expected a stream"):
        run(form, spark)
    form["job"]["profile"] = True
    with pytest.raises(PipelineError, match=r"job\.profile: 'profile' is for mode = 'batch'"):
        run(form, spark)


@pytest.mark.slow
def test_spark_submit(tmp_path):
    rules = [{"id": rule_id, "rule": rule} for rule_id, rule in (RULES | BAD_RULES).items()]
    for name, rows in (("rules", rules), ("events", EVENTS)):
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / f"{name}.parquet")
    file = tmp_path / "pipeline.toml"
    file.write_text(
        FILE.replace("table =", "format = 'parquet'\npath =")
        .replace('partition_by = ["{partition}"]', "")
        .format(
            **{"table": tmp_path / "rules.parquet", "id": "id", "format": "parquet"},
            **{"path": tmp_path / "events.parquet", "keep": "key"},
            **{"sink": "parquet", "out": tmp_path / "out"},
        )
    )
    submit = Path(sys.executable).with_name("spark-submit")
    script = Path(job_folder.__file__).with_name("__main__.py")
    done = subprocess.run(
        [submit, "--master", "local[1]", "--conf", "spark.ui.enabled=false", script, file],
        capture_output=True,
        encoding="utf-8",
        timeout=200,
        # PySpark's script that looks for this does not quote paths, which may have a space.
        env=without_connect() | {"SPARK_HOME": str(Path(pyspark.__file__).parent)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert f"matches  {len(EXPECTED):,} of 5 rules" in done.stdout
    assert "match: 200 events" in done.stdout + done.stderr


@pytest.mark.parametrize("writer", ["workers", "spark"])
def test_lists_change_without_the_rules(spark, form, tmp_path, writer):
    if is_connect(spark) and writer == "workers":
        writer = "auto"
    rules = spark.createDataFrame(
        [("listed", "age in list 'ages'"), ("other", "age in list 'agez'")],
        "id string, rule string",
    )
    rules.write.parquet(f"{tmp_path}/rules")
    (tmp_path / "ages.csv").write_text("7\n11\n")
    form["rules"] = {"path": f"{tmp_path}/rules", "format": "parquet", "save": f"{tmp_path}/kept"}
    form["lists"] = {"ages": {"path": f"{tmp_path}/ages.csv", "schema": "age int"}}
    form["matches"] |= {"mode": "overwrite", "writer": writer}
    form["rejects"] = form["rejects"] | {"mode": "overwrite"}
    summary = run(form, spark)
    assert (summary.rules, summary.rules_rejected) == (1, 1)
    assert summary.places["lists.ages"] == f"{tmp_path}/ages.csv"
    right = {(e["key"], "listed") for e in EVENTS if e["age"] in (7, 11)}
    assert set(pairs(spark, tmp_path / "matches")) == right
    bad = spark.read.parquet(str(tmp_path / "bad")).collect()
    assert [row.id for row in bad] == ["other"]
    assert "no list is named 'agez'; there are 'ages'" in bad[0].reason

    (tmp_path / "ages.csv").write_text("12\n")
    form["rules"] = {"compiled": f"{tmp_path}/kept"}
    del form["rejected_rules"]
    assert run(form, spark).rules_version == summary.rules_version
    right = {(e["key"], "listed") for e in EVENTS if e["age"] == 12}
    assert set(pairs(spark, tmp_path / "matches")) == right

    two = form | {"lists": {"ages": form["lists"]["ages"] | {"select": ["age", "age + 1"]}}}
    with pytest.raises(PipelineError, match=r"\[lists.ages\]: a list is a table of one column"):
        run(two, spark)
    del form["lists"]
    with pytest.raises(PipelineError, match=r"not given: 'ages'.*\[lists.ages\]"):
        run(form, spark)
