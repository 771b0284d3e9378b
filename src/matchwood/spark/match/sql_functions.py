"""`register`: compiled rules as functions of Spark SQL."""

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

from matchwood.language.aliases import Aliases, AliasForm, aliases_of
from matchwood.spark.compile.compiled_rules import CompiledRules
from matchwood.spark.compile.operator_modules import check_operators
from matchwood.spark.events.event_attributes import COLUMNS, Reading, provides, spelled_needs
from matchwood.spark.kernel_shipping import ship_kernels
from matchwood.spark.match.given_lists import ship_lists
from matchwood.spark.match.plan import EVENTS, REPLICATED, Plan
from matchwood.spark.session import version_of

# Rows that a table function gathers before it matches them together.
GATHERED_ROWS = 1_024


def register(
    spark: SparkSession,
    compiled: CompiledRules,
    name: str,
    *,
    columns: StructType | str | None = None,
    tags: Iterable[str] | None = None,
    limit: int | None = None,
    aliases: Aliases | AliasForm | None = None,
    lists: Mapping[str, Any] | None = None,
) -> tuple[str, ...]:
    """Register two functions of SQL and return their names.

    `name(struct(…))` is the array of the ids of the rules that are true of an event, or null if
    the event cannot be read: `select key, name(struct(age, city)) from events`.

    `name_matches(table(…))` has one row per match, with all columns of the table and `rule_id`:
    `select * from name_matches(table(events))`. With `columns` (a schema) it returns only those
    columns, which is faster; Spark 3 has this function only with `columns`. `aliases` are other
    names of attributes and `lists` the values of lists, as for `match_events`.
    """
    check_operators(spark, compiled.operators)
    spelled = aliases_of(aliases)
    plan = Plan(
        compiled.ship(spark),
        compiled.id_type,
        Reading(COLUMNS, (), spelled_needs(compiled.needs, spelled), (), None, spelled),
        EVENTS,
        REPLICATED,
        False,
        None if tags is None else tuple(tags),
        limit,
        compiled.schema,
        compiled.operators,
        ship_kernels(spark),
        compiled.replaced,
        lists=ship_lists(spark, compiled, lists),
    )
    spark.udf.register(name, _function(plan, version_of(spark)))
    table = f"{name}_matches"
    if isinstance(columns, str):
        columns = spark.createDataFrame([], columns).schema
    function = _table_function(plan, columns, version_of(spark))
    if function is None:
        return (name,)
    spark.udtf.register(table, function)
    return name, table


def _id_kind(plan: Plan) -> Any:
    return StringType() if plan.id_type == "string" else LongType()


def _function(plan: Plan, version: tuple[int, int]) -> Any:
    """A function over Arrow arrays if Spark has such functions, else over rows."""
    kind = ArrayType(_id_kind(plan))
    if version < (4, 1) or not hasattr(F, "arrow_udf"):

        def of_row(event: Any) -> Any:
            return None if event is None else rules_of_rows(plan, [_local(event)])[0]

        return F.udf(of_row, kind)
    import pyarrow as pa

    def of_arrays(arrays: Iterator[pa.Array]) -> Iterator[pa.Array]:
        for array in arrays:
            yield rules_of_structs(plan, array)

    # Spark looks at the types, but in this module annotations are strings.
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
    """A table function that returns all columns of its table."""

    class AllColumnsFunction:
        def __init__(self, analyzed: Any) -> None:
            self._schema = StructType(analyzed.schema.fields[:-1])
            self._rows: list[Any] = []

        @staticmethod
        def analyze(table: Any) -> Any:
            from pyspark.sql.udtf import AnalyzeResult

            return AnalyzeResult(_with_rule(table.dataType.fields, plan))

        def eval(self, row: Any) -> Iterator[tuple[Any, ...]]:
            self._rows.append(row)
            if len(self._rows) >= GATHERED_ROWS:
                yield from self.terminate()

        def terminate(self) -> Iterator[tuple[Any, ...]]:
            rows, self._rows = self._rows, []
            events = [_typed(row, self._schema) for row in rows]
            for row, rules in zip(rows, rules_of_rows(plan, events), strict=True):
                for rule_id in rules or ():
                    yield (*row, rule_id)

    return AllColumnsFunction


def _row_table(plan: Plan, keep: list[str]) -> type:
    """A table function over rows that returns some columns."""

    class RowFunction:
        def __init__(self) -> None:
            self._rows: list[Any] = []

        def eval(self, row: Any) -> Iterator[tuple[Any, ...]]:
            self._rows.append(row)
            if len(self._rows) >= GATHERED_ROWS:
                yield from self.terminate()

        def terminate(self) -> Iterator[tuple[Any, ...]]:
            rows, self._rows = self._rows, []
            matched = rules_of_rows(plan, [_local(row) for row in rows])
            for row, rules in zip(rows, matched, strict=True):
                for rule_id in rules or ():
                    yield (*(row[name] for name in keep), rule_id)

    return RowFunction


def _arrow_table(plan: Plan, keep: list[str]) -> type:
    """A table function over Arrow batches that returns some columns."""
    import pyarrow as pa

    class ArrowFunction:
        def eval(self, batch: pa.RecordBatch) -> Any:
            import numpy as np

            matched = rules_of_structs(plan, batch.to_struct_array())
            numbers = pa.array(np.repeat(np.arange(batch.num_rows), _lengths(matched)))
            columns = [batch.column(name).take(numbers) for name in keep]
            yield pa.table([*columns, matched.flatten()], names=[*keep, "rule_id"])

    # Spark looks at the types, but in this module annotations are strings.
    ArrowFunction.eval.__annotations__ = {"batch": pa.RecordBatch, "return": Iterator[pa.Table]}
    return ArrowFunction


# On the executors


def _lengths(lists: Any) -> Any:
    import pyarrow.compute as pc

    return pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)


def rules_of_structs(plan: Plan, events: Any) -> Any:
    """An Arrow list of ids for each struct; null if the struct is null or cannot be read."""
    import numpy as np
    import pyarrow as pa

    from matchwood.spark.events.event_batches import read_events

    names = [events.type.field(number).name for number in range(events.type.num_fields)]
    table = pa.table(events.flatten(), names=names)
    wanted = plan.reading.wanted
    chosen = names if wanted is None else [name for name in names if provides(name, wanted)]
    read = read_events(table, plan.reading._replace(attributes=tuple(chosen)))
    lists = _lists(plan, read.events)
    valid = np.asarray(events.is_valid())
    if read.rows is None and valid.all():
        return lists
    list_of_event = np.full(len(events), -1)
    rows = np.arange(len(events)) if read.rows is None else read.rows
    list_of_event[rows] = np.arange(len(lists))
    list_of_event[~valid] = -1
    return lists.take(pa.array(list_of_event, mask=list_of_event < 0))


def rules_of_rows(plan: Plan, events: list[dict[str, Any]]) -> list[list[Any] | None]:
    """A list of ids for each event; None if the event cannot be read."""
    from matchwood.spark.events.event_batches import checked

    read = checked(events)
    matched: list[list[Any] | None] = [None] * len(events)
    rows = range(len(events)) if read.rows is None else read.rows.tolist()
    for row, rules in zip(rows, _lists(plan, read.events).to_pylist(), strict=True):
        matched[row] = rules
    return matched


def _lists(plan: Plan, events: Any) -> Any:
    import numpy as np
    import pyarrow as pa

    from matchwood.match.batch.grouping import grouped
    from matchwood.spark.match.open_rules import opened, slices_of_matches

    rules = opened(plan)
    lists = [pa.array([], pa.list_(rules.ids.type))]
    for _, count, pairs in slices_of_matches(plan, rules, events):
        bounds, rule_indexes = grouped(list(pairs), count)
        offsets = pa.array(bounds.astype(np.int32))
        lists.append(pa.ListArray.from_arrays(offsets, rules.ids.take(pa.array(rule_indexes))))
    return pa.concat_arrays(lists)


def _local(value: Any) -> Any:
    """A Row as an event. Its times are naive and in the time zone of the worker."""
    if isinstance(value, datetime):
        return value.astimezone()
    if isinstance(value, tuple) and hasattr(value, "asDict"):
        return {name: _local(inner) for name, inner in value.asDict().items()}
    if isinstance(value, Mapping):
        return {name: _local(inner) for name, inner in value.items()}
    return [_local(inner) for inner in value] if isinstance(value, list) else value


def _typed(value: Any, kind: Any) -> Any:
    """The same if the types are known, so that a timestamp without a zone stays as it is."""
    if value is None:
        return None
    if isinstance(kind, TimestampType):
        return value.astimezone()
    if isinstance(kind, StructType):
        pairs = zip(kind.fields, value, strict=True)
        return {field.name: _typed(inner, field.dataType) for field, inner in pairs}
    if isinstance(kind, ArrayType):
        return [_typed(inner, kind.elementType) for inner in value]
    if isinstance(kind, MapType):
        return {name: _typed(inner, kind.valueType) for name, inner in value.items()}
    return value
