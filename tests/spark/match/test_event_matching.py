"""Every layout, output and form of events gives what `evaluate` says."""

import json
from datetime import date, datetime
from decimal import Decimal

import pytest

from matcher.expected import expected
from matchwood import Schema
from matchwood.spark import compile_rules, match_events, rejected_events
from spark.cases import EVENTS, RIGHT, RULES

pytestmark = pytest.mark.spark


def pairs(frame):
    found = [(row["key"], row["rule_id"]) for row in frame.collect()]
    assert len(found) == len(set(found))
    return set(found)


def lists(frame):
    rows = frame.collect()
    assert len({row["key"] for row in rows}) == len(rows)
    return {row["key"]: row["rule_ids"] for row in rows}


LAYOUTS = pytest.mark.parametrize("layout", ["replicated", "sharded"])


@LAYOUTS
def test_rows(events, compiled, layout):
    found = match_events(events, compiled, keep=["key"], layout=layout)
    assert found.columns == ["key", "rule_id", "rules_version"]
    assert pairs(found) == RIGHT
    assert {row.rules_version for row in found.collect()} == {compiled.version}


@LAYOUTS
def test_array(events, compiled, layout):
    found = match_events(events, compiled, keep=["key", "address"], output="events", layout=layout)
    assert found.columns == ["key", "address", "rule_ids", "rules_version"]
    by_key = lists(found)
    assert set(by_key) == {one["key"] for one in EVENTS}
    assert {(key, rule) for key, rules in by_key.items() for rule in rules} == RIGHT
    kept = {row["key"]: row["address"] for row in found.collect()}
    assert kept[1].asDict(recursive=True) == EVENTS[1]["address"]


def plain(value):
    """A value as JSON has it."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else value


TEXTS = [json.dumps({name: plain(value) for name, value in one.items()}) for one in EVENTS]
BAD = ['{"age": ', "[1]", None, '{"age": 1, "address": {"a.b": 1, "a": {"b": 2}}}', "3", "\ud7ff{"]


def of_texts(spark, texts):
    return spark.createDataFrame(list(enumerate(texts)), "key bigint, event string").repartition(2)


@LAYOUTS
@pytest.mark.parametrize("output", ["rows", "events"])
def test_json(spark, compiled, layout, output):
    events = of_texts(spark, TEXTS + BAD)
    found = match_events(
        events, compiled, keep=["key"], attributes="event", output=output, layout=layout
    )
    right = expected(RULES, [json.loads(text) for text in TEXTS])
    if output == "rows":
        assert pairs(found) == right
    else:
        by_key = lists(found)
        assert {(key, rule) for key, rules in by_key.items() for rule in rules} == right
        assert set(by_key) == set(range(len(TEXTS)))


@LAYOUTS
def test_json_as_bytes(spark, compiled, layout):
    from pyspark.sql import functions as F

    texts = of_texts(spark, TEXTS + BAD)
    events = texts.select("key", F.col("event").cast("binary").alias("event"))
    found = match_events(events, compiled, keep=["key"], attributes="event", layout=layout)
    assert pairs(found) == expected(RULES, [json.loads(text) for text in TEXTS])


@LAYOUTS
def test_rejects(spark, compiled, layout):
    events = of_texts(spark, TEXTS + BAD)
    options = {"keep": ["key", "event"], "attributes": "event"}
    rejected = {row["key"]: row["reason"] for row in rejected_events(events, **options).collect()}
    assert rejected == {
        8: "not JSON: Expecting value at column 9",
        9: "an event is an object, found list",
        10: "the event is null",
        11: "attribute 'address.a.b': the event spells it two ways",
        12: "an event is an object, found int",
        13: "not JSON: Expecting value at column 1",
    }
    for output, rule in (("rows", "rule_id"), ("events", "rule_ids")):
        found = match_events(
            events, compiled, **options, output=output, layout=layout, rejects="why"
        )
        rows = found.collect()
        assert {row["key"]: row["why"] for row in rows if row["why"]} == rejected
        assert all((row["why"] is None) == (row[rule] is not None) for row in rows)


def test_variant(spark, compiled):
    from pyspark.sql import functions as F

    if not hasattr(F, "parse_json"):
        pytest.skip("variants came with Spark 4")
    texts = of_texts(spark, [*TEXTS, "[1]", None])
    events = texts.select("key", F.parse_json("event").alias("event"))
    found = match_events(events, compiled, keep=["key"], attributes="event", rejects="why")
    rows = found.collect()
    right = expected(RULES, [json.loads(text) for text in TEXTS])
    assert {(row["key"], row["rule_id"]) for row in rows if row["why"] is None} == right
    assert {row["key"] for row in rows if row["why"]} == {8, 9}


@pytest.mark.parametrize("value", ["string", "int", "array<string>", "struct<country: string>"])
def test_map(spark, compiled, value):
    maps = {
        "string": [{"city": "Rome", "name": "Anna"}, {"name": "Olson", "age": "18"}, {}],
        "int": [{"age": 18, "limit": 3}, {"age": 14, "elsewhere": 3}, {"elsewhere": None}],
        "array<string>": [{"tags": ["x", None]}, {"tags": ["y"], "name": ["Bob", "Ann"]}, {}],
        "struct<country: string>": [{"address": {"country": "NO"}}, {"address": None}, {}],
    }[value]
    rows = [(key, one) for key, one in enumerate([*maps, None])]
    events = spark.createDataFrame(rows, f"key bigint, event map<string, {value}>").repartition(2)
    found = match_events(events, compiled, keep=["key"], attributes="event")
    assert pairs(found) == expected(RULES, maps)
    rejected = rejected_events(events, keep=["key"], attributes="event").collect()
    assert [(row["key"], row["reason"]) for row in rejected] == [(3, "the event is null")]


def test_lists_of_objects_and_maps_in_columns(spark):
    rules = {
        1: "items.price > 5 and items.name = 'x'",
        2: "facts.color = 'red'",
        3: "facts is null",
    }
    frame = spark.createDataFrame(list(rules.items()), "id int, rule string")
    schema = """key bigint, items array<struct<price: double, name: string>>,
        facts map<string, string>"""
    given = [
        {"items": [{"price": 3.0, "name": "x"}, {"price": 7.0, "name": None}], "facts": None},
        {"items": [], "facts": {"color": "red"}},
        {"items": None, "facts": {}},
    ]
    rows = [(key, one["items"], one["facts"]) for key, one in enumerate(given)]
    events = spark.createDataFrame(rows, schema)
    found = match_events(events, compile_rules(frame), keep=["key"])
    assert pairs(found) == expected(rules, given)


@pytest.fixture(scope="session")
def ranked(spark):
    rows = [
        (n, f"a >= {n}", ["even"] if n % 2 == 0 else ["odd", "high"][: 1 + (n > 5)], float(n % 7))
        for n in range(20)
    ]
    frame = spark.createDataFrame(rows, "id int, rule string, tags array<string>, priority double")
    return compile_rules(frame, tags="tags", priority="priority", shards=3)


@LAYOUTS
@pytest.mark.parametrize("output", ["rows", "events"])
def test_tags_and_limit(spark, ranked, layout, output):
    events = spark.createDataFrame([(n, n) for n in range(25)], "key bigint, a int")
    options = {"keep": ["key"], "output": output, "layout": layout}

    def answer(**more):
        found = match_events(events, ranked, **options, **more)
        if output == "events":
            return lists(found)
        by_key = {n: [] for n in range(25)}
        for row in found.collect():
            by_key[row["key"]].append(row["rule_id"])
        return by_key

    for key, found in answer(tags=["high", "none"]).items():
        assert sorted(found) == [n for n in range(20) if n % 2 and n > 5 and n <= key]
    for key, found in answer(limit=3).items():
        best = sorted((n % 7 for n in range(20) if n <= key), reverse=True)[:3]
        assert [n % 7 for n in found] == best
        assert len(set(found)) == len(found)
    for key, found in answer(tags=["odd"], limit=1).items():
        odd = [n for n in range(20) if n % 2 and n <= key]
        assert [n % 7 for n in found] == sorted((n % 7 for n in odd), reverse=True)[:1]
    assert not any(answer(limit=0).values())


def test_integer_ids_are_longs(spark, ranked):
    events = spark.createDataFrame([(1, 1)], "key bigint, a int")
    assert dict(match_events(events, ranked, keep=[]).dtypes)["rule_id"] == "bigint"
    found = match_events(events, ranked, keep=[], output="events").collect()
    assert [sorted(row["rule_ids"]) for row in found] == [[0, 1]]


def test_no_rules(spark):
    empty = spark.createDataFrame([], "id int, rule string")
    compiled = compile_rules(empty)
    assert compiled.rules == 0
    events = spark.createDataFrame([(1, 1)], "key bigint, a int")
    assert match_events(events, compiled, keep=["key"]).collect() == []
    for layout in ("replicated", "sharded"):
        found = match_events(events, compiled, keep=["key"], output="events", layout=layout)
        assert [row["rule_ids"] for row in found.collect()] == [[]]


def test_big_rows_are_cut(spark):
    """A kept text of a megabyte has 300 matches, which no single batch holds."""
    rules = spark.createDataFrame([(n, f"a >= {n}") for n in range(300)], "id int, rule string")
    events = spark.createDataFrame([(1, 299, "x" * 1_000_000)], "key bigint, a int, text string")
    found = match_events(events, compile_rules(rules), keep=["key", "text"])
    from pyspark.sql import functions as F

    total = found.agg(F.count("*"), F.min(F.octet_length("text")), F.max("rule_id")).first()
    assert tuple(total) == (300, 1_000_000, 299)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"keep": ["nothing"]}, "no column 'nothing'"),
        ({"keep": ["kye"]}, "did you mean 'key'"),
        ({"keep": ["key", "key"]}, "listed twice"),
        ({"keep": ["key"], "output": "list"}, "'rows' or 'events'"),
        ({"keep": ["key"], "layout": "both"}, "'replicated' or 'sharded'"),
        ({"keep": ["key"], "limit": -1}, "0 or more"),
        ({"keep": ["key"], "attributes": "age"}, "expected a map from strings"),
        ({"keep": ["key"], "attributes": "event"}, "no column 'event'"),
        ({"keep": ["key"], "rejects": "rule_id"}, "another column"),
    ],
)
def test_refused(events, compiled, options, says):
    with pytest.raises(ValueError, match=says):
        match_events(events, compiled, **options)


@pytest.mark.parametrize("name", ["rule_id", "rules_version", "RULE_ID"])
def test_clashes_are_refused(events, compiled, name):
    renamed = events.withColumnRenamed("city", name)
    with pytest.raises(ValueError, match="rename yours"):
        match_events(renamed, compiled, keep=["key", name])
    match_events(renamed, compiled, keep=["key"])


def test_two_spellings_are_refused(spark, compiled):
    events = spark.createDataFrame([(({"b": 1}), 2)], "a struct<b: int>, `a.b` int")
    with pytest.raises(ValueError, match="two columns of the events provide it"):
        match_events(events, compiled, keep=[])


def test_a_variant_among_columns_is_refused(spark, compiled):
    from pyspark.sql import functions as F

    if not hasattr(F, "parse_json"):
        pytest.skip("variants came with Spark 4")
    events = spark.range(1).select(F.parse_json(F.lit("{}")).alias("city"), "id")
    with pytest.raises(ValueError, match=r"'city' is a variant: .* name it with attributes="):
        match_events(events, compiled, keep=["id"])
    assert rejected_events(events, keep=["id"]).count() == 0


def test_events_are_held_to_the_schema_if_that_is_asked_for(spark):
    schema = Schema.from_dict(
        {
            "attributes": {"age": {"minimum": 0, "maximum": 150}, "tier": "string"},
            "types": {"visit": {"age": "mandatory", "tier": "optional"}},
        }
    )
    rules = spark.createDataFrame([("adults", "age >= 18")], "id string, rule string")
    compiled = compile_rules(rules, schema=schema)
    rows = [(1, "visit", 20, "x"), (2, "visit", 200, None), (3, None, 30, None)]
    events = spark.createDataFrame(rows, "key int, event_type string, age int, tier string")
    plain = match_events(events, compiled, keep=["key"])
    assert pairs(plain) == {(1, "adults"), (2, "adults"), (3, "adults")}
    held = match_events(events, compiled, keep=["key"], enforce=True, rejects="why").collect()
    assert {(row["key"], row["rule_id"]) for row in held if not row["why"]} == {(1, "adults")}
    reasons = {row["key"]: row["why"][:2] for row in held if row["why"]}
    assert reasons == {2: "R2", 3: "R1"}
    rejected = rejected_events(events, keep=["key"], schema=schema).collect()
    assert {row["key"]: row["reason"][:2] for row in rejected} == reasons
    with pytest.raises(ValueError, match="without a schema"):
        match_events(events, compile_rules(rules), keep=["key"], enforce=True)


ALIASES = {"host": ["Host Name", "computer"], "*": "data.*"}
SPELT = [
    {"key": 0, "computer": "a", "Host Name": None, "data": {"size": 11, "host": "b"}},
    {"key": 1, "computer": "a", "Host Name": "b", "data": {"size": None, "host": "a"}},
    {"key": 2, "computer": None, "Host Name": None, "data": {"size": 3, "host": "a"}},
]
SPELT_RULES = [("a", "host = 'a'"), ("large", "size > 10"), ("none", "size is null")]
SPELT_RIGHT = {(0, "a"), (0, "large"), (1, "none"), (2, "a")}


@LAYOUTS
@pytest.mark.parametrize("form", ["columns", "json", "map"])
def test_aliases(spark, layout, form):
    rules = compile_rules(spark.createDataFrame(SPELT_RULES, "id string, rule string"))
    kinds = "key long, computer string, `Host Name` string, data struct<size: long, host: string>"
    if form == "columns":
        frame, attributes = spark.createDataFrame(SPELT, kinds), None
    elif form == "json":
        texts = [(one["key"], json.dumps(one)) for one in SPELT]
        frame, attributes = spark.createDataFrame(texts, "key long, event string"), "event"
    else:
        flat = [{"computer": one["computer"], "data.host": one["data"]["host"]} for one in SPELT]
        frame = spark.createDataFrame(list(enumerate(flat)), "key long, event map<string, string>")
        attributes = "event"
    found = match_events(
        frame, rules, keep=["key"], attributes=attributes, layout=layout, aliases=ALIASES
    )
    right = (
        SPELT_RIGHT
        if form != "map"
        else {(0, "a"), (1, "a"), (2, "a")} | {(key, "none") for key in range(3)}
    )
    assert pairs(found) == right
    if form == "columns":
        assert rules.check(frame, aliases=ALIASES) == []
        assert len(rules.check(frame)) == 2


@LAYOUTS
@pytest.mark.parametrize("limit", [None, 1])
def test_columns_about_rules(spark, layout, limit):
    rows = [("a", "x > 0", ["t"], 1.0, "ann", 3), ("b", "x > 1", None, 2.0, None, None)]
    kinds = "id string, rule string, tags array<string>, priority double, owner string, level int"
    rules = spark.createDataFrame(rows, kinds)
    compiled = compile_rules(
        rules, tags="tags", priority="priority", data=["owner", "level"], shards=2
    )
    events = spark.createDataFrame([(0, 1), (1, 2)], "key int, x int")
    names = ["data", "rule", "tags", "priority"]
    found = match_events(
        events, compiled, keep=["key"], rule_columns=names, layout=layout, limit=limit,
        rejects="why",
    )  # fmt: skip
    assert found.columns == ["key", "rule_id", *names, "rules_version", "why"]
    about = {
        "a": ('{"owner":"ann","level":3}', "x > 0", ["t"], 1.0),
        "b": (None, "x > 1", [], 2.0),
    }
    right = {(0, "a"), (1, "b")} | ({(1, "a")} if limit is None else set())
    assert pairs(found) == right
    assert all(tuple(row[2:6]) == about[row["rule_id"]] for row in found.collect())
    changed = rules.selectExpr(*rules.columns[:4], "'eve' as owner", "level")
    others = compile_rules(changed, tags="tags", priority="priority", data=["owner", "level"])
    assert others.version != compiled.version
    arrays = match_events(
        events, compiled, keep=["key"], rule_columns=names, layout=layout, limit=limit,
        output="events",
    )  # fmt: skip
    assert arrays.columns == ["key", "rule_ids", *names, "rules_version"]
    for row in arrays.collect():
        together = zip(*(row[name] for name in names), strict=True)
        assert dict(zip(row.rule_ids, together, strict=True)) == {
            name: about[name] for key, name in right if key == row.key
        }
    with pytest.raises(ValueError, match="expected rule, tags, priority, data"):
        match_events(events, compiled, keep=["key"], rule_columns=["owner"])
