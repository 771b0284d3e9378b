"""Rewritten conditions are true of the rows of which Spark itself finds the conditions true.

Conditions are generated from Spark's grammar, with the constructs that the importer knows, and
joined by those picked by hand. Spark evaluates all of them over all rows in one query; `evaluate`
answers the rules that they became.
"""

import random
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from matchwood import parse
from matchwood.imports import Inexpressible
from matchwood.imports.sql.spark_rules import SparkConditions
from matchwood.language import evaluate

CONDITIONS, ROWS = 300, 40

COLUMNS = (
    "n int, b bigint, d double, f float, m decimal(10,2), s string, r string, vip boolean, "
    "old boolean, day date, seen timestamp, tags array<string>, nums array<int>, "
    "items array<struct<sku:string,price:int>>, attrs map<string,int>, "
    "user struct<Name:string,age:int>"
)
STRINGS = [
    "",
    "a",
    "b",
    "A",
    "ab",
    "a%",
    "a_b",
    "x\ny",
    "x\r\n",
    "it's",
    'q"',
    "a\\b",
    "Rome",
    "é",
    "É",
]
STRINGS += ["5", "true", "2026-01-31", "a.b", "\u2028", "ends\n"]
PATTERNS = ["a%", "%b", "_", "%", r"a\\_b", r"%\\%", "R%e", "", "%\\n%"]
REGEXES = ["^a", "a$", ".", "^.*$", "[a-c]b?", r"\\d", r"\\s", "a|b", "x.y", "(?i)rome", r"^\\w+$"]
REGEXES += ["(a)(b)", r"a\\.b", "[^a]", r"\\S", "(?s)x.y", "é", "(?i)é", r"^[^\\n]*$", "x$|b"]
DAYS = [date(2026, 1, 31), date(2026, 2, 1), date(1999, 12, 31)]
TIMES = [datetime(2026, 1, 31, 10, tzinfo=UTC), datetime(2026, 2, 1, 0, 0, 0, 1, tzinfo=UTC)]
TIMES += [datetime(2026, 1, 31, tzinfo=UTC)]

BY_HAND = r"""
not (n in (1, 2, null))
n not in (3, null) or vip
n = null
not (n = null) or vip is true
(n = null) is not true and vip
n <=> null
n <=> b
not (n <=> 3)
n is distinct from b
n is not distinct from 2
'it''s' = s
s = 'it\'s'
s = "it's"
s = 'a' 'b'
s like 'a|_b' escape '|'
s like '%/%' escape '/'
s = 'a\\b'
s = r'a\b'
s = '\u0041'
s = '\101'
s rlike 'a\\.b'
s rlike r'a\.b'
`n` == 1 and `user`.`name` is not null
USER.NAME = 'a'
!vip and N > 0
! n = 1
not not vip
n between b and 3
n not between 1 and 2
n !< 2
n !> 2
1 < n
-n < 1
n - -1 = 2
n + b * 2 > 5
n = 1 + 1
d = 0.1
d = 0.1D
d = 1e-1
f = 0.1
f = 1.5f
m = 1.5
m > 1
b = 2L
n = '2'
d = '0.1'
day = '2026-01-31'
day in ('2026-01-31', date '2026-02-01')
day between '2026-01-01' and '2026-01-31'
seen >= '2026-01-31 10:00:00'
seen = '2026-01-31T11:00:00+01:00'
seen > day
day = timestamp '2026-01-31 00:00:00'
seen < date('2026-02-01')
vip = 'true'
vip = true
vip <> false
vip = old
vip <=> old
(n > 1) = vip
(n > 1) <> (b > 1)
(n > 1) <=> null
(n > 1) is null
(n > 1 or vip) is not true
n > 1 is false
(s like 'a%') is not unknown
cast(n as bigint) = 2
cast(day as timestamp) = seen
n::bigint = 2
cast('2026-01-31' as date) = day
coalesce(n, 0) < 2
coalesce(n, b, 7) = 7
not (nvl(s, 'a') = 'a')
coalesce(vip, false)
not coalesce(vip, true)
nvl2(n, vip, old)
nullif(n, 2) = 2
nullif(n, 2) is null
if(vip, n, b) > 1
case when n > 1 then vip when s = 'a' then old else null end
not case when n > 1 then vip when s = 'a' then old end
case s when 'a' then 1 when 'b' then 2 else 3 end = 3
case when n is null then 'x' else s end like '%a%'
lower(s) = 'rome'
lower(s) like 'r%'
s ilike 'RO_E'
s like any ('a%', '%b')
s not like any ('a%', '%b')
s like all ('a%', '%b')
s not like all ('a%', '%b')
s like any ('a%', null)
not (s like all ('a%', null))
startswith(s, 'a') or endswith(s, 'b') or contains(s, '_')
contains(s, r)
not startswith(s, null)
isnull(n) or isnotnull(b)
equal_null(n, b)
array_contains(tags, 'a')
not array_contains(tags, 'a')
array_contains(nums, 3) is null
exists(nums, x -> x > 3)
not exists(nums, x -> x > 3)
forall(nums, x -> x > 0)
forall(nums, x -> x is not null)
exists(tags, t -> lower(t) = 'a')
exists(items, i -> i.price > 2 and i.SKU = 'a')
not exists(items, i -> i.price > 2 and i.sku = 'a')
exists(items, i -> i.price is null)
forall(items, i -> coalesce(i.price, 0) < 3)
array_contains(items.price, 3)
arrays_overlap(tags, array('a', 'x'))
not arrays_overlap(nums, array(1, 2))
attrs['k'] = 1
element_at(attrs, 'k') is null
attrs.k > 0
user.age > 5 and user.name is null
user is null
tags is null
s in ('a', r)
n in (b, 1)
s regexp 'a' /* a comment */ -- and another
regexp_like(s, '^a')
like(s, 'a%')
true
false or null
vip and null
not (vip and null)
1 < 2 and 'a' < 'b'
"""


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


class Conditions:
    """Random conditions in Spark SQL."""

    def __init__(self, rng):
        self.rng = rng

    def pick(self, *options):
        return self.rng.choice(options)

    def number(self):
        return self.pick(
            "0", "1", "2", "-3", "1.5", "7L", "'2'" if self.rng.random() < 0.2 else "2"
        )

    def numeric(self):
        column = self.pick("n", "b", "d", "f", "m", "user.age", "attrs['k']")
        more = self.pick("n", "b", "0", "2")
        return self.pick(
            column,
            column,
            column,
            f"coalesce({column}, {more})",
            "n + b",
            f"if(vip, {column}, {more})",
        )

    def text(self):
        column = self.pick("s", "r", "user.name")
        return self.pick(column, column, column, f"coalesce({column}, 'a')", f"lower({column})")

    def string(self):
        return quoted(self.pick(*[s for s in STRINGS if s.isascii()]))

    def leaf(self):
        op = self.pick("=", "==", "!=", "<>", "<", "<=", ">", ">=", "<=>")
        no = self.pick("", "not ")
        number = self.pick("0", "1", "2", "-3", "1.5", "7L")
        return self.pick(
            f"{self.numeric()} {op} {number}",
            f"{number} {op} {self.numeric()}",
            f"{self.numeric()} {no}between {number} and 3",
            f"{self.numeric()} {no}in ({number}, 2, {self.pick('null', '5', 'n')})",
            f"{self.numeric()} {op} {self.numeric()}",
            f"{self.text()} {op} {self.string()}",
            f"{self.text()} {op} {self.text()}",
            f"{self.text()} {no}in ({self.string()}, {self.string()})",
            f"{self.text()} {no}{self.pick('like', 'ilike')} '{self.pick(*PATTERNS)}'",
            f"{self.text()} {no}rlike '{self.pick(*REGEXES)}'",
            f"{self.pick('startswith', 'contains', 'endswith')}({self.text()}, {self.string()})",
            f"day {op} '{self.pick(*DAYS)}'",
            f"seen {op} timestamp '{self.pick(*TIMES).isoformat()}'",
            f"{self.numeric()} is {no}null",
            f"{self.text()} is {no}null",
            self.pick("vip", "old", "cast(null as boolean)", "true"),
            f"{no}array_contains(tags, {self.string()})",
            f"{self.pick('exists', 'forall')}(nums, x -> x {op} {number})",
            f"{self.pick('exists', 'forall')}(items, i -> i.price {op} 2 and i.sku {no}like 'a%')",
            f"{self.pick('exists', 'forall')}(items, i -> i.price {op} 2 or i.sku {no}in ('a'))",
        )

    def condition(self, depth=2):
        if depth == 0 or self.rng.random() < 0.15:
            return self.leaf()
        one, two = (f"({self.condition(depth - 1)})" for _ in range(2))
        return self.pick(
            f"{one} and {two}",
            f"{one} or {two}",
            f"not {one}",
            f"!{one}",
            f"{one} is {self.pick('', 'not ')}{self.pick('true', 'false', 'null')}",
            f"{one} {self.pick('=', '<>', '<=>')} {two}",
            f"coalesce({one}, {self.pick('true', 'false', two)})",
            f"case when {one} then {two} else {self.leaf()} end",
        )


def rows(rng):
    def maybe(value):
        return None if rng.random() < 0.2 else value

    def some(*values):
        return maybe(rng.choice(values))

    def several(*values):
        return maybe([some(*values) for _ in range(rng.randrange(4))])

    def item():
        return maybe({"sku": some("a", "b"), "price": some(1, 2, 3)})

    for _ in range(ROWS):
        yield {
            "n": some(-3, 0, 1, 2, 3),
            "b": some(0, 1, 2, 7, 2**40),
            "d": some(0.1, 1.5, -3.0, 2.0, float("inf")),
            "f": some(0.10000000149011612, 1.5, 2.0),
            "m": some(Decimal("1.50"), Decimal("2.00"), Decimal("0.10")),
            "s": some(*STRINGS),
            "r": some(*STRINGS[:7]),
            "vip": some(True, False),
            "old": some(True, False),
            "day": some(*DAYS),
            "seen": some(*TIMES),
            "tags": several("a", "b", "A", "it's"),
            "nums": several(1, 2, 3, 5),
            "items": maybe([item() for _ in range(rng.randrange(3))]),
            "attrs": maybe({key: some(0, 1, 2) for key in ("k", "l")[: rng.randrange(3)]}),
            "user": maybe({"Name": some("a", "b", "ab"), "age": some(2, 6)}),
        }


def rewritten(texts):
    conditions = SparkConditions(COLUMNS)
    for text in texts:
        try:
            yield text, conditions.rewritten(text)
        except Inexpressible:
            yield text, None


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("spark", ["classic"], indirect=True)
def test_rules_are_true_where_spark_finds_conditions_true(spark):
    rng = random.Random(11)
    random_ones = Conditions(rng)
    generated = [random_ones.condition() for _ in range(CONDITIONS)]
    by_hand = BY_HAND.strip().splitlines()
    texts = {text: rule for text, rule in rewritten([*by_hand, *generated]) if rule is not None}
    assert [text for text in by_hand if text not in texts] == []
    assert len(texts) > 0.7 * (CONDITIONS + len(by_hand))

    events = list(rows(rng))
    table = spark.createDataFrame([tuple(event.values()) for event in events], COLUMNS)
    answers = table.selectExpr(*(f"({text}\n) is true as c{i}" for i, text in enumerate(texts)))
    answered = [list(row) for row in answers.collect()]
    rules = [parse(rule) for rule in texts.values()]
    wrong = [
        (text, rule, event, expected[index])
        for event, expected in zip(events, answered, strict=True)
        for index, (text, rule) in enumerate(zip(texts, rules, strict=True))
        if (evaluate(rule, event) is True) is not expected[index]
    ]
    assert wrong[:3] == []
    true = sum(map(sum, answered))
    assert 0.1 < true / (len(events) * len(texts)) < 0.9
