"""Compiling on executors: versions, rejected rules, storage, and warnings about events."""

import json
import random
import shutil

import pytest

from matchwood import Matcher, Schema, parse
from matchwood.spark import compile_rules, load, match_events
from matchwood.spark.compile.compiled_rules import StoredRulesError
from matchwood.spark.compile.rules_version import bucket_hashes, version_of

pytestmark = pytest.mark.spark

RULES = [(f"r{n}", f"a >= {n} and not (b = 'x{n % 7}')") for n in range(200)]
SCHEMA = "id string, rule string"


def frame(spark, rows, schema=SCHEMA):
    return spark.createDataFrame(rows, schema).repartition(2)


def version(rules, schema=None, id_type="string"):
    """The version, computed in this process."""
    pairs = [(rule_id, str(parse(rule))) for rule_id, rule in rules]
    return version_of(bucket_hashes(pairs), id_type, schema)


@pytest.mark.parametrize("shards", [1, 3])
def test_version_is_of_what_rules_say(spark, shards):
    shuffled = [(rule_id, f"({rule})") for rule_id, rule in RULES]
    random.Random(shards).shuffle(shuffled)
    compiled = compile_rules(frame(spark, shuffled), shards=shards)
    assert compiled.version == version(RULES)
    assert compiled.rules == len(compiled) == len(RULES)
    assert len(compiled.segments) == shards
    assert compiled.bytes == sum(segment.path.stat().st_size for segment in compiled.segments)
    assert Matcher.load(compiled.segments[0].path).match({"a": 1000, "b": ""})


def test_version_changes_with_all_that_matters():
    rules = [("1", "a = 1"), ("2", "a = 2")]
    schema = Schema.from_dict({"attributes": {"a": "number"}})
    versions = [
        version(rules),
        version(rules[:1]),
        version([("1", "a = 2"), ("2", "a = 1")]),
        version([("1", "a = 1"), ("3", "a = 2")]),
        version(rules, schema),
        version([(1, "a = 1"), (2, "a = 2")], id_type="bigint"),
        version_of(bucket_hashes(rules), "string", None, language=99),
    ]
    assert len(set(versions)) == len(versions)


def test_a_task_that_is_run_again_builds_the_same_file(spark):
    files = []
    for seed in range(2):
        shuffled = RULES[:]
        random.Random(seed).shuffle(shuffled)
        compiled = compile_rules(frame(spark, shuffled), shards=2)
        files.append(sorted(segment.sha256 for segment in compiled.segments))
    assert files[0] == files[1]


BAD = [
    ("bad", "a >"),
    ("worse", "a = 1\nand and b"),
    ("twice", "a = 1"),
    ("twice", "a = 2"),
    (None, "a = 1"),
    ("none", None),
    ("calls", "frobnicate(a)"),
    ("isa", "isa(a, 'table')"),
]


@pytest.mark.parametrize("stored", [False, True])
def test_rejected(spark, tmp_path, stored):
    path = str(tmp_path / "rules") if stored else None
    compiled = compile_rules(frame(spark, RULES[:5] + BAD), path=path, shards=2)
    assert compiled.rules == 5
    assert compiled.version == version(RULES[:5])
    assert compiled.rejected.columns == ["id", "rule", "line", "column", "reason"]
    found = {(r["id"], r["rule"]): r for r in compiled.rejected.collect()}
    assert len(found) == compiled.rejected_count == len(BAD)
    assert (found["worse", "a = 1\nand and b"]["line"], found["bad", "a >"]["column"]) == (2, 4)
    reasons = {pair: row["reason"] for pair, row in found.items()}
    assert reasons["twice", "a = 1"] == "duplicate id: 2 rules have it"
    assert reasons[None, "a = 1"] == "the id is null"
    assert reasons["none", None] == "the rule is null"
    assert "no operator is registered as 'frobnicate'" in reasons["calls", "frobnicate(a)"]
    assert "needs a schema" in reasons["isa", "isa(a, 'table')"]


def test_more_is_rejected_than_the_driver_holds(spark, monkeypatch):
    from matchwood.spark.compile import compiler

    monkeypatch.setattr(compiler, "FEW", 10)
    rows = [(f"x{n}", "a >") for n in range(30)]
    compiled = compile_rules(frame(spark, rows + RULES[:3]))
    assert (compiled.rules, compiled.rejected_count, compiled.rejected.count()) == (3, 30, 30)


def test_priorities_that_do_not_compare(spark):
    rows = [(1, "a = 1", float("nan")), (2, "a = 1", None), (3, "a = 1", 2.5)]
    given = frame(spark, rows, "id int, rule string, priority double")
    compiled = compile_rules(given, priority="priority")
    assert [(r["id"], r["reason"]) for r in compiled.rejected.collect()] == [
        (1, "the priority is NaN")
    ]


def test_tags_as_strings(spark):
    rows = [(1, "a = 1", "eu"), (2, "a = 1", None)]
    compiled = compile_rules(frame(spark, rows, "id int, rule string, tag string"), tags="tag")
    events = spark.createDataFrame([(1,)], "a int")
    found = match_events(events, compiled, keep=[], tags=["eu"]).collect()
    assert [row["rule_id"] for row in found] == [1]


def test_saved_and_loaded(spark, compiled, events, tmp_path):
    path = str(tmp_path / "saved")
    compiled.save(path)
    again = load(spark, path)
    assert again.version == compiled.version
    assert again.attributes == compiled.attributes
    assert [s[:1] + s[2:] for s in again.segments] == [s[:1] + s[2:] for s in compiled.segments]
    pairs = [
        sorted((r["key"], r["rule_id"]) for r in match_events(events, c, keep=["key"]).collect())
        for c in (compiled, again)
    ]
    assert pairs[0] == pairs[1]
    with pytest.raises(FileExistsError, match="overwrite=True"):
        compiled.save(path)
    other = compile_rules(frame(spark, RULES[:3] + BAD[:2]))
    other.save(path, overwrite=True)
    assert (load(spark, path).rules, load(spark, path).rejected.count()) == (3, 2)


def test_compiled_to_a_path(spark, tmp_path):
    path = str(tmp_path / "rules")
    compiled = compile_rules(frame(spark, RULES), path=path, shards=8)
    again = load(spark, path)
    assert again.version == compiled.version == version(RULES)
    events = spark.createDataFrame([(500, "y")], "a int, b string")
    assert match_events(events, again, keep=[]).count() == len(RULES)


def test_incomplete_and_damaged(spark, tmp_path):
    with pytest.raises(StoredRulesError, match="not written completely"):
        load(spark, str(tmp_path / "nothing"))
    path = tmp_path / "rules"
    compile_rules(frame(spark, RULES), path=str(path))
    manifest = spark.read.parquet(str(path / "manifest")).first()
    known = json.loads(manifest["facts"])
    for number, files, age in (
        (99, known["files"], "newer"),
        (1, known["files"], "older"),
        (manifest["format"], known["files"] - 1, "older with files"),
    ):
        facts = json.dumps(known | {"files": files})
        other = spark.createDataFrame([(number, manifest["version"], facts)], MANIFEST)
        other.write.parquet(str(tmp_path / age / "manifest"))
        with pytest.raises(StoredRulesError, match=f"{age.split()[0]} matchwood"):
            load(spark, str(tmp_path / age))
    pieces = path / f"pieces-{known['token']}"
    kept = spark.read.parquet(str(pieces)).where("kind = 'about'")
    kept.write.parquet(str(tmp_path / "kept"))
    shutil.rmtree(pieces)
    shutil.move(tmp_path / "kept", pieces)
    with pytest.raises(StoredRulesError, match="damaged or truncated"):
        load(spark, str(path))
    shutil.rmtree(path / "manifest")
    with pytest.raises(StoredRulesError, match="not written completely"):
        load(spark, str(path))


MANIFEST = "format int, version string, facts string"


def test_hierarchies(spark, tmp_path):
    form = {
        "attributes": {"kind": {"hierarchy": "furniture"}},
        "hierarchies": {"furniture": {"dining table": "table", "table": "furniture"}},
    }
    rules = frame(spark, [("t", "isa(kind, 'table')"), ("n", "isa(kind, 'chair')")])
    path = str(tmp_path / "rules")
    schema = Schema.from_dict(form)
    compiled = compile_rules(rules, path=path, schema=schema)
    assert compiled.version == version([("t", "isa(kind, 'table')")], schema)
    assert [row["id"] for row in compiled.rejected.collect()] == ["n"]
    events = spark.createDataFrame([("dining table",), ("furniture",)], "kind string")
    for one in (compiled, load(spark, path)):
        found = match_events(events, one, keep=["kind"]).collect()
        assert [row["kind"] for row in found] == ["dining table"]


def test_rules_are_held_to_a_schema(spark):
    schema = Schema.from_dict({"attributes": {"kind": {"values": ["lamp", "table"]}}})
    rules = frame(spark, [("a", "kind = 'lamp'"), ("b", "kind = 'lmap'"), ("c", "knd = 'lamp'")])
    compiled = compile_rules(rules, schema=schema, enforce=True)
    refused = {row["id"]: row["reason"] for row in compiled.rejected.collect()}
    assert sorted(refused) == ["b", "c"]
    assert "did you mean 'lamp'?" in refused["b"]
    assert compile_rules(rules, schema=schema).rejected.count() == 0
    with pytest.raises(TypeError, match="expected a Schema"):
        compile_rules(rules, enforce=True)


def test_what_events_cannot_have(spark):
    rules = [
        ("1", "agee > 18 and city = 'Rome'"),
        ("2", "city > 5 and seen > date '2026-01-01'"),
        ("3", "address.zip = 'x' and address.city is null"),
        ("4", "facts.any = 1 and tags = 'x' and tags = 3"),
    ]
    schema = """age int, city string, seen string, address struct<zip: int>,
        facts map<string, string>, tags array<string>"""
    events = spark.createDataFrame([], schema)
    compiled = compile_rules(frame(spark, rules), events=events)
    assert compiled.warnings == compiled.check(events.schema)
    assert sorted(compiled.warnings) == [
        "no column provides the attribute 'address.city', did you mean 'address.zip'?",
        "no column provides the attribute 'agee', did you mean 'age'?",
        "rules ask for 'address.zip' as a string, but events have it as int: "
        "it is undefined for every event",
        "rules ask for 'city' as a number, but events have it as string: "
        "it is undefined for every event",
        "rules ask for 'tags' as a number, but events have it as string: "
        "it is undefined for every event",
    ]
    assert compile_rules(frame(spark, rules[:1])).warnings == []
    held = spark.createDataFrame([], "event map<string, string>")
    assert compiled.check(held, "event")
    assert compiled.check(spark.createDataFrame([], "event string"), "event") == []


@pytest.mark.parametrize(
    ("schema", "options", "says"),
    [
        ("name string, rule string", {}, "no column 'id'"),
        ("id double, rule string", {}, "strings or integers"),
        ("id int, rule int", {}, "rules are texts"),
        ("id int, text string", {}, "no column 'rule'"),
        ("id int, rule string, tags int", {"tags": "tags"}, "tags are strings"),
        ("id int, rule string, p string", {"priority": "p"}, "a priority is a number"),
    ],
)
def test_refused(spark, schema, options, says):
    with pytest.raises(ValueError, match=says):
        compile_rules(spark.createDataFrame([], schema), **options)


def test_comparisons_by_an_order_of_the_schema_are_rejected(spark):
    form = {"attributes": {"cond": {"values": ["poor", "good", "mint"], "order": "listed"}}}
    rules = frame(spark, [("a", "cond >= 'good'"), ("b", "cond in ('good', 'mint')")])
    compiled = compile_rules(rules, schema=Schema.from_dict(form))
    [row] = compiled.rejected.collect()
    assert row["id"] == "a"
    assert "write cond in ('good', 'mint')" in row["reason"]
