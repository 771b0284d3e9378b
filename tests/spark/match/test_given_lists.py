"""Rules that name lists, on Spark: what `evaluate` says, for each set of values that is given."""

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from matcher.expected import expected
from matchwood.spark import compile_rules, load, match_events, register

pytestmark = pytest.mark.spark

RULES = {
    "exit": "ip in list 'tor'",
    "clean": "NOT ip IN LIST 'tor' and port in list 'ports'",
    "known": '{"attr": "ip", "op": "in list", "value": "tor"}',
    "any": "any(ports, it in list 'ports')",
    "two": "at_least(2, ip in list 'tor', port in list 'ports', seen in list 'days')",
    "sum": "score in list 'scores' or port > 100",
    "plain": "port = 22 and name = 'in list ''none'''",
}
EVENTS = [
    {"ip": "10.0.0.1", "port": 22, "ports": [1, 22], "seen": "2026-01-31T10:00:00Z", "score": 0.1},
    {"ip": "10.0.0.2", "port": 80, "ports": [], "seen": None, "score": 2.5},
    {"ip": None, "port": 443, "ports": [80], "seen": "2026-01-31", "score": None},
    {"ip": "10.0.0.3", "port": None, "ports": None, "seen": None, "score": 1e300},
]
DAY = datetime(2026, 1, 31, 10, tzinfo=UTC)
SOME = {"tor": ["10.0.0.1"], "ports": [22, 80], "days": [DAY], "scores": [0.1, Decimal("2.50")]}
OTHER = {"tor": ["10.0.0.2", "10.0.0.3", "x"], "ports": [443, True], "days": [], "scores": [1e300]}


@pytest.fixture(scope="module")
def compiled(spark):
    rules = spark.createDataFrame(list(RULES.items()), "id string, rule string")
    return compile_rules(rules, shards=2)


def frame(spark, texts):
    if texts:
        rows = [(n, json.dumps(event)) for n, event in enumerate(EVENTS)]
        return spark.createDataFrame(rows, "key int, event string")
    rows = [(n, *event.values()) for n, event in enumerate(EVENTS)]
    columns = "key int, ip string, port int, ports array<int>, seen string, score double"
    return spark.createDataFrame(rows, columns)


def pairs(matches):
    return {(row.key, row.rule_id) for row in matches.collect()}


@pytest.mark.parametrize("texts", [False, True])
@pytest.mark.parametrize("layout", ["replicated", "sharded"])
def test_answers_follow_the_lists(spark, compiled, texts, layout):
    assert compiled.rejected_count == 0
    assert compiled.lists == ("days", "ports", "scores", "tor")
    events = frame(spark, texts)
    how = {"keep": ["key"], "layout": layout, "attributes": "event" if texts else None}
    for lists in (SOME, OTHER, SOME):
        right = expected(RULES, EVENTS, lists=lists)
        assert pairs(match_events(events, compiled, lists=lists, **how)) == right
    assert expected(RULES, EVENTS, lists=SOME) != expected(RULES, EVENTS, lists=OTHER)


def test_lists_are_tables_of_any_plain_type(spark, compiled, tmp_path):
    rows = [(DAY.timestamp(), 22, "10.0.0.1", 0.1), (None, 80, None, float("nan"))]
    table = spark.createDataFrame(rows, "at double, port short, ip string, score float")
    lists = {
        "tor": table.select("ip"),
        "ports": table.union(table).select("port"),
        "days": table.selectExpr("timestamp_seconds(at)"),
        "scores": table.selectExpr("score as `a.b`"),
    }
    compiled.save(str(tmp_path / "rules"))
    loaded = load(spark, str(tmp_path / "rules"))
    found = pairs(match_events(frame(spark, False), loaded, keep=["key"], lists=lists))
    values = SOME | {"scores": [0.10000000149011612]}  # the float as Python widens it
    assert found == expected(RULES, EVENTS, lists=values)


def test_functions_of_sql_have_lists(spark, compiled):
    register(spark, compiled, "listed", lists=SOME)
    frame(spark, False).createOrReplaceTempView("listed_events")
    query = "select key, listed(struct(ip, port, ports, seen, score)) as rules from listed_events"
    found = {(row.key, rule) for row in spark.sql(query).collect() for rule in row.rules}
    assert found == expected(RULES, EVENTS, lists=SOME)


def test_what_is_missing_or_no_list_is_said(spark, compiled):
    events = frame(spark, False)
    with pytest.raises(ValueError, match=r"not given: 'days', 'tor'; there are 'ports', 'scores'"):
        match_events(events, compiled, keep=["key"], lists={"ports": [], "scores": []})
    with pytest.raises(ValueError, match=r"lists=\{'days': values\}"):
        match_events(events, compiled, keep=["key"])
    with pytest.raises(ValueError, match="the list 'days': a list is a table of one column, found"):
        match_events(events, compiled, keep=["key"], lists=SOME | {"days": events})
    with pytest.raises(ValueError, match="the list 'days': the values of a list are strings"):
        match_events(events, compiled, keep=["key"], lists=SOME | {"days": events.select("ports")})
    with pytest.raises(ValueError, match="the list 'days': a list has values, found one str"):
        match_events(events, compiled, keep=["key"], lists=SOME | {"days": "2026-01-31"})


def test_rules_are_held_to_the_names_of_lists(spark):
    rules = spark.createDataFrame(list(RULES.items()), "id string, rule string")
    compiled = compile_rules(rules, lists=["tor"])
    assert compiled.lists == ("tor",)
    reasons = {row.id: row.reason for row in compiled.rejected.collect()}
    assert set(reasons) == {"clean", "any", "two", "sum"}
    assert reasons["any"].startswith("no list is named 'ports'; there are 'tor': give a list")
    with pytest.raises(TypeError, match="lists are names"):
        compile_rules(rules, lists="tor")
