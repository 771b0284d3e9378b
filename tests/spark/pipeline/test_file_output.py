"""Files that workers write have the same rows as those of Spark, and the same figures."""

import json

import pytest

from matchwood.spark.match import event_matching
from matchwood.spark.match.event_files import event_files
from matchwood.spark.pipeline import file_output
from matchwood.spark.pipeline.pipeline_run import RunError, run

pytestmark = [
    pytest.mark.spark,
    pytest.mark.parametrize("spark", ["classic"], indirect=True),
]
# The rules "a" to "l" are true of as many events, so that the highest have to be chosen.
RULES = {
    **{chr(97 + number): f"age = {number}" for number in range(12)},
    **{"adults": "age >= 18", "fans": "contains(likes, 'jazz')", "never": "age > 1000"},
}


@pytest.fixture
def form(spark, tmp_path):
    rules = spark.createDataFrame(list(RULES.items()), "id string, rule string")
    rules.write.parquet(f"{tmp_path}/rules")
    events = spark.range(0, 5000, 1, 3).selectExpr(
        "id as key",
        "if(id % 7 = 0, null, cast(id % 60 as int)) as age",
        "if(id % 3 = 0, array('jazz', 'wine'), array()) as likes",
        "timestamp_seconds(id * 1000) as seen",
        "cast(id / 4 as decimal(9, 2)) as price",
        "date_add(date '2024-02-28', cast(id % 9 as int)) as day",
        "if(id % 5 = 0, null, struct(cast(id as int) as zip, array('x', null) as names)) as place",
        "map('a', 0.5) as notes",
        "cast(cast(id as string) as binary) as raw",
    )
    events.write.parquet(f"{tmp_path}/events")
    return {
        "rules": {"path": f"{tmp_path}/rules", "format": "parquet"},
        "events": {
            "path": f"{tmp_path}/events",
            "format": "parquet",
            "keep": ["key", "seen", "price", "day", "place", "notes", "raw"],
        },
        "matches": {"path": f"{tmp_path}/matches", "format": "parquet", "mode": "overwrite"},
        "job": {"report": f"{tmp_path}/report"},
    }


def written(spark, form, writer):
    """The rows of a run as texts, their columns, and its figures."""
    form["matches"]["writer"] = writer
    counts = run(form, spark).counts
    frame = spark.read.parquet(form["matches"]["path"])
    if "rule_ids" in frame.columns:
        frame = frame.selectExpr(*frame.columns[:-2], "array_sort(rule_ids) as rule_ids")
    rows = sorted(json.dumps(row.asDict(recursive=True), default=str) for row in frame.collect())
    return rows, frame.dtypes, counts


@pytest.mark.parametrize(("output", "reader"), [("rows", "workers"), ("events", "spark")])
def test_the_same_as_spark_writes(spark, form, output, reader, tmp_path, monkeypatch):
    form["matches"]["output"] = output
    if reader == "workers":
        form["events"]["keep"] = ["key", "price", "day", "raw"]  # of types that are plain
    read = []
    monkeypatch.setattr(
        event_matching, "event_files", lambda *given: read.append(event_files(*given)) or read[0]
    )
    by_workers = written(spark, form, "workers")
    assert (read[0] is None) == (reader == "spark")
    # Files of workers are named after the run, and nothing else is left behind.
    names = {path.name.partition("-")[0] for path in (tmp_path / "matches").iterdir()}
    assert names == {"part", "_SUCCESS"}
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("_")]
    by_spark = written(spark, form, "spark")
    assert by_workers == by_spark
    assert by_workers[2].matches > 4000
    assert len(by_workers[2].top_rules) == 10


def test_integer_ids_limits_and_rejected_events(spark, form, tmp_path):
    rules = [(number, f"age >= {number}", number % 5) for number in range(40)]
    frame = spark.createDataFrame(rules, "id bigint, rule string, rank int")
    frame.write.mode("overwrite").parquet(form["rules"]["path"])
    form["rules"]["priority"] = "rank"
    form["events"] = {
        "query": f"select key, if(key % 10 = 0, '{{', to_json(struct(age))) as event "
        f"from parquet.`{tmp_path}/events`",
        "keep": ["key"],
        "attributes": "event",
    }
    form["rejects"] = {"path": f"{tmp_path}/rejects", "format": "parquet", "mode": "overwrite"}
    form["job"]["limit"] = 2
    found = []
    for writer in ("workers", "spark"):
        rows, kinds, counts = written(spark, form, writer)
        rejects = spark.read.parquet(f"{tmp_path}/rejects").orderBy("key").collect()
        found.append((len(rows), kinds, counts.events, counts.events_rejected, rejects))
    assert found[0] == found[1]
    assert found[0][3] == len(found[0][4]) == 500


def test_append_and_no_events(spark, form, tmp_path):
    rows, _, _ = written(spark, form, "workers")
    form["matches"]["mode"] = "append"
    twice, _, _ = written(spark, form, "workers")
    assert len(twice) == 2 * len(rows)
    form["matches"]["mode"] = "overwrite"
    form["events"]["where"] = "key < 0"
    counts = run(form, spark).counts
    assert (counts.events, counts.matches, counts.top_rules) == (0, 0, ())
    assert spark.read.parquet(f"{tmp_path}/matches").count() == 0


def test_nothing_is_left_of_a_run_that_fails(spark, form, tmp_path, monkeypatch):
    def fails(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(file_output.FileOutput, "put_in_place", fails)
    with pytest.raises(RunError, match="the disk is full"):
        run(form, spark)
    assert {path.name for path in tmp_path.iterdir()} <= {"rules", "events", "report"}
