"""Workloads made on Spark are the same as those made in one process."""

import json

import pytest

from matchwood.lab.workloads import spark_tables as module
from matchwood.lab.workloads.abe_gen import AbeGen
from matchwood.lab.workloads.ads import Ads
from matchwood.lab.workloads.audiences import Audiences
from matchwood.lab.workloads.fontoura import Fontoura
from matchwood.lab.workloads.spark_tables import (
    generate,
    generate_events,
    generate_rules,
    write_pipeline,
)
from matchwood.spark.pipeline.pipeline_file import Pipeline

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 700)  # not a multiple of the workloads' own blocks


def by_first(frame):
    return sorted(frame.collect(), key=lambda row: row[0])


@pytest.mark.parametrize("tasks", [1, 3])
def test_rules_are_those_of_the_workload(spark, tasks):
    rows = by_first(generate_rules(spark, "abe-gen", 2500, seed=5, tasks=tasks))
    assert [tuple(row) for row in rows] == list(enumerate(AbeGen(rules=2500, seed=5).texts()))
    rows = generate_rules(spark, "audiences", 1500, seed=5, tasks=tasks).collect()
    for name, made in (("fontoura", Fontoura), ("ads", Ads)):
        drawn = by_first(generate_rules(spark, name, 800, seed=5, tasks=tasks))
        assert [tuple(row) for row in drawn] == list(enumerate(made(rules=800, seed=5).texts()))
    texts = Audiences(rules=1500, seed=5).texts()
    assert {row.id: row.rule for row in rows} == {f"audience-{i}": t for i, t in enumerate(texts)}


def test_events_are_those_of_the_workload(spark):
    rows = by_first(generate_events(spark, "audiences", 1500, seed=5, tasks=3))
    found = [{k: v for k, v in row.asDict().items() if v is not None} for row in rows]
    events = Audiences(seed=5).events(1500)
    assert found == [{"key": number, **event} for number, event in enumerate(events)]
    rows = by_first(generate_events(spark, "abe-gen", 1500, seed=5))
    assert [tuple(row) for row in rows] == list(enumerate(AbeGen(seed=5).events(1500)))
    rows = by_first(generate_events(spark, "fontoura", 5, seed=5))
    assert [tuple(row) for row in rows] == list(enumerate(Fontoura(seed=5).events(5)))
    rows = by_first(generate_events(spark, "audiences", 3, seed=5, text=True))
    assert [json.loads(row.attributes) for row in rows] == events[:3]


def test_no_rows(spark):
    assert generate_rules(spark, "audiences", 0).count() == 0


@pytest.mark.parametrize("spark", ["classic"], indirect=True)
@pytest.mark.parametrize("workload", ["audiences", "abe-gen"])
@pytest.mark.parametrize("format", module.FORMATS)
def test_files_are_read_as_the_pipeline_says(spark, tmp_path, workload, format):
    paths = generate(spark, workload, str(tmp_path), rules=20, events=30, format=format)
    assert paths == {"rules": f"{tmp_path}/rules", "events": f"{tmp_path}/events"}
    pipeline = Pipeline.read(write_pipeline(workload, format, tmp_path))
    for source, expected in (
        (pipeline.rules, generate_rules(spark, workload, 20)),
        (pipeline.events, generate_events(spark, workload, 30, text=format == "csv")),
    ):
        reader = spark.read.format(source.format).options(**source.options)
        read = (reader.schema(source.schema) if source.schema else reader).load(source.path)
        assert by_first(read) == by_first(expected)
    with pytest.raises(Exception, match="PATH_ALREADY_EXISTS"):
        generate(spark, workload, str(tmp_path), rules=20, events=30, format=format)


def test_unknown_workloads_and_formats_are_refused(spark, tmp_path):
    with pytest.raises(ValueError, match="no workload 'abe': expected one of audiences, abe-gen"):
        generate_rules(spark, "abe", 1)
    with pytest.raises(ValueError, match="no format 'xml': expected parquet, json, csv"):
        generate(spark, "abe-gen", str(tmp_path), rules=1, events=1, format="xml")
