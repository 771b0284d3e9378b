"""Atoms as kernels read them: three numbers each, and one row per family of an attribute.

`kernels.records` names the columns. Atoms of one family of one attribute share what they have in
common, and the intervals of an atom end where those of the next one start.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.atom_codes import AtomArrays
from matchwood.kernels.array_types import Int32Array
from matchwood.kernels.records import (
    FAMILY_COLUMNS,
    INTERVAL,
    ROW_COLUMNS,
    ROW_FAMILY,
    ROW_OPAQUE,
    ROW_START,
    opaque_kind,
    opaque_number,
    pack_opaque,
)


class PackedAtoms(NamedTuple):
    """The arrays of atoms that a segment keeps."""

    rows: Int32Array  # one row per atom, and one more, where the intervals of the last one end
    families: Int32Array  # one row after the other
    low: Int32Array
    high: Int32Array

    @property
    def atoms(self) -> int:
        """How many atoms there are."""
        return len(self.rows) - 1


def pack_atoms(atoms: AtomArrays) -> PackedAtoms:
    """The arrays that kernels read."""
    columns = np.stack([atoms.slot, atoms.family_low, atoms.family_high], 1)
    families, family = np.unique(columns, axis=0, return_inverse=True)
    rows = np.zeros((len(atoms.slot) + 1, ROW_COLUMNS), np.int32)
    rows[:-1, ROW_FAMILY] = family.reshape(-1)
    rows[:, ROW_START] = atoms.start
    rows[:, ROW_OPAQUE] = -1
    opaque = atoms.opaque >= 0
    rows[:-1, ROW_OPAQUE][opaque] = pack_opaque(
        atoms.opaque[opaque], atoms.kind[opaque].astype(np.int32)
    )
    return PackedAtoms(rows, families.astype(np.int32).reshape(-1), atoms.low, atoms.high)


def unpack_atoms(packed: PackedAtoms) -> AtomArrays:
    """The same as one array per column."""
    rows = packed.rows
    opaque = rows[:-1, ROW_OPAQUE]
    slot, family_low, family_high = family_of_atoms(rows, packed.families).T
    kind = np.where(opaque < 0, INTERVAL, opaque_kind(opaque)).astype(np.uint8)
    return AtomArrays(
        np.ascontiguousarray(slot),
        np.ascontiguousarray(family_low),
        np.ascontiguousarray(family_high),
        np.ascontiguousarray(rows[:, ROW_START]),
        packed.low,
        packed.high,
        kind,
        opaque_number(opaque),
    )


def family_of_atoms(rows: Int32Array, families: Int32Array) -> NDArray[np.int32]:
    """The row of its family for each atom."""
    chosen: NDArray[np.int32] = families.reshape(-1, FAMILY_COLUMNS)[rows[:-1, ROW_FAMILY]]
    return chosen
