"""The intervals of codes where literals are true."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled
from matchwood.kernels.programs import atom_of, is_negated


@compiled
def true_intervals(literal, family_low, family_high, iv_start, iv_low, iv_high):
    """The intervals of codes where each literal is true of a single value."""
    total = 0
    for ref in literal:
        total += iv_start[atom_of(ref) + 1] - iv_start[atom_of(ref)] + 1
    owner = np.empty(total, np.int32)
    low = np.empty(total, np.int32)
    high = np.empty(total, np.int32)
    at = 0
    for ref in literal:
        atom = atom_of(ref)
        if not is_negated(ref):
            for i in range(iv_start[atom], iv_start[atom + 1]):
                owner[at], low[at], high[at] = ref, iv_low[i], iv_high[i]
                at += 1
            continue
        begin = family_low[atom]
        for i in range(iv_start[atom], iv_start[atom + 1]):
            if iv_low[i] > begin:
                owner[at], low[at], high[at] = ref, begin, iv_low[i] - 1
                at += 1
            begin = iv_high[i] + 1
        if begin <= family_high[atom]:
            owner[at], low[at], high[at] = ref, begin, family_high[atom]
            at += 1
    return owner[:at].copy(), low[:at].copy(), high[:at].copy()
