"""Columns of a batch turned into codes on a card: what is copied there, and the launches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.match.batch.gpu.card_batches import GivenColumns
from matchwood.match.batch.gpu.card_buffers import CardArray, PinnedArray
from matchwood.match.batch.gpu.card_code_kernels import (
    code_doubles,
    code_moments,
    look_up_codes,
)
from matchwood.match.batch.gpu.card_code_tables import SegmentTables
from matchwood.match.batch.gpu.card_copies import launch, on_card


class CodeTablesCopy:
    """The tables of a segment on the card."""

    def __init__(self, tables: SegmentTables) -> None:
        self.numbers = tuple(on_card(array) for array in tables.numbers)
        self.moments = tuple(on_card(array) for array in tables.moments)


class CardCoding:
    """What one stream copies to the card for it; one thread uses it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._doubles, self._moments = CardArray(np.float64), CardArray(np.int64)
        self._given_doubles, self._given_moments = PinnedArray(np.float64), PinnedArray(np.int64)
        self._given_codes = PinnedArray(np.int32)

    def write(self, batch: Any, given: GivenColumns, events: int, tables: CodeTablesCopy) -> None:
        """Write the codes of some columns to a batch that is on the card."""
        out_at, slots_at = given.out_at, given.slots_at
        if given.looked_up:
            look_up_codes[launch(given.looked_up * events, self._stream)](
                given.looked_up, events, batch, given.tables_at, given.rows_at, out_at
            )
            out_at += given.looked_up * events
        if given.numbers:
            self._write_numbers(batch, given, events, tables, out_at)
            slots_at += given.numbers
            out_at += given.numbers * events
        if given.moments:
            joined = self._given_moments.joined(given.moments)
            values = self._copied(joined, self._moments)
            code_moments[launch(len(joined), self._stream)](
                values, len(given.moments), events, batch, slots_at, out_at, *tables.moments
            )

    def _write_numbers(
        self, batch: Any, given: GivenColumns, events: int, tables: CodeTablesCopy, out_at: int
    ) -> None:
        size = given.numbers * events
        doubles = self._given_doubles.with_room(size)
        if given.write_doubles(doubles.reshape(given.numbers, events)):
            values = self._copied(doubles, self._doubles)
            code_doubles[launch(size, self._stream)](
                values, given.numbers, events, batch, given.slots_at, out_at, *tables.numbers
            )
        else:
            codes = self._given_codes.with_room(size)
            given.write_codes(codes.reshape(given.numbers, events))
            batch[out_at : out_at + size].copy_to_device(codes, stream=self._stream)

    def _copied(self, given: NDArray[Any], room: CardArray) -> Any:
        """Some numbers on the card."""
        values = room.with_room(len(given))
        values[: len(given)].copy_to_device(given, stream=self._stream)
        return values
