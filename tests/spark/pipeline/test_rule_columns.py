"""Matches that a pipeline writes have columns about their rules, whoever writes them."""

import json

import pytest

from matchwood.spark.pipeline.pipeline_file import PipelineError
from matchwood.spark.pipeline.pipeline_run import run
from matchwood.spark.stream.streaming import read_matches

pytestmark = pytest.mark.spark

RULES = {
    "adults": {"rule": "age >= 18", "tags": ["a", "b"], "weight": 2.5, "owner": "Ann", "level": 3},
    "ten": {"rule": "age = 10", "tags": None, "weight": 1.0, "owner": None, "level": None},
    "never": {"rule": "age > 1000", "tags": [], "weight": 7.0, "owner": "Eve", "level": 1},
}
KINDS = "id string, rule string, tags array<string>, weight double, owner string, level int"
NAMES = ["data", "rule", "tags", "priority"]
ABOUT = {
    "adults": ('{"owner":"Ann","level":3}', "age >= 18", ["a", "b"], 2.5),
    "ten": (None, "age = 10", [], 1.0),
}
AGES = {1: 10, 2: 20, 3: 15, 4: 18}
RIGHT = {1: "ten", 2: "adults", 4: "adults"}


@pytest.fixture
def form(spark, tmp_path):
    rows = [(name, *rule.values()) for name, rule in RULES.items()]
    spark.createDataFrame(rows, KINDS).write.parquet(f"{tmp_path}/rules")
    events = spark.createDataFrame(list(AGES.items()), "key int, age int")
    events.repartition(2).write.parquet(f"{tmp_path}/events")
    return {
        "rules": {
            **{"path": f"{tmp_path}/rules", "format": "parquet"},
            **{"tags": "tags", "priority": "weight", "data": ["owner", "level"]},
        },
        "events": {"path": f"{tmp_path}/events", "format": "parquet", "keep": ["key"]},
        "matches": {
            **{"path": f"{tmp_path}/matches", "format": "parquet", "mode": "overwrite"},
            "rule_columns": NAMES,
        },
        "job": {"report": f"{tmp_path}/report"},
    }


@pytest.mark.parametrize("writer", ["spark", "auto"])
def test_batch(spark, form, writer):
    form["matches"]["writer"] = writer
    summary = run(form, spark)
    frame = spark.read.parquet(form["matches"]["path"])
    assert frame.columns == ["key", "rule_id", *NAMES, "rules_version"]
    found = {row.key: (row.rule_id, tuple(row[2:6])) for row in frame.collect()}
    assert found == {key: (rule, ABOUT[rule]) for key, rule in RIGHT.items()}
    assert (summary.counts.events, summary.counts.matches, summary.counts.rules_matched) == (
        4,
        3,
        2,
    )

    form["matches"]["output"] = "events"
    run(form, spark)
    arrays = spark.read.parquet(form["matches"]["path"])
    assert arrays.columns == ["key", "rule_ids", *NAMES, "rules_version"]
    found = {row.key: [list(row[place]) for place in range(1, 6)] for row in arrays.collect()}
    wanted = {key: [[rule], *([one] for one in ABOUT[rule])] for key, rule in RIGHT.items()}
    assert found == {3: [[]] * 5, **wanted}

    # The columns are there without any match as well.
    form["matches"]["output"] = "rows"
    form["events"]["where"] = "age = 15"
    kinds = frame.schema.simpleString()
    run(form, spark)
    none = spark.read.parquet(form["matches"]["path"])
    assert (none.schema.simpleString(), none.count()) == (kinds, 0)


def test_stream(spark, form, tmp_path):
    form["rules"] = {
        **{"path": f"{tmp_path}/rules.jsonl", "format": "json", "data": ["owner"]},
        "schema": "id string, rule string, owner string",
    }
    form["events"]["schema"] = "key int, age int"
    form["matches"] |= {"mode": "append", "rule_columns": ["data"]}
    form["job"] |= {
        **{"mode": "stream", "checkpoint": f"{tmp_path}/checkpoint"},
        "trigger": "availableNow",
    }
    for owner in ("Ann", "Ben"):
        rule = {"id": "adults", "rule": "age >= 18", "owner": owner}
        (tmp_path / "rules.jsonl").write_text(json.dumps(rule))
        run(form, spark)
        more = spark.createDataFrame([(5, 50)], "key int, age int")
        more.write.mode("append").parquet(f"{tmp_path}/events")
    found = read_matches(spark, form["matches"]["path"]).collect()
    assert {(row.key, row.rule_id, json.loads(row.data)["owner"]) for row in found} == {
        *((2, "adults", "Ann"), (4, "adults", "Ann")),
        (5, "adults", "Ben"),
    }
    assert len({row.rules_version for row in found}) == 2


@pytest.mark.parametrize(
    ("section", "keys", "message"),
    [
        ("matches", {"rule_columns": ["owner"]}, "expected rule, tags, priority, data, found"),
        ("matches", {"rule_columns": ["tags", "tags"]}, "a name is listed twice"),
        ("matches", {"rule_columns": "tags"}, "rule_columns is a list of texts, found"),
        ("rules", {"data": ["owner", "levle"]}, "has no column 'levle', did you mean 'level'"),
        ("rules", {"data": []}, "'data' needs 'data' in"),
        ("events", {"keep": ["key", "Priority"]}, "'Priority' is one of the rule_columns"),
    ],
)
def test_mistakes(spark, form, section, keys, message):
    form[section] |= keys
    with pytest.raises(PipelineError, match=message):
        run(form, spark)
