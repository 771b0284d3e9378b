"""Functions of SQL give what `evaluate` says."""

import pytest

from matchwood.language import evaluate, parse
from matchwood.spark import compile_rules, match_events, register
from spark.cases import EVENTS, RIGHT

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def names(spark, compiled, events):
    events.createOrReplaceTempView("visits")
    return register(spark, compiled, "audiences")


def test_function(spark, names):
    struct = "struct(age, limit, city, blocked, address, tags, name, seen, born, balance)"
    rows = spark.sql(f"select key, {names[0]}({struct}) as rules from visits").collect()
    assert {(row["key"], rule) for row in rows for rule in row["rules"]} == RIGHT
    assert len(rows) == len(EVENTS)


def test_function_of_null(spark, names):
    rows = spark.sql(f"select {names[0]}(cast(null as struct<age: int>)) as rules").collect()
    assert [row["rules"] for row in rows] == [None]


def test_table_function(spark, names):
    if len(names) == 1:
        pytest.skip("Spark 3 wants the columns")
    rows = spark.sql(f"select * from {names[1]}(table(visits))").collect()
    assert {(row["key"], row["rule_id"]) for row in rows} == RIGHT
    assert len(rows) == len(RIGHT)
    assert {row["key"]: row["seen"] for row in rows}.keys() == {key for key, _ in RIGHT}


def test_table_function_with_columns(spark, compiled, events, names):
    _, table = register(spark, compiled, "some", columns="city string, key bigint", limit=2)
    rows = spark.sql(f"select * from {table}(table(visits)) order by key").collect()
    assert rows[0].asDict().keys() == {"city", "key", "rule_id"}
    assert {(row["key"], row["rule_id"]) for row in rows} <= RIGHT
    assert [row["city"] for row in rows if row["key"] == 1] == ["Oslo", "Oslo"]


def test_unreadable_events_have_no_rules(spark):
    rules = spark.createDataFrame([(1, "a.b = 1"), (2, "true")], "id int, rule string")
    name, *_ = register(spark, compile_rules(rules), "spelled")
    found = spark.sql(
        f"select {name}(struct(map('b', n) as a, 2 as `a.b`)) as rules from (select 1 as n)"
    ).collect()
    assert [row["rules"] for row in found] == [None]


def test_a_clash_is_refused(spark, compiled):
    with pytest.raises(ValueError, match="rename yours"):
        register(spark, compiled, "clash", columns="rule_id string")


def test_rules_of_the_whole_language(spark):
    rules = {
        "everything": "* ilike '%MIMI%'",
        "elements": "any(items, price > 10 and sku = 'x')",
        "every": "every(items, price > 1)",
        "lower": "lower(name) = 'ann'",
        "not true": "(name = 'Ann' or age > 3) is not true",
        "patterns": "name like any ('A%', 'B%')",
        "threshold": "at_least(2, age > 1, name = 'Ann', path is null)",
        "sum": "age > 2 * limit",
        "families": "age in (7, 'seven')",
    }
    schema = "key int, name string, age int, limit int, path string, "
    schema += "items array<struct<price: int, sku: string>>"
    rows = [
        (1, "Ann", 7, 3, "c:\\mimikatz.exe", [(12, "x"), (2, "y")]),
        (2, "bob", 2, 2, None, [(12, "y"), (1, "x")]),
        (3, "ANN", None, 2, None, []),
        (4, None, 9, None, "mimi", None),
    ]
    events = spark.createDataFrame(rows, schema)
    events.createOrReplaceTempView("orders")
    table = spark.createDataFrame(list(rules.items()), "id string, rule string")
    compiled = compile_rules(table)
    assert compiled.rejected_count == 0
    name, *_ = register(spark, compiled, "whole")
    struct = ", ".join(events.columns)
    found = spark.sql(f"select key, {name}(struct({struct})) as rules from orders").collect()
    parsed = {rule_id: parse(text) for rule_id, text in rules.items()}
    right = {
        (row["key"], rule_id)
        for row in events.collect()
        for rule_id, tree in parsed.items()
        if evaluate(tree, row.asDict(recursive=True)) is True
    }
    assert {rule_id for _, rule_id in right} == set(rules)
    assert {(row["key"], rule_id) for row in found for rule_id in row["rules"]} == right
    matched = match_events(events, compiled, keep=["key"]).collect()
    assert {(row["key"], row["rule_id"]) for row in matched} == right
