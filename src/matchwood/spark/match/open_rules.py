"""Rules on an executor: segments that are mapped once per process, and what they find."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from matchwood.spark.compile.rule_buckets import buckets_of, is_in
from matchwood.spark.kernel_shipping import use_shipped
from matchwood.spark.match.given_lists import open_lists
from matchwood.spark.match.plan import Plan, Slice, SlicePairs
from matchwood.spark.match.task_device import task_device

if TYPE_CHECKING:
    from matchwood.match.parts.part import Part
    from matchwood.match.store.snapshot import Snapshot
    from matchwood.operators.deciding import Decider

# Consecutive slices of events are joined until they have this many matches.
JOINED_MATCHES = 1 << 16
# Rule sets that a process keeps open: while versions change, the old one and the new one.
MOST_OPEN = 2
# The name of the id of a rule, among columns about it.
RULE_ID = "rule_id"


class OpenSegment:
    """The rules of a file that is mapped, and the bucket of each, once somebody asks."""

    def __init__(self, name: str, decider: Decider) -> None:
        from pyspark import SparkFiles

        from matchwood.match.store.snapshot import Snapshot

        self.decider = decider
        self._parts = Snapshot.load([SparkFiles.get(name)], decider, verify=False).parts
        self._buckets: list[NDArray[np.uint16]] | None = None

    def parts(self, replaced: bytes | None) -> tuple[Part, ...]:
        """The rules without those in buckets that another segment has anew."""
        if replaced is None:
            return self._parts
        dead = is_in(replaced)
        return tuple(
            part.without(np.flatnonzero(dead[buckets]))
            for part, buckets in self.parts_and_buckets()
        )

    def parts_and_buckets(self) -> list[tuple[Part, NDArray[np.uint16]]]:
        """All rules, with the bucket of each."""
        if self._buckets is None:
            self._buckets = [buckets_of(part.details.ids.tolist()) for part in self._parts]
        return list(zip(self._parts, self._buckets, strict=True))


class Opened(NamedTuple):
    """Segments ready to be asked, and the ids and priorities of their rules by index."""

    snapshot: Snapshot
    ids: Any  # with columns about rules: structs of the id and these
    priority: NDArray[np.float64] | None
    segments: Mapping[str, OpenSegment]


_opened: dict[tuple[object, ...], Opened] = {}
_lock = threading.Lock()


def opened(plan: Plan) -> Opened:
    """The rules of a plan, mapped once per process; the least recently used ones are closed.

    What a new version of the rules has in common with one that is open is not opened again.
    """
    with _lock:
        aliases = plan.reading.aliases
        spelled = "" if aliases is None else json.dumps(aliases.form())
        asked = (plan.operators, spelled, plan.rule_columns, plan.lists)
        key = (plan.names, plan.replaced, *asked)
        rules = _opened.pop(key, None)
        if rules is None:
            same = [one for other, one in _opened.items() if other[2:] == asked]
            known = {name: segment for one in same for name, segment in one.segments.items()}
            for oldest in list(_opened)[: len(_opened) - MOST_OPEN + 1]:
                del _opened[oldest]
            rules = open_segments(plan.names, plan, known)
        _opened[key] = rules
        return rules


def open_segments(
    names: Iterable[str], plan: Plan, known: Mapping[str, OpenSegment] = MappingProxyType({})
) -> Opened:
    """Map shipped files that are not known yet; the driver has compared their hashes.

    The name of a file has the version of its rules, so the same name has the same schema.
    """
    from matchwood.match.store.snapshot import Snapshot
    from matchwood.operators.deciding import Decider
    from matchwood.operators.geo import available

    use_shipped(plan.kernels)
    common = next((known[name] for name in names if name in known), None)
    decider = (
        common.decider
        if common
        else Decider(
            available(plan.operators), plan.schema, open_lists(plan.lists), plan.reading.aliases
        )
    )
    segments = {name: known.get(name) or OpenSegment(name, decider) for name in names}
    replaced = dict(plan.replaced)
    parts = [part for name in names for part in segments[name].parts(replaced.get(name))]
    snapshot = Snapshot(tuple(part.numbered(n) for n, part in enumerate(parts, 1)), (), decider)
    ids = snapshot.ids().values.cast(pa.string() if plan.id_type == "string" else pa.int64())
    if plan.rule_columns:
        from matchwood.match.search.rule_facts import facts_of

        facts = facts_of(snapshot.parts, snapshot.pending, plan.rule_columns)
        ids = pa.StructArray.from_arrays([ids, *facts.values()], [RULE_ID, *facts])
    return Opened(snapshot, ids, snapshot.priorities(), segments)


def slices_of_matches(plan: Plan, rules: Opened, events: Any) -> Iterator[Slice]:
    """The matches of a table of events, slice by slice."""
    low = 0
    device = task_device(plan.device)
    for count, pairs in rules.snapshot.pairs(events, plan.tags, plan.limit, device):
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
