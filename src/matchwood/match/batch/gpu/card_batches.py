"""A batch of events in the form that is copied to a card, before anything of CUDA is needed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import UInt64Array
from matchwood.kernels.masks import WORDS
from matchwood.match.batch.codes.batch_codes import BatchCodes
from matchwood.match.batch.codes.hit_kernels import set_bits
from matchwood.match.batch.gpu.card_layout import (
    BATCH_HEADER,
    LISTS_AT,
    ROW_ALIGNMENT,
    ROW_SIZE,
    TRUE_AT,
)
from matchwood.match.batch.sweep.lazy_masks import LazyMasks


class GivenBatch(NamedTuple):
    """What a batch has on a card (see `card_layout`), up to the rows, which a kernel writes."""

    parts: list[NDArray[Any]]  # numbers of 32 bits, one array after the other
    given_at: int  # where the codes begin, as they come
    rows_at: int  # where the rows begin
    rows: int
    events: int


def given_batch(codes: BatchCodes, slots: int, lazy: LazyMasks) -> GivenBatch:
    """What some codes have on a card, for a segment with so many slots."""
    lists_at = BATCH_HEADER + slots + 1
    list_codes_at = lists_at + len(codes.list_start)
    true_at = list_codes_at + len(codes.list_codes)
    masks = _opaque_masks(codes, lazy).view(np.int32)
    given_at = true_at + len(masks)
    rows_at = -(-(given_at + codes.codes.size) // ROW_ALIGNMENT) * ROW_ALIGNMENT
    row_of_slot = np.full(slots + 1, rows_at, np.int32)
    row_of_slot[codes.slots] = rows_at + ROW_SIZE * np.arange(1, len(codes.slots) + 1)
    header = np.empty(BATCH_HEADER, np.int32)
    header[LISTS_AT], header[TRUE_AT] = lists_at, true_at
    lists = list_codes_at + codes.list_start
    parts = [header, row_of_slot, lists, codes.list_codes, masks, codes.codes.reshape(-1)]
    return GivenBatch(parts, given_at, rows_at, len(codes.slots), codes.events)


def _opaque_masks(codes: BatchCodes, lazy: LazyMasks) -> UInt64Array:
    """Where opaque atoms are true, which the host decides."""
    masks = np.zeros(WORDS * lazy.count, np.uint64)
    for events, bounds, atoms in codes.hits:
        set_bits(masks, events, bounds, atoms)
    if codes.lazy is not None:
        lazy.write(codes.lazy, masks)
    return masks
