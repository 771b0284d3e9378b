"""Columns of numbers as codes, some rows of all of them in one call of a kernel.

So threads that match slices of a table encode them side by side, and hardly hold Python's lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.index.build.segment import read_only
from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.kernels.compiled import config
from matchwood.kernels.records import MISSING, OTHER
from matchwood.kernels.text_bytes import address_of_buffer
from matchwood.language.values import Family
from matchwood.match.batch.codes.number_kernels import (
    EXACT_DOUBLE,
    FACTS,
    code_numbers,
    read_doubles,
)
from matchwood.match.event.double_codes import double_table
from matchwood.match.event.encode import Coder

# The table of an attribute whose rules compare no numbers: see `double_table`.
_NO_NUMBERS = np.empty(0, np.float64), np.empty(0, np.int64), np.array([OTHER], np.int64)

# Types that kernels read as they are; other numbers become doubles first.
_READ = (pa.int64(), pa.float64())

# Where addresses stand for arrays: see `text_bytes`.
_ADDRESS: Any = object if config.DISABLE_JIT else np.int64


def is_number(kind: pa.DataType) -> bool:
    """Whether an Arrow type is one of integers or floating-point numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


class _Column(NamedTuple):
    """The numbers of a column; the rows of nulls hold anything."""

    coder: Coder
    numbers: Any  # what holds eight bytes per number
    validity: Any | None  # bits, from `first_bit` on; None: all numbers are valid
    first_bit: int
    is_double: bool
    exact: NDArray[Any] | None  # integers that doubles may not hold


class NumberColumns:
    """Columns of numbers, each with the coder of its attribute."""

    def __init__(self, columns: Sequence[tuple[Any, Coder]]) -> None:
        self._columns = [_column(column, coder) for column, coder in columns]
        tables = [table_of_numbers(column.coder) for column in self._columns]
        self._tables = [_joined(arrays) for arrays in zip(*tables, strict=True)]
        counts = np.array([len(doubles) for doubles, _, _ in tables], np.int64)
        begin = np.cumsum(counts) - counts
        facts: Int64Array = np.empty((len(tables), FACTS), np.int64)
        facts.T[:] = (
            [column.is_double for column in self._columns],
            [column.exact is not None for column in self._columns],
            [column.validity is not None for column in self._columns],
            [column.first_bit for column in self._columns],
            begin, begin + counts, begin + np.arange(len(tables)),
        )  # fmt: skip
        self._facts = read_only(facts)
        self._addresses = np.empty((len(tables), 2), _ADDRESS)
        for row, column in enumerate(self._columns):
            validity = column.numbers if column.validity is None else column.validity
            self._addresses[row, 0] = address_of_buffer(column.numbers)
            self._addresses[row, 1] = address_of_buffer(validity)
        self._addresses.flags.writeable = False

    def __len__(self) -> int:
        return len(self._columns)

    def write_doubles(self, low: int, high: int, doubles: NDArray[np.float64]) -> bool:
        """Write the rows low..high as doubles, a row of `doubles` per column, with NaN for null;
        whether doubles hold all these numbers."""
        words = doubles.reshape(-1).view(np.int64)
        return not read_doubles(self._addresses, self._facts, low, high, words)

    def write(self, low: int, high: int, codes: Int32Array) -> None:
        """Write the codes of the rows low..high, a row of `codes` per column."""
        if self._columns and code_numbers(
            self._addresses, self._facts, *self._tables, low, high, codes
        ):
            self._correct(low, high, codes)

    def _correct(self, low: int, high: int, codes: Int32Array) -> None:
        """Code the integers that doubles may not hold once more, one by one."""
        for column, written in zip(self._columns, codes, strict=False):
            if column.exact is None:
                continue
            integers = column.exact[low:high]
            for row in np.flatnonzero(np.abs(integers.astype(np.float64)) >= EXACT_DOUBLE).tolist():
                if written[row] != MISSING:
                    written[row] = column.coder.code(Family.NUMBER, int(integers[row]))


def _column(column: Any, coder: Coder) -> _Column:
    """The buffers of an Arrow array of numbers."""
    validity, numbers = column.buffers()
    kind, first = column.type, column.offset
    if validity is not None and not column.null_count:
        validity = None
    if numbers is None or not len(column):
        return _Column(coder, np.empty(0), None, 0, True, None)
    is_integer = pa.types.is_integer(kind) and kind.bit_width == 64
    width = kind.bit_width // 8
    values = np.frombuffer(numbers, kind.to_pandas_dtype(), len(column), first * width)
    exact = values if is_integer else None
    if kind not in _READ:
        values = values.astype(np.float64)
    return _Column(coder, values, validity, first, kind != pa.int64(), exact)


def table_of_numbers(coder: Coder) -> tuple[NDArray[np.float64], Int64Array, Int64Array]:
    return double_table(coder) if Family.NUMBER in coder.exact else _NO_NUMBERS


def _joined(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return read_only(np.concatenate(arrays))
