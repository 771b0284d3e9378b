"""`register`: compiled rules as functions of SQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from matchwood.spark.attributes import COLUMNS, Reading, provides
from matchwood.spark.operators import check_operators
from matchwood.spark.rules import CompiledRules
from matchwood.spark.session import version_of
from matchwood.spark.worker import ARRAY, REPLICATED, Plan

ROWS = 1_024  # that a table function gathers before it asks


def register(
    spark: SparkSession,
    compiled: CompiledRules,
    name: str,
    *,
    columns: StructType | str | None = None,
    tags: Iterable[str] | None = None,
    limit: int | None = None,
) -> tuple[str, ...]:
    """Give SQL two functions; their names are returned.

    `name(struct(…))` is the array of the ids of the rules that are true of an event, null where
    the event cannot be read: `select key, name(struct(age, city)) from events`.

    `name_matches(table(…))` is one row a match: `select * from name_matches(table(events))`, all
    columns of the table and `rule_id`. `columns` (as a schema) names those that it returns
    instead, which is quicker, and without which Spark 3 has no such function.
    """
    check_operators(spark, compiled.operators)
    plan = Plan(
        compiled.ship(spark),
        compiled.id_type,
        Reading(COLUMNS, (), tuple(compiled.attributes), ()),
        ARRAY,
        REPLICATED,
        False,
        None if tags is None else tuple(tags),
        limit,
        compiled.schema,
        compiled.operators,
    )
    spark.udf.register(name, _function(plan, version_of(spark)))
    table = f"{name}_matches"
    if isinstance(columns, str):
        columns = spark.createDataFrame([], columns).schema
    made = _table_function(plan, columns, version_of(spark))
    if made is None:
        return (name,)
    spark.udtf.register(table, made)
    return name, table


def _id_kind(plan: Plan) -> Any:
    return StringType() if plan.id_type == "string" else LongType()


def _function(plan: Plan, version: tuple[int, int]) -> Any:
    """Over Arrow arrays where Spark has such functions, else over rows."""
    kind = ArrayType(_id_kind(plan))
    if version < (4, 1) or not hasattr(F, "arrow_udf"):

        def of_row(event: Any) -> Any:
            return None if event is None else rules_of_rows(plan, [_local(event)])[0]

        return F.udf(of_row, kind)
    import pyarrow as pa

    def of_arrays(arrays: Iterator[pa.Array]) -> Iterator[pa.Array]:
        for array in arrays:
            yield rules_of_structs(plan, array)

    # not the names of types, which is what annotations are here
    of_arrays.__annotations__ = {"arrays": Iterator[pa.Array], "return": Iterator[pa.Array]}
    return F.arrow_udf(of_arrays, kind)


def _table_function(plan: Plan, columns: StructType | None, version: tuple[int, int]) -> Any:
    if columns is None:
        return None if version < (4, 0) else F.udtf(_any_table(plan), useArrow=False)
    schema = _with_rule(columns.fields, plan)
    keep = columns.names
    if version >= (4, 1) and hasattr(F, "arrow_udtf"):
        return F.arrow_udtf(_arrow_table(plan, keep), returnType=schema)
    return F.udtf(_row_table(plan, keep), returnType=schema, useArrow=False)


def _with_rule(fields: Iterable[StructField], plan: Plan) -> StructType:
    kept = list(fields)
    if any(field.name.lower() == "rule_id" for field in kept):
        raise ValueError("'rule_id' is the name of a column that is added; rename yours")
    return StructType([*kept, StructField("rule_id", _id_kind(plan))])


def _any_table(plan: Plan) -> type:
    """A table function that returns all columns of the table that it is given."""

    class Matches:
        def __init__(self, analyzed: Any) -> None:
            self._schema = StructType(analyzed.schema.fields[:-1])
            self._rows: list[Any] = []

        @staticmethod
        def analyze(table: Any) -> Any:
            from pyspark.sql.udtf import AnalyzeResult

            return AnalyzeResult(_with_rule(table.dataType.fields, plan))

        def eval(self, row: Any) -> Iterator[tuple[Any, ...]]:
            self._rows.append(row)
            if len(self._rows) >= ROWS:
                yield from self.terminate()

        def terminate(self) -> Iterator[tuple[Any, ...]]:
            rows, self._rows = self._rows, []
            events = [_typed(row, self._schema) for row in rows]
            for row, found in zip(rows, rules_of_rows(plan, events), strict=True):
                for rule_id in found or ():
                    yield (*row, rule_id)

    return Matches


def _row_table(plan: Plan, keep: list[str]) -> type:
    """A table function that returns some columns."""

    class Matches:
        def __init__(self) -> None:
            self._rows: list[Any] = []

        def eval(self, row: Any) -> Iterator[tuple[Any, ...]]:
            self._rows.append(row)
            if len(self._rows) >= ROWS:
                yield from self.terminate()

        def terminate(self) -> Iterator[tuple[Any, ...]]:
            rows, self._rows = self._rows, []
            found = rules_of_rows(plan, [_local(row) for row in rows])
            for row, rules in zip(rows, found, strict=True):
                for rule_id in rules or ():
                    yield (*(row[name] for name in keep), rule_id)

    return Matches


def _arrow_table(plan: Plan, keep: list[str]) -> type:
    """A table function over Arrow batches, which returns some columns."""
    import pyarrow as pa

    class Matches:
        def eval(self, batch: pa.RecordBatch) -> Any:
            import numpy as np

            found = rules_of_structs(plan, batch.to_struct_array())
            numbers = pa.array(np.repeat(np.arange(batch.num_rows), _lengths(found)))
            columns = [batch.column(name).take(numbers) for name in keep]
            yield pa.table([*columns, found.flatten()], names=[*keep, "rule_id"])

    # not the names of types, which is what annotations are here
    Matches.eval.__annotations__ = {"batch": pa.RecordBatch, "return": Iterator[pa.Table]}
    return Matches


# On the executors


def _lengths(lists: Any) -> Any:
    import pyarrow.compute as pc

    return pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)


def rules_of_structs(plan: Plan, events: Any) -> Any:
    """An Arrow list of ids for each struct; null where it is null or cannot be read."""
    import numpy as np
    import pyarrow as pa

    from matchwood.spark.reading import read_events

    names = [events.type.field(place).name for place in range(events.type.num_fields)]
    table = pa.table(events.flatten(), names=names)
    wanted = plan.reading.wanted or ()
    chosen = [name for name in names if provides(name, wanted)]
    read = read_events(table, plan.reading._replace(attributes=tuple(chosen)))
    lists = _lists(plan, read.events)
    there = np.asarray(events.is_valid())
    if read.rows is None and there.all():
        return lists
    place = np.full(len(events), -1)
    place[np.arange(len(events)) if read.rows is None else read.rows] = np.arange(len(lists))
    place[~there] = -1
    return lists.take(pa.array(place, mask=place < 0))


def rules_of_rows(plan: Plan, events: list[dict[str, Any]]) -> list[list[Any] | None]:
    """A list of ids for each event; None where it cannot be read."""
    from matchwood.spark.reading import checked

    read = checked(events)
    found: list[list[Any] | None] = [None] * len(events)
    rows = range(len(events)) if read.rows is None else read.rows.tolist()
    for row, rules in zip(rows, _lists(plan, read.events).to_pylist(), strict=True):
        found[row] = rules
    return found


def _lists(plan: Plan, events: Any) -> Any:
    import numpy as np
    import pyarrow as pa

    from matchwood.match.grouping import grouped
    from matchwood.spark.worker import found, opened

    rules = opened(plan)
    made = [pa.array([], pa.list_(rules.ids.type))]
    for _, count, pairs in found(plan, rules, events):
        bounds, places = grouped(list(pairs), count)
        offsets = pa.array(bounds.astype(np.int32))
        made.append(pa.ListArray.from_arrays(offsets, rules.ids.take(pa.array(places))))
    return pa.concat_arrays(made)


def _local(value: Any) -> Any:
    """A Row as an event: its times are naive ones of the worker's zone."""
    if isinstance(value, datetime):
        return value.astimezone()
    if isinstance(value, tuple) and hasattr(value, "asDict"):
        return {name: _local(held) for name, held in value.asDict().items()}
    if isinstance(value, Mapping):
        return {name: _local(held) for name, held in value.items()}
    return [_local(held) for held in value] if isinstance(value, list) else value


def _typed(value: Any, kind: Any) -> Any:
    """The same where the types are known: a timestamp without a zone is left as it is."""
    if value is None:
        return None
    if isinstance(kind, TimestampType):
        return value.astimezone()
    if isinstance(kind, StructType):
        pairs = zip(kind.fields, value, strict=True)
        return {field.name: _typed(held, field.dataType) for field, held in pairs}
    if isinstance(kind, ArrayType):
        return [_typed(held, kind.elementType) for held in value]
    if isinstance(kind, MapType):
        return {name: _typed(held, kind.valueType) for name, held in value.items()}
    return value
