"""Rules as they are written, for algorithms that support `not`, `xor` and `xnor` themselves.

An `and` within an `and`, and an `or` within an `or`, are flattened; constants and double negations
are removed. Words are those of `forms`, in prefix order. An `xnor` is the negation of the `xor`
of the same operands, however many there are.
"""

from __future__ import annotations

import numpy as np

from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.lab.papers.shared import plain_kernels as kernels
from matchwood.lab.papers.shared.forms import Forms


def plain(program: Int32Array, start: Int64Array) -> Forms:
    """Rule i is words[start[i]:start[i + 1]], from postfix programs."""
    longest = int(np.diff(start).max(initial=0))
    words = np.empty(len(program) + longest + 1, np.int32)
    ends = np.zeros(len(start), np.int64)
    kernels.simplify_all(program, start, words, ends, np.empty((2, longest + 1), np.int64))
    return Forms(words[: ends[-1]].copy(), ends)
