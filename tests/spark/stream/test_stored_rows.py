"""Rows after changes are made of those that are compiled and those that changed."""

import pytest
from pyspark.sql import functions as F

from matchwood.spark import compile_rules
from matchwood.spark.compile.rule_buckets import BUCKETS, bucket_of
from matchwood.spark.compile.rule_rows import rule_rows
from matchwood.spark.stream.stored_rows import rows_after
from matchwood.spark.stream.table_changes import CHANGE, TableChanges

pytestmark = pytest.mark.spark
SCHEMA = "id string, rule string, tags array<string>, priority double, owner string"
ABOUT = {"tags": "tags", "priority": "priority", "data": ["owner"]}
RULES = [
    *((f"r{n}", f"age > {n}", ["a", "b"][: n % 3] or None, n / 2, None) for n in range(6)),
    ("ann's", "age < 3", None, None, "ann"),
    ("bad", "age >", ["a"], 1.0, None),
    ("nan", "age > 1", None, float("nan"), None),
]
GONE = [RULES[1], RULES[2]]
NEW = [("r1", "age > 100", None, 9.0, "bob"), *[("twice", "age > 7", None, 0.0, None)] * 2]


@pytest.fixture(scope="module")
def before(spark):
    return compile_rules(spark.createDataFrame(RULES, SCHEMA), shards=2, **ABOUT)


def changes_of(spark, gone, new):
    rows = [*((*row, -1) for row in gone), *((*row, 1) for row in new)]
    frame = spark.createDataFrame(rows, f"{SCHEMA}, `{CHANGE}` bigint").coalesce(1)
    chosen = frame.select(*rule_rows(frame, "id", "rule", **ABOUT), CHANGE)
    names = [name for name in chosen.columns if name != CHANGE]
    net = chosen.groupBy(*names).agg(F.sum(CHANGE).alias(CHANGE))
    ids = frozenset(row[0] for row in rows)
    return TableChanges(net, ids, frozenset(row[0] for row in gone))


def plain(frame):
    """Rows as texts, without what means the same."""
    return sorted(
        str((row.id, row.rule, sorted(row.tags or ()), row.priority or 0.0, row.data or "{}"))
        for row in frame.collect()
    )


def all_rows(spark, rules):
    frame = spark.createDataFrame(rules, SCHEMA)
    return frame.select(*rule_rows(frame, "id", "rule", **ABOUT))


def test_rows_of_all_buckets(spark, before):
    found = rows_after(spark, before, changes_of(spark, GONE, NEW), frozenset(range(BUCKETS)))
    right = [row for row in RULES if row not in GONE] + NEW
    right[right.index(RULES[7])] = ("bad", "age >", None, None, None)  # all that is kept of it
    assert plain(found) == plain(all_rows(spark, right))


def test_rows_of_some_buckets(spark, before):
    wanted = frozenset(bucket_of(name) for name in ("r2", "r3"))
    found = rows_after(spark, before, changes_of(spark, [RULES[2]], []), wanted)
    assert plain(found) == plain(all_rows(spark, [RULES[3]]))


def test_a_rejected_rule_that_changed(spark, before):
    changes = changes_of(spark, [RULES[7]], [("bad", "age > 3", ["a"], 1.0, None)])
    assert rows_after(spark, before, changes, changes.buckets) is None
