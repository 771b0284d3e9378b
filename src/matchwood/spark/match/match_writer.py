"""Matches as Arrow batches for Spark, each of a bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from matchwood.match.batch.grouping import grouped
from matchwood.spark.match.plan import ROWS, Plan, SlicePairs

# Rows of a batch.
MOST_ROWS = 1 << 16
# Bytes of a batch, about, unless a single row has more. Spark is slower with larger batches.
MOST_BYTES = 4 << 20
# Bytes that an id adds to one row per match, about: for integers and for strings.
_INTEGER_ROW, _STRING_ROW = 16, 48
# Bytes that an id adds to the array of its event, about: for integers and for strings.
_INTEGER_ITEM, _STRING_ITEM = 8, 32


class MatchWriter:
    """Makes the rows that a plan asks for: one row per match, or one row per event."""

    def __init__(self, plan: Plan) -> None:
        self._rows = plan.output == ROWS
        self._rejects = plan.rejects
        kind = pa.string() if plan.id_type == "string" else pa.int64()
        self._types = [kind if self._rows else pa.list_(kind)]
        self._names = [*plan.reading.keep, "rule_id" if self._rows else "rule_ids"]
        self._has_facts = bool(plan.rule_columns)
        if plan.rule_columns:
            from matchwood.match.search.rule_facts import FACTS

            kinds = [FACTS[name] for name in plan.rule_columns]
            self._types += kinds if self._rows else [pa.list_(kind) for kind in kinds]
            self._names += plan.rule_columns
        if plan.rejects:
            self._names.append("reason")

    def _batch(self, kept: Sequence[Any], rules: Any) -> Any:
        columns = [*kept, *(self._with_facts(rules) if self._has_facts else [rules])]
        if self._rejects:
            columns.append(pa.nulls(len(rules), pa.string()))
        return pa.RecordBatch.from_arrays(columns, self._names)

    def _with_facts(self, rules: Any) -> list[Any]:
        """The ids and the columns about rules, which are the fields of structs."""
        if self._rows:
            return list(rules.flatten())
        return [pa.ListArray.from_arrays(rules.offsets, field) for field in rules.values.flatten()]

    def rejected(self, kept: Sequence[Any], rejected: list[tuple[int, str]]) -> Iterator[Any]:
        """One row per event that cannot be read: no rule, and the reason."""
        if not self._rejects or not rejected:
            return
        rows = pa.array([row for row, _ in rejected])
        reasons = pa.array([reason for _, reason in rejected], pa.string())
        taken = [column.take(rows) for column in kept]
        columns = [*taken, *(pa.nulls(len(rejected), kind) for kind in self._types), reasons]
        yield pa.RecordBatch.from_arrays(columns, self._names)

    def matches(
        self, kept: Sequence[Any], events: int, pairs: Iterator[SlicePairs], ids: Any
    ) -> Iterator[Any]:
        """The matches of some events, whose columns to keep are `kept`."""
        sizes = _sizes(kept, events)
        if not self._rows:
            yield from self._lists(kept, events, list(pairs), ids, sizes)
            return
        row_size = _INTEGER_ROW if ids.type == pa.int64() else _STRING_ROW
        if self._has_facts and len(ids):
            row_size += ids.nbytes // len(ids)
        for numbers, rule_indexes in pairs:
            for low, high in _cuts(sizes[numbers] + row_size if len(numbers) else sizes[:0]):
                rows = pa.array(numbers[low:high])
                taken = [column.take(rows) for column in kept]
                yield self._batch(taken, self._ids(ids, pa.array(rule_indexes[low:high])))

    def _ids(self, ids: Any, indexes: Any) -> Any:
        """The ids of rules by their indexes; Spark accepts them only in full."""
        return ids.take(indexes)

    def _lists(
        self, kept: Sequence[Any], events: int, pairs: list[SlicePairs], ids: Any, sizes: Any
    ) -> Iterator[Any]:
        if ids.type == pa.int64():
            bounds, rules = grouped(pairs, events, ids.to_numpy())
            item_size = _INTEGER_ITEM
        else:
            bounds, rules = grouped(pairs, events)
            item_size = _STRING_ITEM
            if self._has_facts and len(ids):
                item_size += ids.nbytes // len(ids)
        pairs.clear()
        yield from self.lists(kept, bounds, rules, ids, sizes + item_size * np.diff(bounds))

    def lists(
        self,
        kept: Sequence[Any],
        bounds: NDArray[np.int64],
        rules: NDArray[Any],
        ids: Any,
        sizes: NDArray[np.int64],
    ) -> Iterator[Any]:
        """One row per event; `rules` has integer ids, or indexes into `ids`."""
        for low, high in _cuts(sizes):
            values = pa.array(rules[bounds[low] : bounds[high]])
            if ids is not None and ids.type != pa.int64():
                values = self._ids(ids, values)
            offsets = pa.array((bounds[low : high + 1] - bounds[low]).astype(np.int32))
            rule_lists = pa.ListArray.from_arrays(offsets, values)
            yield self._batch([column.slice(low, high - low) for column in kept], rule_lists)


def _sizes(kept: Sequence[Any], events: int) -> NDArray[np.int64]:
    """About how many bytes the kept columns of each event take; exact for strings, which vary."""
    sizes = np.full(events, 8 * (1 + len(kept)), np.int64)
    for column in kept:
        kind = column.type
        if pa.types.is_string(kind) or pa.types.is_binary(kind):
            lengths = pc.binary_length(column).fill_null(0)
            sizes += lengths.to_numpy(zero_copy_only=False)
        elif pa.types.is_nested(kind):
            sizes += column.nbytes // max(1, events)
    return sizes


def _cuts(sizes: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """The bounds of slices that have neither too many rows nor too many bytes."""
    rows = len(sizes)
    if rows == 0:
        return
    if rows <= MOST_ROWS and int(sizes.max()) * rows <= MOST_BYTES:
        yield 0, rows
        return
    total = np.cumsum(sizes)
    low = 0
    while low < rows:
        before = int(total[low - 1]) if low else 0
        high = int(np.searchsorted(total, before + MOST_BYTES, "right"))
        high = min(max(high, low + 1), low + MOST_ROWS, rows)
        yield low, high
        low = high
