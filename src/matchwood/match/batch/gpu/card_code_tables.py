"""What a card needs to turn numbers and times into codes of a segment, as arrays of the host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import Int32Array
from matchwood.match.batch.codes.card_columns import MomentTable, moment_table
from matchwood.match.batch.codes.number_columns import table_of_numbers
from matchwood.match.event.encode import Coder

# Constants, the code of each, and the codes between them: of one slot.
_Table = tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | MomentTable


class CodeTables(NamedTuple):
    """The constants of all slots, one after the other."""

    facts: Int32Array  # three numbers for each slot: see `card_code_kernels`
    constants: NDArray[Any]
    equal: Int32Array
    gap: Int32Array


class SegmentTables(NamedTuple):
    """Those of a segment."""

    numbers: CodeTables
    moments: CodeTables


def segment_tables(coders: Mapping[Any, Coder], slots: int) -> SegmentTables:
    """The tables of the attributes of a segment with so many slots."""
    known = list(coders.values())
    numbers: dict[int, _Table] = {
        each.slot: table_of_numbers(each) for each in known if each.slot >= 0
    }
    moments: dict[int, _Table] = {
        each.time_slot: moment_table(each) for each in known if each.time_slot >= 0
    }
    return SegmentTables(_joined(numbers, slots, np.float64), _joined(moments, slots, np.int64))


def _joined(tables: Mapping[int, _Table], slots: int, kind: type[np.generic]) -> CodeTables:
    facts: Int32Array = np.zeros((max(1, slots), 3), np.int32)
    begin = gaps = 0
    for slot, (constants, _, gap) in tables.items():
        facts[slot] = begin, begin + len(constants), gaps
        begin += len(constants)
        gaps += len(gap)

    def all_of(column: int, of: type[np.generic]) -> NDArray[Any]:
        arrays: Iterable[NDArray[Any]] = (table[column] for table in tables.values())
        return np.concatenate([np.empty(0, of), *arrays]).astype(of)

    return CodeTables(facts.reshape(-1), all_of(0, kind), all_of(1, np.int32), all_of(2, np.int32))
