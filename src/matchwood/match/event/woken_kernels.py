"""Which records some literals wake; `woken` says what for."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled
from matchwood.kernels.pushes import list_bounds
from matchwood.kernels.records import record_end


@compiled
def woken_records(literals, literal_push, pushes, records):
    """The records in the ranges of the push lists of some literals."""
    total = 0
    places = np.empty(0, np.int32)
    for writing in range(2):
        if writing:
            places = np.empty(total, np.int32)
            total = 0
        for literal in literals:
            at = literal_push[literal]
            begin, ranges_end, _, _ = list_bounds(pushes, at)
            for r in range(begin, ranges_end, 2):
                if not writing:
                    total += pushes[r + 1]
                    continue
                record = np.int64(pushes[r])
                for _ in range(pushes[r + 1]):
                    places[total] = record
                    total += 1
                    header = records[record]
                    record = record_end(record, header)
    return places
