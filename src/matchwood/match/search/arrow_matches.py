"""The matches of many events: pairs of event and rule, as numbers or as Arrow data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.index.build.segment import read_only
from matchwood.index.build.threads import available_cores
from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.match.batch.gpu.card import CPU
from matchwood.match.batch.pairs import BUFFERED_PAIRS, EventNumbers, Pairs
from matchwood.match.batch.sweep.pair_buffers import lease
from matchwood.match.parts.part import Part
from matchwood.match.parts.pending import PendingRule, TakingOver
from matchwood.match.search.batch_search import match_slice
from matchwood.match.search.batch_threads import in_threads
from matchwood.match.search.event_slices import EventSlice, slices_of
from matchwood.match.search.key_kernels import gather_keys
from matchwood.operators.deciding import Decider


class RuleIds(NamedTuple):
    """The ids of all rules, part by part, then those of pending rules.

    An index into `values` identifies a rule. Rules that were removed from a part keep their index.
    """

    values: Any  # an Arrow array
    first_rules: list[int]  # of each part: the index of its first rule
    first_pending: int  # the index of the first pending rule


def ids_of(parts: Sequence[Part], pending: Sequence[PendingRule]) -> RuleIds:
    """The ids of all rules of some parts, and of pending rules."""
    first_rules: list[int] = []
    arrays = []
    size = 0
    for part in parts:
        first_rules.append(size)
        size += len(part.details)
        arrays.append(part.details.arrow_ids)
    if pending:
        arrays.append(pa.array([rule.details.id for rule in pending]))
    if len(arrays) == 1:
        return RuleIds(arrays[0], first_rules, size)
    values = pa.concat_arrays(arrays) if arrays else pa.array([], pa.string())
    return RuleIds(values, first_rules, size)


def priorities_of(parts: Sequence[Part], pending: Sequence[PendingRule]) -> NDArray[np.float64]:
    """The priority of each rule, in the order of `ids_of`."""
    priorities = [np.empty(0)]
    for part in parts:
        own = part.details.priority
        priorities.append(np.zeros(len(part.details)) if own is None else own)
    priorities.append(np.array([rule.details.priority for rule in pending], np.float64))
    return np.concatenate(priorities)


class BatchSearch(NamedTuple):
    """Rules, and which of their matches are wanted: what many events are matched against."""

    parts: Sequence[Part]
    pending: Sequence[PendingRule]
    decider: Decider
    tags: frozenset[str] | None  # only rules with one of these
    limit: int | None  # of each event only so many matches, of the highest priority
    device: str = CPU  # "cpu", "gpu", or "auto"
    taking_over: TakingOver | None = None  # builds pending rules between two slices

    def table(self, events: Any, key: str | None, threads: int | None) -> Any:
        """All matches, as one Arrow table."""
        ids = ids_of(self.parts, self.pending)
        numbered = list(self._batches(ids, events, key, threads))
        numbered.sort(key=lambda pair: pair[0])  # as threads are not equally fast
        return match_table([batch for _, batch in numbered], ids, key)

    def batches(self, events: Any, key: str | None, threads: int | None) -> Iterator[Any]:
        """All matches, as Arrow record batches that are made as they are asked for."""
        batches = self._batches(ids_of(self.parts, self.pending), events, key, threads)
        return (batch for _, batch in batches if batch.num_rows)

    def pairs(self, events: Any) -> Iterator[tuple[int, Iterator[Pairs]]]:
        """Slice by slice: its number of events, and (event, index into `ids_of`) of its matches,
        both as numbers of 32 bits.

        With a limit the pairs are in the order of events, the highest priority of each first.
        """
        ids = ids_of(self.parts, self.pending)
        priority = None if self.limit is None else priorities_of(self.parts, self.pending)
        for piece in slices_of(events, None, self.decider.aliases):
            pairs = self._pairs(ids, piece)
            if self.limit is not None and priority is not None:
                pairs = iter([best(list(pairs), priority, self.limit)])
            yield piece.events, ((numbers.astype(np.int32, copy=False), r) for numbers, r in pairs)

    def _batches(
        self, ids: RuleIds, events: Any, key: str | None, threads: int | None
    ) -> Iterator[tuple[int, Any]]:
        """(number of the slice, record batch), slice by slice unless there are several threads."""
        if self.limit is not None and self.limit < 0:
            raise ValueError(f"limit must be 0 or more, found {self.limit}")
        if threads is None:
            threads = available_cores()
        slices = slices_of(events, key, self.decider.aliases)
        if threads > 1:
            yield from in_threads(slices, lambda piece: self._slice_batches(ids, piece), threads)
            return
        for number, piece in enumerate(slices):
            for batch in self._slice_batches(ids, piece):
                yield number, batch

    def _slice_batches(self, ids: RuleIds, piece: EventSlice) -> Iterator[Any]:
        pairs = self._pairs(ids, piece)
        if self.limit is not None:
            priority = priorities_of(self.parts, self.pending)
            pairs = iter([best(list(pairs), priority, self.limit)])
        batches = MatchBatches(piece.keys, ids)
        schema = batches.schema
        empty = True
        for numbers, rules in pairs:
            if len(numbers):
                yield batches.batch(numbers, rules)
                empty = False
        if empty:  # so that the type of the keys is known even if nothing matches
            yield pa.record_batch([pa.array([], field.type) for field in schema], schema=schema)

    def _pairs(self, ids: RuleIds, piece: EventSlice) -> Iterator[Pairs]:
        if piece.events:
            yield from match_slice(
                self.parts,
                self.pending,
                ids.first_rules,
                ids.first_pending,
                piece,
                self.tags,
                self.decider,
                self.device,
                self.limit,
                self.taking_over,
            )


class MatchBatches:
    """What makes record batches out of pairs: the keys of some events, and the ids of all rules."""

    def __init__(self, keys: Any, ids: RuleIds) -> None:
        self._keys = keys
        self._ids = ids.values
        self._numbers: Int64Array | None = None
        if keys.type == pa.int64() and not keys.null_count:
            self._numbers = read_only(keys.to_numpy())
        self.schema = _schema(keys.type, ids)

    def batch(self, numbers: EventNumbers, rules: NDArray[np.int32]) -> Any:
        """Matches as a record batch, from numbers of events and indices of rules.

        Many integer keys go to a buffer that is used again, because fresh memory, which Arrow would
        take, costs more than writing to it.
        """
        is_gathered = BUFFERED_PAIRS // 8 < len(numbers) <= BUFFERED_PAIRS
        if self._numbers is None or numbers.dtype != np.int32 or not is_gathered:
            return self.with_keys(self._keys.take(pa.array(numbers)), rules)
        found: Int64Array = lease().reshape(-1).view(np.int64)[: len(numbers)]
        gather_keys(self._numbers, numbers, found)
        return self.with_keys(pa.array(found), rules)

    def with_keys(self, events: Any, rules: NDArray[np.int32]) -> Any:
        """Matches as a record batch, from the keys of events and indices of rules."""
        # kernels write no other numbers than those of rules, so none is checked
        rule_id = pa.DictionaryArray.from_arrays(pa.array(rules), self._ids, safe=False)
        return pa.RecordBatch.from_arrays([events, rule_id], schema=self.schema)


def match_table(batches: list[Any], ids: RuleIds, key: str | None = None) -> Any:
    """Record batches of matches as one table; `key` is what the events are named by."""
    if not batches:
        return pa.Table.from_batches([], _schema(pa.int64(), ids))
    batches = [batch for batch in batches if batch.num_rows] or batches[:1]
    if all(batch.schema == batches[0].schema for batch in batches):
        return pa.Table.from_batches(batches)
    tables = [pa.Table.from_batches([batch]) for batch in batches]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise TypeError(f"the values of {key!r} are of several types: {error}") from error


def _schema(key: Any, ids: RuleIds) -> Any:
    return pa.schema([("event", key), ("rule_id", pa.dictionary(pa.int32(), ids.values.type))])


def best(
    pairs: list[Pairs], priority: NDArray[np.float64], limit: int
) -> tuple[Int32Array, Int32Array]:
    """Of each event the `limit` matches of highest priority."""
    events = np.concatenate([np.empty(0, np.int32), *(numbers for numbers, _ in pairs)])
    rules = np.concatenate([np.empty(0, np.int32), *(indices for _, indices in pairs)])
    order = np.lexsort((-priority[rules], events))
    events, rules = events[order], rules[order]
    first = np.searchsorted(events, events)  # where the event of each pair begins
    kept = np.arange(len(events)) - first < limit
    return events[kept], rules[kept]
