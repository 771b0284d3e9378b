"""Conditions of Spark as rules, and what is refused, with its place."""

import json
import re

import pytest

from matchwood.imports import Inexpressible
from matchwood.imports.sql.java_patterns import PatternError, re2_pattern
from matchwood.imports.sql.spark_columns import read_columns
from matchwood.imports.sql.spark_rules import SparkConditions

COLUMNS = (
    "age int, price double, rate float, city string, vip boolean, day date, seen timestamp, "
    "tags array<string>, items array<struct<sku:string, price:int>>, attrs map<string,int>"
)


def rule(text, columns=COLUMNS):
    return SparkConditions(columns).rewritten(text)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("!vip AND AGE == 5L", "not vip and age = 5"),
        ('coalesce(city, "") != "Rome"', "city != 'Rome' or city is null"),
        ("nvl(age, 9) < 5", "age is not null and age < 5"),
        ("age > '5'", "age > 5"),
        ("day >= '2026-01-31'", "day >= date '2026-01-31'"),
        ("age <=> 5", "(age = 5) is true"),
        ("age not in (1, null)", "false"),
        ("array_contains(tags, 'x')", "any(tags, it = 'x')"),
        ("exists(items, i -> i.SKU = 'x' and i.price > 3)", "any(items, sku = 'x' and price > 3)"),
        ("attrs['k'] = 1", "attrs.k = 1"),
        ("city like 'a|%' escape '|'", r"city like 'a\%'"),
        ("city rlike '\\\\d+'", r"city rlike '\d+'"),
        ("city not like all ('a', 'b')", "not city like any ('a', 'b')"),
        ("age > 60 * 60", "age > 3600"),
        ("if(vip, 1, 0) = 1", "vip is true"),
    ],
)
def test_rewritten(condition, expected):
    assert rule(condition) == expected


@pytest.mark.parametrize(
    ("condition", "place", "reason"),
    [
        ("upper(city) = 'X'", 1, r"upper\(…\) cannot be said"),
        ("vip and length(city) > 3", 9, r"length\(…\) cannot be said"),
        ("city = 5", 8, "column of type string meets a number"),
        ("age = 'x'", 7, "the string 'x' is cast to int"),
        ("age = '05'", 7, "cast to int"),
        ("day = '2026-1-3'", 7, "cast to date"),
        ("cast(price as int) = 1", 1, "a cast to int of price, which changes values"),
        ("missing = 1", 1, "no column missing"),
        ("age in (select 1)", 9, "subquery"),
        ("price + 1 > 2", 1, "only sums of integers"),
        ("age / 2 > 1", 1, "'/' cannot be said"),
        ("age > 2147483647 + 1", 7, "overflows"),
        ("price = 0.12345678901234567", 9, "rounded"),
        ("rate = 16777217", 8, "rounded"),
        ("city rlike '(?=x)'", 12, r"\(\?=x"),
        ("city rlike 'a++'", 12, "possessive"),
        ("city rlike '\\\\bx'", 12, r"\\b"),
        ("city ilike 'straße'", 12, None),
        ("city ilike 'ΟΔΟΣ'", 12, "ignores the case"),
        ("lower(city) = 'οδος'", 15, "depends on its neighbours"),
        ("exists(tags, t -> t = city)", 23, "no part of the element t"),
        ("tags = 'x'", 8, "a column of type array"),
        ("items[0].price = 1", 1, "by its index"),
        ("age between 1", 14, "expected 'and', found the end"),
        ("city = 'x", 8, "has no end"),
        ("age > current_date()", 7, "knows no present"),
        ("(age > (null = 1)) is null", None, None),
        ("age >", 6, "expected a value or a condition, found the end"),
        ("not exists(items.price, p -> p > 1)", None, None),
        ("(cast(null as boolean) or vip) is null", 2, "nothing is known"),
        ("age = 1" + " + 1" * 5000, None, "nests too deep"),
        ("(" * 200 + "vip" + ")" * 200, 42, "nests over 40 deep"),
    ],
)
def test_refused_with_its_place(condition, place, reason):
    if reason is None and place == 12:
        assert rule(condition)
        return
    with pytest.raises(Inexpressible) as refused:
        rule(condition)
    if place is not None:
        assert refused.value.place == f"column {place}"
        assert re.search(reason, refused.value.reason)


def test_place_in_several_lines():
    with pytest.raises(Inexpressible, match=r"^line 2, column 5: upper"):
        rule("vip\nand upper(city) = 'X'")


def test_without_columns_a_literal_tells_the_type():
    conditions = SparkConditions()
    assert conditions.rewritten("zip = 'abc' and n > 5") == "zip = 'abc' and n > 5"
    assert conditions.rewritten("zip = '00184'") == "zip = '00184'"  # known to be a string
    for condition, reason in [
        ("code = '00184'", "is cast if the column is no string"),
        ("start > '2026-01-31'", "is cast if the column is no string"),
        ("n = 'abc'", "n is a string here and a number elsewhere"),
        ("N > 5", "N and n are one column"),
        ("cast(n as int) > 5", "whose type is not given"),
        ("a + b > 5", "only sums of integers"),
        ("big = 12345678901234567890.5", "rounded"),
    ]:
        with pytest.raises(Inexpressible, match=reason):
            conditions.rewritten(condition)
    assert conditions.rewritten("code = 5") == "code = 5"  # refused conditions told nothing


def test_columns_in_every_form(tmp_path):
    file = tmp_path / "columns.txt"
    file.write_text("`Event Time` timestamp NOT NULL COMMENT 'when, (UTC)',\n m map<string, int>")
    columns = read_columns(file)
    assert columns.fields["event time"][0] == "Event Time"
    assert rule("`event time` is null", file) == "`Event Time` is null"
    assert rule("A.B = 1", "struct<a:struct<b:int>>") == "a.b = 1"
    schema = {
        "type": "struct",
        "fields": [
            {"name": "A", "type": {"type": "array", "elementType": "string"}},
            {"name": "d", "type": "decimal(10,2)"},
            {"name": "s", "type": {"type": "struct", "fields": [{"name": "x", "type": "long"}]}},
        ],
    }
    assert rule("S.X = 1 and array_contains(a, 'x')", json.dumps(schema)) == (
        "s.x = 1 and any(A, it = 'x')"
    )
    for wrong in (
        "age",
        "age int name string",
        "a struct<b:int",
        "nowhere.txt",
        '{"type": "struct", "fields": [{}]}',
    ):
        with pytest.raises(ValueError, match="columns"):
            read_columns(wrong)


@pytest.mark.parametrize(
    "pattern",
    ["(?<=a)b", r"\1", "(?m)^a", "[a&&b]", "[a[b]]", r"\pL", "a$b", "(a$)", "[z-a]", "a("],
)
def test_patterns_that_re2_lacks(pattern):
    with pytest.raises(PatternError):
        re2_pattern(pattern)
