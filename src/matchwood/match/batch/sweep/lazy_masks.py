"""The masks of lazy atoms in a sweep: one of where an atom is true, one of where it is false.

A sweep has one mask per opaque atom, and derives a negated literal from it: true wherever there is
a value of the family and the atom is not true. A lazy atom has no family, and may be undefined of
values that are there. So where it is false is the mask of an opaque atom of its own, which takes
the place of the negated literal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.segment import Segment, read_only
from matchwood.kernels.array_types import Int64Array, UInt8Array, UInt64Array
from matchwood.kernels.masks import WORDS
from matchwood.kernels.programs import atom_of, is_negated, pack_literal
from matchwood.kernels.records import LAZY, ROW_OPAQUE, ROW_START, opaque_number, pack_opaque
from matchwood.match.batch.codes.lazy_columns import LazyColumns
from matchwood.match.batch.sweep.program_kernels import ALWAYS_KEY, key_of_literal, literal_of_key
from matchwood.match.event.literal_kernels import FALSE_SEEN, TRUE_SEEN


class LazyMasks:
    """The rows of atoms that a sweep of a segment reads, with those that are added for negation."""

    def __init__(self, segment: Segment) -> None:
        rows, count = segment.packed.rows, segment.packed.atoms
        number = opaque_number(rows[:-1, ROW_OPAQUE])
        atoms = np.flatnonzero(np.isin(number, segment.lazy))
        numbers = len(segment.opaque) + np.arange(len(atoms))
        added = rows[atoms].copy()
        added[:, ROW_START] = rows[-1, ROW_START]  # they have no intervals
        added[:, ROW_OPAQUE] = pack_opaque(numbers, LAZY)
        joined = [rows[:-1], added, rows[-1:]]
        self.atom_row = read_only(np.concatenate(joined)) if len(atoms) else rows
        self.count = len(segment.opaque) + len(atoms)  # masks of opaque atoms
        self._false_atom = np.full(max(1, count), -1, np.int64)
        self._false_atom[atoms] = count + np.arange(len(atoms))
        self._places = list(zip(number[atoms].tolist(), numbers.tolist(), strict=True))

    def keys(self, keys: Int64Array) -> Int64Array:
        """Keys of literals (`program_kernels`), with those that negate a lazy atom replaced."""
        replaced = keys.copy()
        of_literals = np.flatnonzero(keys < ALWAYS_KEY)
        literals = literal_of_key(keys[of_literals])
        false_atom = self._false_atom[atom_of(literals)]
        negates = (is_negated(literals) != 0) & (false_atom >= 0)
        replaced[of_literals[negates]] = key_of_literal(pack_literal(false_atom[negates], 0))
        return replaced

    def write(self, columns: LazyColumns, masks: UInt64Array) -> None:
        """Write the masks of all lazy atoms for the events of a batch."""
        for true_at, false_at in self._places:
            states = columns.states(true_at)
            masks[WORDS * true_at : WORDS * (true_at + 1)] = _mask(states == TRUE_SEEN)
            masks[WORDS * false_at : WORDS * (false_at + 1)] = _mask(states == FALSE_SEEN)


def _mask(events: NDArray[np.bool_]) -> UInt64Array:
    """Some of the events of a batch as the words of a mask."""
    words: UInt8Array = np.zeros(8 * WORDS, np.uint8)
    bits = np.packbits(events, bitorder="little")
    words[: len(bits)] = bits
    return words.view("<u8").astype(np.uint64, copy=False)
