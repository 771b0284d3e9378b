"""Lines of JSON to rows, without losing any: each line is a row, or a reason why it is none.

Spark's own reader takes the first of two objects on a line and drops the rest, drops a line `[]`,
makes several rows of an array of objects, and puts numbers and arrays into columns of strings as
their text. Here a line is one object whose values are of the types that the schema says, or it is
rejected with the reason. Types that Spark spells in several ways, such as timestamps and decimals,
are left to Spark, once the line is known to be one object.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    ByteType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

# The column with the line of a row that cannot be read, which is null in all other rows. Spark's
# own readers use the same name.
CORRUPT = "_corrupt_record"
# The column that says why the line cannot be read.
CORRUPT_REASON = "_corrupt_reason"
# The column with lines that Spark reads some columns of.
_LINE = "_line"
# Options of Spark that choose files and not how their lines are read, in lower case.
FILE_OPTIONS = {
    *("basepath", "cleansource", "filenameonly", "ignorecorruptfiles", "ignoremissingfiles"),
    *("latestfirst", "linesep", "maxbytespertrigger", "maxcachedfiles", "maxfileage"),
    *("maxfilespertrigger", "modifiedafter", "modifiedbefore", "pathglobfilter"),
    *("recursivefilelookup", "samplingratio", "sourcearchivedir"),
}
# Options of Spark for values that it reads from lines that are one object each, in lower case.
VALUE_OPTIONS = {
    *("dateformat", "enabledatetimeparsingfallback", "locale", "timestampformat"),
    *("timestampntzformat", "timezone"),
}
_INTEGERS: dict[type[DataType], int] = {ByteType: 8, ShortType: 16, IntegerType: 32, LongType: 64}
# What JSON calls the types of Python.
_NAMES: dict[type, str] = {
    **{dict: "an object", list: "a list", str: "a string", bool: "a boolean"},
    **{int: "a number", float: "a number", type(None): "null"},
}


class Kind(NamedTuple):
    """The type of a column, as a worker needs it; `inner` has the fields, or the items."""

    name: str  # string, integer, double, boolean, list, map or struct
    bits: int = 64
    inner: tuple[tuple[str, Kind], ...] = ()


def kind_of(spark_type: DataType) -> Kind | None:
    """The kind of a type; None if Spark has to read values of this type."""
    if type(spark_type) is StringType:
        return Kind("string")
    if type(spark_type) in _INTEGERS:
        return Kind("integer", _INTEGERS[type(spark_type)])
    if isinstance(spark_type, FloatType | DoubleType):
        return Kind("double", 32 if isinstance(spark_type, FloatType) else 64)
    if isinstance(spark_type, BooleanType):
        return Kind("boolean")
    inside: list[tuple[str, Kind | None]] = []
    if isinstance(spark_type, ArrayType):
        name, inside = "list", [("", kind_of(spark_type.elementType))]
    elif isinstance(spark_type, MapType) and type(spark_type.keyType) is StringType:
        name, inside = "map", [("", kind_of(spark_type.valueType))]
    elif isinstance(spark_type, StructType) and spark_type.fields:
        name = "struct"
        inside = [(field.name, kind_of(field.dataType)) for field in spark_type]
    else:
        return None
    known = tuple((field, kind) for field, kind in inside if kind is not None)
    return Kind(name, inner=known) if len(known) == len(inside) else None


def json_rows(
    lines: DataFrame, schema: StructType, strict: bool, options: Mapping[str, str]
) -> DataFrame:
    """The rows of lines of JSON, with the columns of a schema, `CORRUPT` and `CORRUPT_REASON`.

    `lines` has the column `value`, and those by which its files are partitioned. Blank lines are no
    rows. Unless it is `strict`, a column of strings also takes other values, as JSON texts.
    `options` are those of Spark for the values that it reads.
    """
    _, *partitions = lines.schema.fields
    of_path = {field.name for field in partitions}
    wanted = [field for field in schema if field.name not in {*of_path, CORRUPT, CORRUPT_REASON}]
    kinds = {field.name: kind_of(field.dataType) for field in wanted}
    plain = [StructField(field.name, field.dataType) for field in wanted if kinds[field.name]]
    left = [StructField(field.name, field.dataType) for field in wanted if not kinds[field.name]]
    texts = [StructField(name, StringType()) for name in (_LINE, CORRUPT, CORRUPT_REASON)]
    task = _reading(
        [(field.name, kind) for field in plain if (kind := kinds[field.name]) is not None],
        [field.name for field in partitions],
        strict,
        bool(left),
    )
    read = lines.mapInArrow(task, StructType([*plain, *partitions, *texts]))
    corrupt, why = F.col(CORRUPT), F.col(CORRUPT_REASON)
    rest = F.lit(None)
    if left:
        # With any option, Spark before 4.3 does not optimise the column of misread lines away.
        wholly = {**options, "mode": "PERMISSIVE"}
        rest = F.from_json(_LINE, StructType([*left, StructField(CORRUPT, StringType())]), wholly)
        misread = rest[CORRUPT]
        why = F.when(misread.isNotNull(), F.lit("a value does not fit the schema")).otherwise(why)
        corrupt = F.coalesce(corrupt, misread)
    columns = [
        _named(field.name).cast(field.dataType).alias(field.name)
        if field.name in of_path or kinds.get(field.name)
        else rest[field.name].alias(field.name)
        for field in schema
        if field.name not in (CORRUPT, CORRUPT_REASON)
    ]
    columns += [_named(name) for name in of_path if name not in schema.names]
    return read.select(*columns, corrupt.alias(CORRUPT), why.alias(CORRUPT_REASON))


def _named(name: str) -> Any:
    return F.col("`" + name.replace("`", "``") + "`")


def _reading(
    kinds: Sequence[tuple[str, Kind]], partitions: Sequence[str], strict: bool, lines: bool
) -> Callable[[Any], Iterator[Any]]:
    """A task that turns batches of lines into batches of rows."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            rows, numbers, bad = parsed(batch.column(0))
            columns = _columns(rows, kinds, strict)
            if any(column is None for column in columns):
                for number, row in enumerate(rows):
                    if number not in bad and (why := _misfits(row, kinds, strict)):
                        bad[number], rows[number] = why, {}
                columns = _columns(rows, kinds, strict)
            taken = pa.array(numbers, pa.int64())
            columns += [batch.column(1 + place).take(taken) for place in range(len(partitions))]
            texts = _texts(batch.column(0), numbers)
            kept = [None if number in bad or not lines else t for number, t in enumerate(texts)]
            failed = [text if number in bad else None for number, text in enumerate(texts)]
            reasons = [bad.get(number) for number in range(len(rows))]
            columns += [pa.array(part, pa.string()) for part in (kept, failed, reasons)]
            names = [*(name for name, _ in kinds), *partitions, _LINE, CORRUPT, CORRUPT_REASON]
            yield pa.RecordBatch.from_arrays(columns, names)

    return run


def _texts(lines: Any, numbers: Sequence[int]) -> list[str]:
    """Lines as texts, whatever bytes they have."""
    import pyarrow as pa

    raw = lines.cast(pa.binary()).to_pylist()
    return [raw[number].decode("utf-8", "replace") for number in numbers]


def parsed(lines: Any) -> tuple[list[Any], list[int], dict[int, str]]:
    """The objects of all lines that are not blank, their line numbers, and what is wrong.

    A line that is not one object has an empty one, and its reason by its place among the objects.
    """
    import pyarrow as pa

    rows: list[Any] = []
    numbers: list[int] = []
    bad: dict[int, str] = {}
    for number, raw in enumerate(lines.cast(pa.binary()).to_pylist()):
        if not raw or raw.isspace():
            continue
        numbers.append(number)
        value: Any = None
        try:
            value = json.loads(raw.decode("utf-8-sig"))
            why = None if type(value) is dict else f"expected an object, found {_named_type(value)}"
        except UnicodeDecodeError:
            why = "not valid UTF-8"
        except json.JSONDecodeError as error:
            why = f"not JSON: {error.msg} at column {error.colno}"
        except (ValueError, RecursionError) as error:
            why = f"not JSON that can be read: {error}"
        if why is not None:
            bad[len(rows)], value = why, {}
        rows.append(value)
    return rows, numbers, bad


def _named_type(value: object) -> str:
    return _NAMES.get(type(value), type(value).__name__)


def _columns(rows: list[Any], kinds: Sequence[tuple[str, Kind]], strict: bool) -> list[Any]:
    return [_column([row.get(name) for row in rows], kind, strict) for name, kind in kinds]


def _column(values: list[Any], kind: Kind, strict: bool) -> Any:
    """Values as an Arrow array; None if one of them does not fit."""
    import pyarrow as pa

    types = set(map(type, values))
    if kind.name == "string" and not strict and not types <= {str, type(None)}:
        values = [_as_text(value) for value in values]
    elif kind.name == "double" and not types <= {float, type(None)}:
        if not types <= {float, int, type(None)}:
            return None
        try:
            values = [float(value) if type(value) is int else value for value in values]
        except OverflowError:
            return None
    elif kind.name == "integer" and not types <= {int, type(None)}:
        return None
    elif kind.inner and any(_misfit(value, kind, strict) for value in values):
        # Arrow would take some values that do not fit, such as a list of pairs for a map.
        return None
    try:
        return pa.array(_adapted(values, kind, strict), _arrow(kind))
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return None


def _adapted(values: list[Any], kind: Kind, strict: bool) -> list[Any]:
    """Values that fit, with numbers and texts inside of them as Arrow takes them."""
    if not kind.inner:
        return values
    return [_inside(value, kind, strict) for value in values]


def _inside(value: Any, kind: Kind, strict: bool) -> Any:
    if value is None:
        return None
    if kind.name == "list":
        return [_inside(item, kind.inner[0][1], strict) for item in value]
    if kind.name == "map":
        return [(key, _inside(item, kind.inner[0][1], strict)) for key, item in value.items()]
    if kind.name == "struct":
        return {name: _inside(value.get(name), inner, strict) for name, inner in kind.inner}
    if kind.name == "double":
        return float(value)
    return _as_text(value) if kind.name == "string" and not strict else value


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _arrow(kind: Kind) -> Any:
    import pyarrow as pa

    if kind.name == "integer":
        return {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[kind.bits]
    if kind.name == "double":
        return pa.float32() if kind.bits == 32 else pa.float64()
    if kind.name == "list":
        return pa.list_(_arrow(kind.inner[0][1]))
    if kind.name == "map":
        return pa.map_(pa.string(), _arrow(kind.inner[0][1]))
    if kind.name == "struct":
        return pa.struct([(name, _arrow(inner)) for name, inner in kind.inner])
    return pa.string() if kind.name == "string" else pa.bool_()


def _misfits(row: dict[str, Any], kinds: Sequence[tuple[str, Kind]], strict: bool) -> str | None:
    """What does not fit the schema in a row."""
    for name, kind in kinds:
        why = _misfit(row.get(name), kind, strict)
        if why is not None:
            return f"{name}: {why}"
    return None


def _misfit(value: Any, kind: Kind, strict: bool) -> str | None:
    """Why a value does not fit a kind; None if it does."""
    if value is None:
        return None
    inner: Iterator[tuple[Any, Kind]] = iter(())
    if kind.name == "string":
        fits = not strict or type(value) is str
        if type(value) is str and not value.isascii() and not _is_unicode(value):
            return "a string is not valid Unicode"
    elif kind.name == "integer":
        fits = type(value) is int and -(1 << kind.bits - 1) <= value < 1 << kind.bits - 1
    elif kind.name == "double":
        fits = type(value) is float or (type(value) is int and _is_double(value))
    elif kind.name == "boolean":
        fits = type(value) is bool
    elif kind.name == "list":
        fits = type(value) is list
        inner = ((item, kind.inner[0][1]) for item in value) if fits else inner
    else:
        fits = type(value) is dict
        if fits and kind.name == "map":
            inner = ((item, kind.inner[0][1]) for item in value.values())
        elif fits:
            inner = ((value.get(name), field) for name, field in kind.inner)
    if not fits:
        return f"expected {_EXPECTED[kind.name]}, found {_shown(value)}"
    return next((why for item, of in inner if (why := _misfit(item, of, strict))), None)


_EXPECTED = {
    **{"string": "a string", "integer": "an integer", "double": "a number"},
    **{"boolean": "a boolean", "list": "a list", "map": "an object", "struct": "an object"},
}


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _is_double(value: int) -> bool:
    try:
        float(value)
    except OverflowError:
        return False
    return True


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
