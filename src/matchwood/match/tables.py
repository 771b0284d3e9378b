"""Events in columns, whoever holds them: Arrow, pandas, polars.

Every column is an Arrow array where one says the same as its values. A column whose values are of
several kinds stays as it is, and its table is read row by row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from matchwood.arrow.making import column_or, plain_array
from matchwood.arrow.reading import check_names, one_array, takeable, values_of

_UNKNOWN = ("Int128", "Object")  # of polars: what Arrow has no type for
_CATEGORIES = ("Enum", "Categorical")  # which polars cannot always export inside lists


class Column(NamedTuple):
    """A column as Arrow has it, as Python has it, or both: then they say the same."""

    held: Any | None  # an Arrow array
    values: list[Any] | None = None

    def slice(self, low: int, count: int) -> Column:
        held = None if self.held is None else self.held.slice(low, count)
        return Column(held, None if self.values is None else self.values[low : low + count])

    def python(self) -> list[Any]:
        """The values as they were given."""
        return values_of(self.held) if self.values is None else self.values

    def plain(self) -> list[Any]:
        """The values as Arrow gives them, where it can: what pandas has for null is None."""
        return self.python() if self.held is None else values_of(self.held)


class Table(NamedTuple):
    """Rows in columns."""

    columns: dict[str, Column]
    num_rows: int

    def slice(self, low: int, count: int) -> Table:
        count = max(0, min(count, self.num_rows - low))
        return Table({n: column.slice(low, count) for n, column in self.columns.items()}, count)

    def without(self, key: str | None) -> Table:
        kept = {name: column for name, column in self.columns.items() if name != key}
        return Table(kept, self.num_rows)

    def rows(self) -> list[dict[str, Any]]:
        """The events as Python values."""
        if not self.columns:
            return [{} for _ in range(self.num_rows)]
        names = list(self.columns)
        values = zip(*(column.python() for column in self.columns.values()), strict=True)
        return [dict(zip(names, row, strict=True)) for row in values]

    def held(self) -> dict[str, Any] | None:
        """All columns as Arrow arrays; None where some column is none."""
        found = {name: column.held for name, column in self.columns.items()}
        return None if any(held is None for held in found.values()) else found

    def keys(self, key: str) -> Any:
        """The values of a column as one array, of which rows can be taken."""
        column = self.columns[key]
        if column.held is not None:
            return takeable(column.held)
        return key_array(column.python(), key)


def key_array(values: list[Any], key: str) -> Any:
    """The keys of events as an array; a TypeError where they are of several types."""
    return column_or(values, lambda reason: TypeError(f"the key {key!r} cannot be used: {reason}"))


def is_table(events: Any) -> bool:
    """Whether events are in columns."""
    if isinstance(events, Table | pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return True
    return _is_frame(events, "pandas") or hasattr(events, "__arrow_c_stream__")


def tables_of(events: Any) -> Iterator[Table]:
    """Events in columns, a table after the other where they come as a stream."""
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
    return Table({name: Column(held) for name, held in columns}, table.num_rows)


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
    """Whether a column does not go to Arrow with the others."""
    return _holds(kind, _UNKNOWN) or (kind.is_nested() and _holds(kind, _CATEGORIES))


def _apart(series: Any) -> Column:
    if _holds(series.dtype, _UNKNOWN):
        return Column(None, series.to_list())
    return _exported(series.to_arrow(), series)


def _exported(held: Any, series: Any) -> Column:
    """What polars has exported; its values where that is unsound, as some slices of objects are."""
    try:
        held.validate()
    except pa.ArrowInvalid:
        return Column(None, series.to_list())
    return Column(held)


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
        held = _known(series)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        held = None
    return Column(None, list(series)) if held is None else Column(held)


def _known(series: Any) -> Any | None:
    """The Arrow array of a column whose type says what it holds; None where only values tell."""
    import pandas

    kind = series.dtype
    if isinstance(kind, pandas.CategoricalDtype):
        return _categories(series)
    if isinstance(kind, pandas.SparseDtype):
        return _of_series(series.sparse.to_dense()).held
    if isinstance(kind, pandas.PeriodDtype | pandas.IntervalDtype):
        return None
    if pandas.api.types.is_extension_array_dtype(kind):
        if type(kind).__module__.partition(".")[0] != "pandas":
            return None
    elif kind.kind not in "biufmM":
        return None
    return pa.array(series, from_pandas=True)


def _categories(series: Any) -> Any | None:
    """Categories may be anything: of numbers, times, or of several kinds."""
    held = _of_series(series.cat.categories.to_series()).held
    if held is None:
        return None
    codes = series.cat.codes.to_numpy()
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), one_array(held))
