"""Rules that call operators, on executors."""

import random
import shutil
from pathlib import Path

import pytest

from matcher.expected import expected
from matchwood.operators import Operators
from matchwood.spark import compile_rules, load, match_events, run
from matchwood.spark.compile import operator_modules
from matchwood.spark.compile.operator_modules import MissingOperators
from matchwood.spark.pipeline.pipeline_file import PipelineError
from matchwood.spark.session import is_connect
from operators import city, village

pytestmark = pytest.mark.spark

RULES = {
    "bronx": "borough(location, 'Bronx') and altitude < 300",
    "crowd": "people(image, ?n) and ?n > 5",
    "both": "borough(location, 'Bronx') and people(image, ?n) and ?n > 3",
    "plain": "altitude > 200",
    "either": "altitude > 350 or people(image, ?n) and ?n < 3",
}


@pytest.fixture(autouse=True)
def few_tasks(monkeypatch):
    """There are two executor cores to ask, not a cluster."""
    monkeypatch.setattr(operator_modules, "TASKS", 4)


@pytest.fixture
def modules(spark, tmp_path_factory):
    """Two modules that only executors have, one of them without operators."""
    folder = tmp_path_factory.mktemp("modules")
    for module in (city, village):
        path = folder / f"sent_{Path(module.__file__).name}"
        shutil.copy(module.__file__, path)
        if is_connect(spark):
            spark.addArtifacts(str(path), pyfile=True)
        else:
            spark.sparkContext.addPyFile(str(path))
    return "sent_city", "sent_village"


@pytest.fixture
def events(spark):
    some = random.Random(3)
    rows = [
        (
            key,
            some.choice(["Bronx", "Queens", None]),
            "x" * some.randrange(9),
            some.randrange(100, 400),
        )
        for key in range(200)
    ]
    return spark.createDataFrame(rows, "key int, location string, image string, altitude int")


@pytest.fixture
def rules(spark):
    return spark.createDataFrame(list(RULES.items()), "id string, rule string")


def found(frame):
    return {(row.key, row.rule_id) for row in frame.collect()}


def right_of(events):
    rows = [row.asDict() for row in events.collect()]
    right = expected(RULES, rows, Operators.of(city))
    return {(rows[number]["key"], rule_id) for number, rule_id in right}


@pytest.mark.parametrize("layout", ["replicated", "sharded"])
def test_operators_run_on_executors(rules, events, modules, layout, tmp_path, spark):
    compiled = compile_rules(rules, operators=modules[0], shards=2)
    assert compiled.rejected_count == 0
    assert set(compiled.attributes) == {"location", "image", "altitude"}
    right = right_of(events)
    assert right
    assert found(match_events(events, compiled, keep=["key"], layout=layout)) == right
    compiled.save(str(tmp_path / "compiled"))
    again = load(spark, str(tmp_path / "compiled"))
    assert again.operators == modules[0]
    assert found(match_events(events, again, keep=["key"], layout=layout)) == right


def test_rules_that_call_what_no_module_has_are_rejected(rules):
    rejected = compile_rules(rules).rejected.collect()
    assert {row.id for row in rejected} == {"bronx", "crowd", "both", "either"}
    assert all("no operator is registered as" in row.reason for row in rejected)


def test_a_module_that_executors_lack_is_an_error_before_the_job_starts(rules, events, modules):
    with pytest.raises(MissingOperators, match=r"no module 'shop\.operators'.*--py-files"):
        compile_rules(rules, operators="shop.operators")
    with pytest.raises(MissingOperators, match="has none made by @operator"):
        compile_rules(rules, operators=modules[1])
    compiled = compile_rules(rules, operators=modules[0])
    compiled.operators = "shop.operators"
    with pytest.raises(MissingOperators, match=r"cannot load 'shop\.operators'"):
        match_events(events, compiled, keep=["key"])


def test_a_pipeline_names_the_module(rules, events, modules, tmp_path, spark):
    rules.write.parquet(str(tmp_path / "rules.parquet"))
    events.write.parquet(str(tmp_path / "events.parquet"))
    pipeline = {
        "rules": {"path": str(tmp_path / "rules.parquet")},
        "events": {"path": str(tmp_path / "events.parquet"), "keep": ["key"]},
        "matches": {"path": str(tmp_path / "matches.parquet")},
        "job": {"operators": modules[0]},
    }
    run(pipeline, spark)
    assert found(spark.read.parquet(str(tmp_path / "matches.parquet"))) == right_of(events)
    pipeline["job"] = {"operators": "shop.operators"}
    pipeline["matches"] = {"path": str(tmp_path / "others.parquet")}
    with pytest.raises(PipelineError, match=r"no module 'shop\.operators'"):
        run(pipeline, spark)
