"""What one thread writes while it scans and matches JSON texts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_view import ArrayView
from matchwood.kernels.compiled import config
from matchwood.match.event.event_kernels import Groups, RuleOutput
from matchwood.match.event.event_matcher import ALL, SegmentMatcher
from matchwood.match.event.strategy import PreparedStrategy
from matchwood.match.event.thread_scratch import ThreadScratch
from matchwood.match.json.json_arrays import (
    ENTRY_COLUMNS,
    JSON_LAYOUTS,
    KEEP_PLACE,
    NOTED,
    HitCache,
    JsonIndex,
    JsonScratch,
    Reported,
)
from matchwood.match.json.json_event_kernels import CodeRows
from matchwood.match.json.json_scan_kernels import MOST_LEVELS
from matchwood.match.json.json_token_kernels import SKIPPED_LEVELS
from matchwood.match.json.json_writing_kernels import MOST_ELEMENTS

# Bytes of the longest string with escapes, of an attribute that rules ask for.
_BUFFER = 1 << 16

# Strings whose hits are remembered, their bytes, and their hits.
_CACHED_STRINGS = 1 << 16
_CACHED_BYTES = 1 << 23
_CACHED_HITS = 1 << 20

# Strings that the cache lacks, and their bytes, which are looked up together.
_MISSED_STRINGS = 1 << 13
_MISSED_BYTES = 1 << 20

# Room for the keys of an event, a power of two, where rules ask for all of its values.
_KEYS = 1 << 12

# Codes, elements of lists, and hits of all texts that are scanned together, about.
_ROW_CODES = 1 << 17


def hit_cache(opaque: int, patterned: bool) -> HitCache:
    """An empty cache for so many tests; without patterns, one that nothing is looked up in."""
    entries = _CACHED_STRINGS if patterned else 1
    return HitCache(
        np.full(2 * entries, -1, np.int32),
        np.empty((entries, ENTRY_COLUMNS), np.int32),
        np.empty(_CACHED_BYTES if patterned else 1, np.uint8),
        np.empty(max(_CACHED_HITS, opaque + 1) if patterned else 1, np.int32),
        np.zeros(3, np.int64),
    )


def json_scratch(index: JsonIndex, opaque: int, patterned: bool) -> JsonScratch:
    """Scratch for events of an index; `opaque` is the number of patterns and other tests."""
    attributes, nodes = len(index.attributes), len(index.node_attribute)
    missed = _MISSED_STRINGS if patterned else 1
    noted = _noted_count(index)
    keys = _KEYS if index.everything[0] >= 0 else 1
    return JsonScratch(
        counts=np.zeros(7, np.int64),
        slots=np.empty(2 * attributes + 1, np.int32),
        codes=np.empty(2 * attributes + 1, np.int32),
        list_start=np.zeros(attributes + 2, np.int32),
        list_codes=np.empty(MOST_ELEMENTS, np.int32),
        hits=np.empty(opaque + 1, np.int32),
        element_list=np.empty(MOST_ELEMENTS, np.int32),
        element_code=np.empty(MOST_ELEMENTS, np.int32),
        list_slot=np.empty(attributes + 1, np.int32),
        list_size=np.empty(attributes + 1, np.int32),
        list_number=np.empty(attributes + 1, np.int32),
        list_stamp=np.zeros(attributes + 1, np.int64),
        spelled_as=np.zeros(attributes + 1, np.int32),
        spelled_stamp=np.zeros(attributes + 1, np.int64),
        noted_start=np.zeros(noted, np.int32),
        noted_end=np.zeros(noted, np.int32),
        node_stamp=np.zeros(nodes, np.int64),
        hit_stamp=np.zeros(opaque + 1, np.int64),
        stack_node=np.zeros(MOST_LEVELS + 1, np.int32),
        stack_object=np.zeros(MOST_LEVELS + 1, np.int64),
        owner_stack=np.zeros(MOST_LEVELS + SKIPPED_LEVELS + 1, np.int64),
        key_hash=np.zeros(keys, np.int64),
        key_stamp=np.zeros(keys, np.int64),
        buffer=np.empty(_BUFFER, np.uint8),
        missed_key=np.empty(missed + 2 * attributes + 1, np.int32),
        missed_at=np.zeros(missed + 2 * attributes + 2, np.int32),
        missed_bytes=np.empty(_MISSED_BYTES if patterned else 1, np.uint8),
    )


def _noted_count(index: JsonIndex) -> int:
    """How many attributes have values that are noted."""
    return int(np.count_nonzero(index.attributes[:, NOTED] >= 0))


def code_rows(index: JsonIndex, opaque: int, texts: int) -> CodeRows:
    """Room for so many texts, or for as many as fit; one always fits."""
    attributes = len(index.attributes)
    codes = max(_ROW_CODES, 2 * attributes + 1)
    return CodeRows(
        sizes=np.zeros(5, np.int64),
        start=np.zeros(texts + 1, np.int32),
        slots=np.empty(codes, np.int32),
        codes=np.empty(codes, np.int32),
        list_start=np.zeros(codes + attributes + 2, np.int32),
        list_codes=np.empty(_ROW_CODES + MOST_ELEMENTS, np.int32),
        hit_start=np.zeros(texts + 1, np.int32),
        hits=np.empty(max(_ROW_CODES, opaque + 1), np.int32),
        event=np.empty(texts, np.int32),
        noted=np.empty((texts, 2 * _noted_count(index)), np.int32),
    )


class JsonThreadScratch:
    """Scratch for one thread, and the strategy and the rules that its view is made for."""

    def __init__(self, matcher: SegmentMatcher, index: JsonIndex) -> None:
        segment = matcher.segment
        self.matching: ThreadScratch = matcher.new_scratch()
        self.rules = self.matching.rules
        self.index = index
        self.opaque = len(segment.opaque)
        coders = matcher.coders.values()
        codes_texts = any(coder.lowered is not None or coder.time_slot >= 0 for coder in coders)
        patterned = codes_texts or bool(matcher.patterned)
        self.scan = json_scratch(index, self.opaque, patterned)
        self.cache = hit_cache(self.opaque, patterned)
        self._groups = Groups(segment.tree.group_start, segment.tree.always)
        self._epoch = np.zeros(1, np.uint8)
        self.keep: NDArray[np.uint8] = ALL
        self.strategy: PreparedStrategy | None = None
        self._view: ArrayView | None = None
        self.places: Any = None

    def use_strategy(self, strategy: PreparedStrategy) -> None:
        """Let kernels match by what a strategy, which pushes, has prepared."""
        arrays = strategy.push_arrays
        assert arrays is not None, "the strategy does not push"
        index, cells = arrays
        output = RuleOutput(self.rules, np.empty(cells.room, np.int32))
        self._view = ArrayView(
            JSON_LAYOUTS,
            index,
            self._groups,
            cells,
            self.matching.arrays,
            output,
            self.index,
            self.cache,
            self.scan,
            Reported(self.keep, self._epoch),
        )
        self.places = self._view.places
        self.strategy = strategy

    def report(self, keep: NDArray[np.uint8]) -> None:
        """Let kernels report these rules."""
        assert self._view is not None
        self.keep = keep
        if config.DISABLE_JIT:
            self._view.tuples = (*self._view.tuples[:-1], Reported(keep, self._epoch))
        else:
            self.places[KEEP_PLACE] = keep.__array_interface__["data"][0]
            self.places[KEEP_PLACE + 1] = len(keep)
