"""The checksum of the arrays of a file."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np

from matchwood.kernels.compiled import compiled, inlined

_ODD = np.uint64(0x9E3779B185EBCA87)


_FOLD = np.uint64(35)


@inlined
def _mix(lane, word):
    """A bijection of the lane for every word, and of the word for every lane: changing one word, or
    the order of words, changes the result, except in one case out of 2**64."""
    return (lane ^ (lane >> _FOLD) ^ word) * _ODD


@compiled
def checksum_words(words, tail):
    """Eight independent lanes, which the processor works on in parallel, mixed at the end."""
    a, b, c, d = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    e, f, g, h = np.uint64(5), np.uint64(6), np.uint64(7), np.uint64(8)
    i = np.uint64(0)  # unsigned: no index is taken from the end
    for _ in range(len(words) // 8):
        a = _mix(a, words[i])
        b = _mix(b, words[i + np.uint64(1)])
        c = _mix(c, words[i + np.uint64(2)])
        d = _mix(d, words[i + np.uint64(3)])
        e = _mix(e, words[i + np.uint64(4)])
        f = _mix(f, words[i + np.uint64(5)])
        g = _mix(g, words[i + np.uint64(6)])
        h = _mix(h, words[i + np.uint64(7)])
        i += np.uint64(8)
    result = np.uint64(8 * len(words) + len(tail))
    for lane in (a, b, c, d, e, f, g, h):
        result = _mix(result, lane)
    for k in range(len(words) // 8 * 8, len(words)):
        result = _mix(result, words[k])
    for byte in tail:
        result = _mix(result, np.uint64(byte))
    return _mix(_mix(result, _ODD), _ODD)
