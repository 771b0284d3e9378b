"""Random rules match the same rows as `events.where(rule)` of Spark itself.

Most rules are the same text in both. They differ where Spark's SQL is written differently: `xor`
and `xnor` are <> and = of booleans, and a backslash or a quote in a string is escaped.
Left out, because Spark's answer differs: NaN, which is the greatest number there; values of the
wrong family, which Spark casts; regular expressions beyond what Java and RE2 have in common;
integers beside literals of more than 64 bits, of which Spark's optimiser takes `null` for false or
true (4.3: `i not between 9223372036854775809 and -3` is true where i is null); `in` of several
families, which Spark casts. `rlike any` and lists with names are written one by one.
"""

import math
import random
from decimal import Decimal
from typing import ClassVar

import pytest

from language.sql_values import CASED, DECIMALS, DOUBLES, INTEGERS, LISTS, OBJECTS, STRINGS, TIMES
from language.sql_values import SMALL as SUMMANDS
from language.test_sql_engines import LOOKED_UP, NAMED, Writer, quoted
from matchwood import parse
from matchwood.language import evaluate
from matchwood.spark import compile_rules, match_events

pytestmark = pytest.mark.spark

EXPRESSIONS = ["", "a", "^a", "b$", "^(a|é)+$", "(?i)AB", "^[a-c].*$", "[0-9]+"]
RULES, EVENTS = 60, 60
# Rules that Spark is also asked by `where`, one after the other.
WHERE = 12
SMALL = [number for number in INTEGERS if -(2**63) <= number < 2**63]
# Times whose years Python can represent in any time zone.
MOMENTS = [moment for moment in TIMES if 1 < moment.year < 9999]


def spark_quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


class SparkWriter(Writer):
    integers = SMALL
    columns: ClassVar = {
        "i1": ("bigint", SMALL),
        "i2": ("bigint", SMALL),
        "d1": ("double", [number for number in DOUBLES if not math.isnan(number)]),
        "d2": ("double", [number for number in DOUBLES if not math.isnan(number)]),
        "m1": ("decimal(18, 3)", [Decimal(number) for number in DECIMALS]),
        "m2": ("decimal(18, 3)", [Decimal(number) for number in DECIMALS]),
        "s1": ("string", STRINGS),
        "s2": ("string", STRINGS),
        "c1": ("string", CASED),
        "b1": ("boolean", [True, False]),
        "b2": ("boolean", [True, False]),
        "t1": ("timestamp", MOMENTS),
        "t2": ("timestamp_ntz", MOMENTS),
        "e1": ("date", [moment.date() for moment in MOMENTS]),
        "l1": ("string", CASED),
        "l2": ("string", CASED),
        "n1": ("int", SUMMANDS),
        "n2": ("int", SUMMANDS),
        "x1": ("array<int>", LISTS),
        "y1": ("array<struct<p: int, q: string>>", OBJECTS),
    }

    def sql_time(self, value):
        return f"timestamp '{value.isoformat(sep=' ')}'"

    def time(self):
        """As in the rule, if Spark reads that."""
        rule, sql = super().time()
        return rule, rule if self.rng.random() < 0.7 else sql

    def string(self):
        text = self.rng.choice(STRINGS)
        return quoted(text), spark_quoted(text)

    def like(self):
        start = f"{self.rng.choice(['s1', 's2'])} {self.negation()}like"
        pattern = self.pattern()
        return f"{start} {quoted(pattern)}", f"{start} {spark_quoted(pattern)}"

    def like_many(self):
        return self.as_in_spark(self.rng.choice(["s1 like", "s2 like"]), self.pattern)

    def ilike_many(self):
        return self.as_in_spark("c1 ilike", self.cased_pattern)

    def as_in_spark(self, start, pattern):
        """`any` or `all` of some patterns, which Spark has too."""
        which = self.rng.choice(["any", "all"])
        patterns = [pattern() for _ in range(self.rng.randint(1, 3))]
        written = [", ".join(map(quote, patterns)) for quote in (quoted, spark_quoted)]
        return f"{start} {which} ({written[0]})", f"{start} {which} ({written[1]})"

    def rlike_many(self):
        return self.many("s1 rlike", lambda: self.rng.choice(EXPRESSIONS), "s1 rlike {}")

    def sql_text(self, text):
        return spark_quoted(text)

    def elements(self):
        word, function = self.rng.choice([("any", "exists"), ("every", "forall")])
        name, inside, within = self.element_rule()
        return f"{word}({name}, {inside})", f"{function}({name}, e -> {within})"

    def operands(self):
        return [
            (["i1", "i2"], self.integer),
            (["d1", "d2"], self.double),
            (["m1", "m2"], self.decimal),
            (["s1", "s2"], self.string),
            (["b1", "b2"], self.boolean),
            (["t1", "e1"], self.time),
            (["t2", "e1"], self.time),
        ]

    def leaves(self):
        return [
            *super().leaves(),
            *(self.ilike, self.ilike_many, self.rlike, self.rlike_many),
            *(self.elements, self.in_list),
        ]

    def ilike(self):
        pattern = self.cased_pattern()
        start = f"c1 {self.negation()}ilike"
        return f"{start} {quoted(pattern)}", f"{start} {spark_quoted(pattern)}"

    def rlike(self):
        pattern = self.rng.choice(EXPRESSIONS)
        rule = f"{self.rng.choice(['s1', 's2'])} {self.negation()}rlike {quoted(pattern)}"
        return rule, rule

    def calls(self):
        name = self.rng.choice(["startswith", "endswith", "contains"])
        rule, sql = self.string()
        attribute = self.rng.choice(["s1", "s2"])
        return f"{name}({attribute}, {rule})", f"{name}({attribute}, {sql})"


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_the_rows_of_where(spark, seed):
    from pyspark.sql import functions as F

    writer = SparkWriter(random.Random(seed))
    given = [writer.event() for _ in range(EVENTS)]
    rules = [writer.rule() for _ in range(RULES)]
    types = ", ".join(f"{name} {kind}" for name, (kind, _) in writer.columns.items())
    rows = [(key, *(one.get(name) for name in writer.columns)) for key, one in enumerate(given)]
    events = spark.createDataFrame(rows, f"key int, {types}").coalesce(2)

    table = [(number, rule) for number, (rule, _) in enumerate(rules)]
    compiled = compile_rules(spark.createDataFrame(table, "id int, rule string"), shards=2)
    assert compiled.rejected.collect() == []
    ours = {
        (row["key"], row["rule_id"])
        for row in match_events(events, compiled, keep=["key"], lists=NAMED).collect()
    }

    answers = events.select(
        "key", *(F.expr(sql).alias(f"r{number}") for number, (_, sql) in enumerate(rules))
    ).collect()
    for number, (rule, sql) in enumerate(rules):
        tree = parse(rule)
        for row in answers:
            truth = evaluate(tree, given[row["key"]], lists=LOOKED_UP)
            assert truth is row[f"r{number}"], (rule, sql, given[row["key"]])
            assert ((row["key"], number) in ours) == (truth is True), (rule, given[row["key"]])

    some = random.Random(seed).sample(range(RULES), WHERE)
    each = [
        events.where(rules[number][1]).select("key", F.lit(number).alias("rule_id"))
        for number in some
    ]
    found = each[0]
    for one in each[1:]:
        found = found.union(one)
    chosen = {pair for pair in ours if pair[1] in set(some)}
    assert {(row["key"], row["rule_id"]) for row in found.collect()} == chosen
