"""Rules on an executor: segments that are mapped once per process, and what they find."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.spark.kernel_shipping import use_shipped
from matchwood.spark.match.plan import Plan, Slice, SlicePairs

if TYPE_CHECKING:
    from matchwood.match.store.snapshot import Snapshot

# Consecutive slices of events are joined until they have this many matches.
JOINED_MATCHES = 1 << 16
# Rule sets that a process keeps open: while versions change, the old one and the new one.
MOST_OPEN = 2


class Opened(NamedTuple):
    """Segments ready to be asked, and the ids and priorities of their rules by index."""

    snapshot: Snapshot
    ids: Any
    priority: NDArray[np.float64] | None


_opened: dict[tuple[str, ...], Opened] = {}
_lock = threading.Lock()


def opened(plan: Plan) -> Opened:
    """The rules of a plan, mapped once per process; the least recently used ones are closed."""
    with _lock:
        aliases = plan.reading.aliases
        spelled = "" if aliases is None else json.dumps(aliases.form())
        key = (*plan.names, plan.operators or "", spelled)
        rules = _opened.pop(key, None)
        if rules is None:
            for oldest in list(_opened)[: len(_opened) - MOST_OPEN + 1]:
                del _opened[oldest]
            rules = open_segments(plan.names, plan)
        _opened[key] = rules
        return rules


def open_segments(names: Iterable[str], plan: Plan) -> Opened:
    """Map shipped files; the driver has compared their hashes, so they are trusted."""
    from pyspark import SparkFiles

    from matchwood.match.store.snapshot import Snapshot
    from matchwood.operators.deciding import Decider
    from matchwood.operators.geo import available

    use_shipped(plan.kernels)
    decider = Decider(available(plan.operators), plan.schema, None, plan.reading.aliases)
    snapshot = Snapshot.load([SparkFiles.get(name) for name in names], decider, verify=False)
    ids = snapshot.ids().values.cast(pa.string() if plan.id_type == "string" else pa.int64())
    return Opened(snapshot, ids, snapshot.priorities())


def slices_of_matches(plan: Plan, rules: Opened, events: Any) -> Iterator[Slice]:
    """The matches of a table of events, slice by slice."""
    low = 0
    for count, pairs in rules.snapshot.pairs(events, plan.tags, plan.limit):
        if count:
            yield low, count, pairs
        low += count


def joined(slices: Iterator[Slice]) -> Iterator[Slice]:
    """Join slices until they have enough matches for a batch: each batch has a fixed cost."""
    waiting: list[SlicePairs] = []
    rows = begin = end = 0
    for low, events, pairs in slices:
        begin = begin if waiting else low
        end = low + events
        shifted = (
            (numbers + np.int32(low - begin), rule_indexes) for numbers, rule_indexes in pairs
        )
        waiting.append((np.empty(0, np.int32),) * 2)  # a slice without matches is held as well
        for matches in shifted:
            waiting.append(matches)
            rows += len(matches[0])
            if rows >= JOINED_MATCHES:
                break
        if rows >= JOINED_MATCHES:
            yield begin, end - begin, chain([_concatenated(waiting)], shifted)
            waiting, rows = [], 0
    if waiting:
        yield begin, end - begin, iter([_concatenated(waiting)])


def _concatenated(pairs: list[SlicePairs]) -> SlicePairs:
    numbers, rule_indexes = zip(*pairs, strict=True)
    return np.concatenate(numbers), np.concatenate(rule_indexes)
