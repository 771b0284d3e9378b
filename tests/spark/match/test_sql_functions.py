"""Functions of SQL give what `evaluate` says."""

import pytest

from matchwood.spark import compile_rules, register
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
