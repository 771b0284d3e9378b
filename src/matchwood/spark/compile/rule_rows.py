"""Rows of rules in the form that executors compile: `id`, `rule`, and what else there is."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    IntegerType,
    LongType,
    NumericType,
    ShortType,
    StringType,
)

from matchwood.spark.compile.shard_build import DATA
from matchwood.spark.events.event_attributes import column


def id_type_of(rules: DataFrame, id: str) -> str:
    """The type of ids in compiled rules: string or bigint, as Spark calls them."""
    kind = next((field.dataType for field in rules.schema if field.name == id), None)
    if kind is None:
        raise ValueError(f"the rules have no column {id!r}; there are {', '.join(rules.columns)}")
    if isinstance(kind, StringType):
        return "string"
    if isinstance(kind, ByteType | ShortType | IntegerType | LongType):
        return "bigint"
    raise ValueError(f"ids are strings or integers, {id!r} is {kind.simpleString()}")


def rule_rows(
    rules: DataFrame,
    id: str,
    rule: str,
    tags: str | None,
    priority: str | None,
    data: Sequence[str],
) -> list[Column]:
    """The columns that a task reads, under the names that it expects."""
    id_type = id_type_of(rules, id)  # raises an error if there is no such column
    kinds = {field.name: field.dataType for field in rules.schema}
    for name in (rule, tags, priority, *data):
        if name is not None and name not in kinds:
            raise ValueError(f"the rules have no column {name!r}; there are {', '.join(kinds)}")
    if not isinstance(kinds[rule], StringType):
        raise ValueError(f"rules are texts, {rule!r} is {kinds[rule].simpleString()}")
    chosen = [column(id).cast(id_type).alias("id"), column(rule).alias("rule")]
    if tags is not None:
        kind = kinds[tags]
        if isinstance(kind, StringType):
            tag_array = F.when(column(tags).isNotNull(), F.array(column(tags)))
        elif isinstance(kind, ArrayType) and isinstance(kind.elementType, StringType):
            tag_array = F.array_compact(column(tags))
        else:
            raise ValueError(f"tags are strings, {tags!r} is {kind.simpleString()}")
        chosen.append(tag_array.alias("tags"))
    if priority is not None:
        if not isinstance(kinds[priority], NumericType):
            raise ValueError(f"a priority is a number, {priority!r} is {kinds[priority]}")
        chosen.append(column(priority).cast("double").alias("priority"))
    if data:
        chosen.append(carried(data).alias(DATA))
    return chosen


def carried(data: Sequence[str]) -> Column:
    """What rules carry, as JSON without nulls."""
    return F.to_json(F.struct(*(column(name) for name in data)))
