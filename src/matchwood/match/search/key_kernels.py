"""The keys of matched events."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.bits import read
from matchwood.kernels.compiled import lean


@lean
def gather_keys(keys, numbers, out):
    """Write the key of each event to `out`, given the numbers of the events."""
    for i in range(len(numbers)):
        out[i] = read(keys, np.int64(read(numbers, i)))
