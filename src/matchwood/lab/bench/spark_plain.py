"""Ways to match rules with Spark alone, which `matchwood.lab.bench.spark` is compared with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# An `xor` in parentheses, with its two operands; Spark SQL has no such operator.
_XOR = re.compile(r"\(([^()]*) xor ([^()]*)\)")


def in_spark(rule: str) -> str:
    """An audience rule in Spark SQL.

    >>> in_spark("(country = 'DE' xor language = 'de') and contains(interests, 'wine')")
    "((country = 'DE') <> (language = 'de')) and array_contains(interests, 'wine')"
    """
    return _XOR.sub(r"((\1) <> (\2))", rule).replace("contains(", "array_contains(")


def boolean_columns(events: DataFrame, rules: dict[str, str]) -> DataFrame:
    """One boolean column per rule."""
    from pyspark.sql import functions as F

    chosen = [F.expr(in_spark(rule)).alias(rule_id) for rule_id, rule in rules.items()]
    return events.select("key", *chosen)


def rows_of_columns(wide: DataFrame) -> DataFrame:
    """The same, as one row per match."""
    from pyspark.sql import functions as F

    ids = [F.when(F.col(f"`{name}`"), F.lit(name)) for name in wide.columns[1:]]
    return wide.select("key", F.explode(F.array_compact(F.array(*ids))).alias("rule_id"))


def cross_join(spark: SparkSession, events: DataFrame, rules: dict[str, str]) -> DataFrame:
    """Each event beside each rule, and a Python function that says whether it is true."""
    from pyspark.sql import functions as F

    table = spark.createDataFrame(list(rules.items()), "rule_id string, rule string")
    names = [name for name in events.columns if name != "key"]
    asked = F.udf(lambda event, rule: is_true(event, rule), "boolean")
    beside = events.crossJoin(F.broadcast(table))
    return beside.where(asked(F.struct(*names), "rule")).select("key", "rule_id")


def is_true(event: Any, rule: str) -> bool:
    from matchwood.language import evaluate

    return evaluate(_parsed(rule), event.asDict()) is True


@lru_cache(maxsize=10_000)
def _parsed(rule: str) -> Any:
    from matchwood.language import parse

    return parse(rule)


def counted(batches: Any) -> Iterator[Any]:
    """The least that Python can do with events: count them."""
    import pyarrow as pa

    yield pa.record_batch({"events": [sum(batch.num_rows for batch in batches)]})
