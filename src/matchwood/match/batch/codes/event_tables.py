"""Tables of Arrow, pandas and polars as columns of one form.

A column is an Arrow array if there is one that means the same as its values. A column whose values
are of several types stays as it is; see `mixed_columns`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from matchwood.arrow.making import column_or, plain_array
from matchwood.arrow.reading import check_names, one_array, takeable, values_of

# Types of polars that Arrow has no type for.
_UNKNOWN = ("Int128", "Object")

# Types that polars cannot always export inside lists.
_CATEGORIES = ("Enum", "Categorical")


class Column(NamedTuple):
    """A column as an Arrow array, as Python values, or as both, which then mean the same."""

    array: Any | None  # of Arrow
    values: list[Any] | None = None

    def slice(self, low: int, count: int) -> Column:
        """Some of the rows."""
        array = None if self.array is None else self.array.slice(low, count)
        return Column(array, None if self.values is None else self.values[low : low + count])

    def python(self) -> list[Any]:
        """The values as Python objects, as they were given."""
        return values_of(self.array) if self.values is None else self.values

    def plain(self) -> list[Any]:
        """The values as Arrow gives them, if it can; the nulls of pandas are then None."""
        return self.python() if self.array is None else values_of(self.array)


class Table(NamedTuple):
    """Columns of the same number of rows."""

    columns: dict[str, Column]
    num_rows: int

    def slice(self, low: int, count: int) -> Table:
        """Some of the rows."""
        count = max(0, min(count, self.num_rows - low))
        return Table({n: column.slice(low, count) for n, column in self.columns.items()}, count)

    def without(self, key: str | None) -> Table:
        """The table without one of its columns."""
        kept = {name: column for name, column in self.columns.items() if name != key}
        return Table(kept, self.num_rows)

    def rows(self) -> list[dict[str, Any]]:
        """The rows as dicts of Python values."""
        if not self.columns:
            return [{} for _ in range(self.num_rows)]
        names = list(self.columns)
        values = zip(*(column.python() for column in self.columns.values()), strict=True)
        return [dict(zip(names, row, strict=True)) for row in values]

    def keys(self, key: str) -> Any:
        """The values of a column as one array that rows can be taken from."""
        column = self.columns[key]
        if column.array is not None:
            return takeable(column.array)
        return key_array(column.python(), key)


def key_array(values: list[Any], key: str) -> Any:
    """The keys of events as an array; raises TypeError if they are of several types."""
    return column_or(values, lambda reason: TypeError(f"the key {key!r} cannot be used: {reason}"))


def is_table(events: Any) -> bool:
    """Whether events are a table, not rows."""
    if isinstance(events, Table | pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return True
    return _is_frame(events, "pandas") or hasattr(events, "__arrow_c_stream__")


def tables_of(events: Any) -> Iterator[Table]:
    """The tables of events; a stream gives one table after the other."""
    if isinstance(events, pa.RecordBatchReader):
        for batch in events:
            yield _of_arrow(pa.Table.from_batches([batch]))
    else:
        yield table_of(events)


def table_of(data: Any) -> Table:
    """Tabular data as one table."""
    if isinstance(data, Table):
        return data
    if isinstance(data, pa.Table):
        return _of_arrow(data)
    if isinstance(data, pa.RecordBatch):
        return _of_arrow(pa.Table.from_batches([data]))
    if isinstance(data, pa.RecordBatchReader):
        return _of_arrow(data.read_all())
    if _is_frame(data, "pandas"):
        return _of_pandas(data)
    if _is_frame(data, "polars"):
        return _of_polars(data)
    return _of_arrow(pa.table(data))


def _is_frame(data: Any, library: str) -> bool:
    return type(data).__module__.partition(".")[0] == library and hasattr(data, "columns")


def _of_arrow(table: Any) -> Table:
    check_names(table.column_names)
    columns = zip(table.column_names, table.columns, strict=True)
    return Table({name: Column(array) for name, array in columns}, table.num_rows)


# polars


def _of_polars(frame: Any) -> Table:
    apart = {name: _apart(frame[name]) for name in frame.columns if _is_apart(frame.schema[name])}
    others = [name for name in frame.columns if name not in apart]
    table = pa.table(frame.select(others)) if others else None
    columns = {
        name: apart[name] if table is None or name in apart else _exported(table[name], frame[name])
        for name in frame.columns
    }
    return Table(columns, len(frame))


def _is_apart(kind: Any) -> bool:
    """Whether a column is not exported to Arrow with the others."""
    return _holds(kind, _UNKNOWN) or (kind.is_nested() and _holds(kind, _CATEGORIES))


def _apart(series: Any) -> Column:
    if _holds(series.dtype, _UNKNOWN):
        return Column(None, series.to_list())
    return _exported(series.to_arrow(), series)


def _exported(array: Any, series: Any) -> Column:
    """What polars exported; its values if the export is invalid, as for some slices of objects."""
    try:
        array.validate()
    except pa.ArrowInvalid:
        return Column(None, series.to_list())
    return Column(array)


def _holds(kind: Any, names: tuple[str, ...]) -> bool:
    return any(name in str(kind) for name in names)


# pandas


def _of_pandas(frame: Any) -> Table:
    if frame.columns.nlevels > 1:
        raise TypeError(
            "the columns of the frame have names of several levels: give each one name, for "
            "example frame.columns = ['.'.join(map(str, name)) for name in frame.columns]"
        )
    names = [name if isinstance(name, str) else str(name) for name in frame.columns]
    check_names(names)
    columns = (_of_series(series) for _, series in frame.items())
    return Table(dict(zip(names, columns, strict=True)), len(frame))


def _of_series(series: Any) -> Column:
    kind = series.dtype
    if str(kind) == "object":
        values = series.tolist()
        return Column(plain_array(values), values)
    try:
        array = _known(series)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        array = None
    return Column(None, list(series)) if array is None else Column(array)


def _known(series: Any) -> Any | None:
    """The Arrow array of a column whose type says what it holds; None if only its values tell."""
    import pandas

    kind = series.dtype
    if isinstance(kind, pandas.CategoricalDtype):
        return _categories(series)
    if isinstance(kind, pandas.SparseDtype):
        return _of_series(series.sparse.to_dense()).array
    if isinstance(kind, pandas.PeriodDtype | pandas.IntervalDtype):
        return None
    if pandas.api.types.is_extension_array_dtype(kind):
        if type(kind).__module__.partition(".")[0] != "pandas":
            return None
    elif kind.kind not in "biufmM":
        return None
    return pa.array(series, from_pandas=True)


def _categories(series: Any) -> Any | None:
    """The Arrow array of a categorical column, whose categories may be of any type."""
    categories = _of_series(series.cat.categories.to_series()).array
    if categories is None:
        return None
    codes = series.cat.codes.to_numpy()
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), one_array(categories))
