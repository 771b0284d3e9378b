"""Scan: every rule in turn, each tree on its own, until its truth is settled.

This is the obvious matcher, compiled like the fast one. Benchmarks measure against it, and tests
compare answers with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.atom_codes import AtomArrays
from matchwood.index.build.shared_nodes import SharedNodes
from matchwood.lab.bench.scan_kernels import MAX_SLOTS, lay_out_rules


class ScanWords(NamedTuple):
    """Rules as prefix words, which `scan_kernels` describes, and the intervals of their atoms."""

    words: NDArray[np.int64]
    start: NDArray[np.int64]
    atom: NDArray[np.int32]  # slot, first and last code of the family, bounds of the intervals
    low: NDArray[np.int32]
    high: NDArray[np.int32]


def lay_out(shared: SharedNodes, atoms: AtomArrays) -> ScanWords:
    """The words of all rules; only rules without opaque predicates can be scanned."""
    if (atoms.opaque >= 0).any() or (len(atoms.slot) and atoms.slot.max() >= MAX_SLOTS):
        raise ValueError(f"Scan knows interval predicates only, over at most {MAX_SLOTS:,} slots")
    atom = np.stack(
        [atoms.slot, atoms.family_low, atoms.family_high, atoms.start[:-1], atoms.start[1:]], 1
    ).astype(np.int32)
    args = (shared.operator, shared.start, shared.operands, shared.first, shared.roots)
    room = lay_out_rules(
        *args, atom, atoms.low, atoms.high, np.empty(0, np.int64), np.empty(0, np.int64)
    )
    words = np.empty(room, np.int64)
    start = np.zeros(len(shared.roots) + 1, np.int64)
    lay_out_rules(*args, atom, atoms.low, atoms.high, words, start)
    return ScanWords(words, start, np.ascontiguousarray(atom), atoms.low, atoms.high)
