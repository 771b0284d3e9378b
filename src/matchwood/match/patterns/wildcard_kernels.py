"""Patterns as arrays of code points: wildcards parsed, characters folded, pieces separated."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import Int32Array, UInt8Array
from matchwood.kernels.compiled import compiled

Bounds = NDArray[np.int64]

# How the text of a test is read.
LIKE, CONTAINS, ENDSWITH = 0, 1, 2

# The wildcards `_` and `%` in parsed patterns.
ANY, SPLIT = -1, -2

# Code points of characters that have a meaning in patterns.
PERCENT, UNDERSCORE, BACKSLASH = 37, 95, 92


@compiled
def parse_patterns(
    texts: Int32Array,
    bounds: Bounds,
    reading: UInt8Array,
    folded: NDArray[np.bool_],
    fold: Int32Array,
) -> tuple[Int32Array, Bounds]:
    """Code points with ANY and SPLIT in place of wildcards, and the bounds of each pattern."""
    out = np.empty(texts.size + 2 * reading.size, np.int32)
    out_bounds = np.zeros(reading.size + 1, np.int64)
    n = 0
    for p in range(reading.size):
        if reading[p] != LIKE:
            out[n] = SPLIT
            n += 1
        i = bounds[p]
        while i < bounds[p + 1]:
            code = texts[i]
            if reading[p] == LIKE:
                if code == PERCENT:
                    code = SPLIT
                elif code == UNDERSCORE:
                    code = ANY
                elif code == BACKSLASH:
                    i += 1
                    code = texts[i]
            if folded[p] and code >= 0:
                code = fold[code]
            out[n] = code
            n += 1
            i += 1
        if reading[p] == CONTAINS:
            out[n] = SPLIT
            n += 1
        out_bounds[p + 1] = n
    return out[:n], out_bounds


@compiled
def split_pieces(
    parsed: Int32Array, bounds: Bounds
) -> tuple[Int32Array, Int32Array, Int32Array, UInt8Array, Int32Array, Int32Array]:
    """Codes without SPLIT, the bounds of pieces and borders; the arrays of `Patterns`."""
    patterns = bounds.size - 1
    pieces = patterns
    for i in range(parsed.size):
        pieces += parsed[i] == SPLIT
    codes = np.empty(parsed.size, np.int32)
    borders = np.zeros(parsed.size, np.int32)
    piece_at = np.zeros(pieces + 1, np.int32)
    plain = np.ones(pieces, np.uint8)
    first = np.zeros(patterns + 1, np.int32)
    shortest = np.zeros(patterns, np.int32)
    n = 0
    piece = 0
    for p in range(patterns):
        for i in range(bounds[p], bounds[p + 1]):
            code = parsed[i]
            if code == SPLIT:
                piece += 1
                piece_at[piece] = n
                continue
            if code == ANY:
                plain[piece] = 0
            codes[n] = code
            n += 1
            shortest[p] += 1
        piece += 1
        piece_at[piece] = n
        first[p + 1] = piece
    for j in range(pieces):
        start = piece_at[j]
        size = piece_at[j + 1] - start
        if not plain[j]:
            continue
        k = 0
        for i in range(1, size):
            while k > 0 and codes[start + i] != codes[start + k]:
                k = borders[start + k - 1]
            if codes[start + i] == codes[start + k]:
                k += 1
            borders[start + i] = k
    return codes[:n], borders[:n], piece_at, plain, first, shortest
