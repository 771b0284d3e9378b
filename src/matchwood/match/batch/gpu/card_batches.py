"""A batch of events in the form that is copied to a card, before anything of CUDA is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import Int32Array, Int64Array, UInt64Array
from matchwood.kernels.masks import WORDS
from matchwood.match.batch.codes.batch_codes import BatchCodes
from matchwood.match.batch.codes.card_columns import CardColumns
from matchwood.match.batch.codes.hit_kernels import set_bits
from matchwood.match.batch.gpu.card_layout import (
    BATCH_HEADER,
    LISTS_AT,
    ROW_ALIGNMENT,
    ROW_SIZE,
    TRUE_AT,
)
from matchwood.match.batch.sweep.lazy_masks import LazyMasks


class GivenColumns(NamedTuple):
    """What a kernel turns into codes, in the order of the rows that these have in the batch."""

    looked_up: int  # columns whose distinct values are encoded
    tables_at: int  # where it says where the table of each begins
    rows_at: int  # where the places of their rows in these begin
    numbers: int  # columns of numbers, which are written to pinned memory
    write_doubles: Callable[[NDArray[np.float64]], bool]
    write_codes: Callable[[Int32Array], None]
    moments: list[Int64Array]
    slots_at: int  # where the slots of numbers and moments begin
    out_at: int  # where codes go


class GivenBatch(NamedTuple):
    """What a batch has on a card (see `card_layout`), up to the rows, which a kernel writes."""

    parts: list[NDArray[Any]]  # numbers of 32 bits, one array after the other
    given_at: int  # where the codes begin, as they come
    rows_at: int  # where the rows begin
    rows: int
    events: int
    columns: GivenColumns | None = None  # what is turned into the last codes on the card


def given_batch(
    codes: BatchCodes, slots: int, lazy: LazyMasks, with_columns: bool = False
) -> GivenBatch:
    """What some codes have on a card, for a segment with so many slots.

    With columns, a card turns those into codes that it can.
    """
    lists_at = BATCH_HEADER + slots + 1
    list_codes_at = lists_at + len(codes.list_start)
    true_at = list_codes_at + len(codes.list_codes)
    masks = _opaque_masks(codes, lazy).view(np.int32)
    columns_at = true_at + len(masks)
    columns, of_columns = None, [np.empty(0, np.int32)]
    if with_columns and codes.columns is not None:
        columns, of_columns = _given_columns(codes, codes.columns, columns_at)
        copied = codes.columns.other_codes()
    else:
        copied = codes.codes.reshape(-1)
    given_at = columns_at + sum(map(len, of_columns))
    if columns is not None:
        columns = columns._replace(out_at=given_at + len(copied))
    size = len(codes.slots) * codes.events
    rows_at = -(-(given_at + size) // ROW_ALIGNMENT) * ROW_ALIGNMENT
    row_of_slot = np.full(slots + 1, rows_at, np.int32)
    row_of_slot[codes.slots] = rows_at + ROW_SIZE * np.arange(1, len(codes.slots) + 1)
    header = np.empty(BATCH_HEADER, np.int32)
    header[LISTS_AT], header[TRUE_AT] = lists_at, true_at
    lists = list_codes_at + codes.list_start
    parts = [header, row_of_slot, lists, codes.list_codes, masks, *of_columns, copied]
    return GivenBatch(parts, given_at, rows_at, len(codes.slots), codes.events, columns)


def _given_columns(
    codes: BatchCodes, columns: CardColumns, at: int
) -> tuple[GivenColumns, list[NDArray[Any]]]:
    """What a card is given of columns from a place on, and what is there."""
    looked_up = columns.looked_up
    searched = columns.numbers + len(columns.moments)
    slots = codes.slots[len(codes.slots) - searched :]
    sizes = np.array([len(each.table) for each in looked_up], np.int64)
    first_table = at + searched + len(looked_up)
    starts = (first_table + np.cumsum(sizes) - sizes).astype(np.int32)
    tables = [each.table for each in looked_up]
    rows = [each.rows for each in looked_up]
    given = GivenColumns(
        len(looked_up), at + searched, first_table + int(sizes.sum()),
        columns.numbers, columns.write_doubles, columns.write_codes, columns.moments, at, 0,
    )  # fmt: skip
    return given, [slots, starts, *tables, *rows]


def _opaque_masks(codes: BatchCodes, lazy: LazyMasks) -> UInt64Array:
    """Where opaque atoms are true, which the host decides."""
    masks = np.zeros(WORDS * lazy.count, np.uint64)
    for events, bounds, atoms in codes.hits:
        set_bits(masks, events, bounds, atoms)
    if codes.lazy is not None:
        lazy.write(codes.lazy, masks)
    return masks
