"""Many `like` patterns against many strings: rare grams find candidates, which are then verified.

Every pattern is filed under one *gram*: a run of 1, 2, 3, 4, 6 or 8 folded characters that each
matching string must contain, chosen to be rare among the patterns; a pattern without wildcards is
filed under a hash of its whole text. A string is read once: each of its grams is looked up in a
bitmap and then in a hash table, whose buckets list the patterns to verify. A pattern has one gram
and a bucket is opened once per string, so that nothing is tried twice. If two grams have the same
hash, they share a bucket, and verification tells the patterns apart. A member of a bucket carries
hashes of a few more pairs of its characters: most patterns that do not match lack one of them,
which one cache line shows.

Text is code points, so that `_` and case folding are exact. The terms of a hash stay below 2**62,
so that the kernels give the same results when they are not compiled.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import Int32Array, UInt8Array
from matchwood.kernels.compiled import compiled
from matchwood.kernels.filling import copy_items, fill_array

Bounds = NDArray[np.int64]

# What a candidate is verified against: the text, or the folded text.
EXACT, FOLDED = 0, 1

# In place of the length of a gram: the pattern has none, or its whole text is hashed.
NO_GRAM, WHOLE = -1, 0

# The bits of a hash.
MASK = 0x7FFFFFFF

# Pairs of characters that are tested before a candidate is verified.
CHECKS = 8

# The number of values that the hash of such a pair has.
PAIRS = 4096

# Characters from which on a piece without `_` is searched in linear time.
LONG_PIECE = 32

# Occurrences that a gram is assumed to have beside those counted, by its length: among few patterns
# everything is rare, and then the longest gram is best.
COMMON = (0, 4000, 400, 60, 16, 0, 4, 0, 0)


class Patterns(NamedTuple):
    """All patterns; piece j of pattern p is codes[piece_at[j]:piece_at[j + 1]], j from first[p]."""

    codes: Int32Array  # below zero is `_`
    borders: Int32Array  # of pieces without `_`, as Knuth, Morris and Pratt use them
    piece_at: Int32Array
    piece_plain: UInt8Array  # 1: no `_` in it
    first: Int32Array
    shortest: Int32Array  # length of the shortest string that it can be true of
    compared: UInt8Array  # EXACT or FOLDED


class Grams(NamedTuple):
    """From the hash of a gram to the patterns of its bucket."""

    used: UInt8Array  # by length of gram: whether there are any
    bitmap: UInt8Array  # one bit per hash; 2**k bits
    keys: Int32Array  # open addressing; -1 is free
    slots: Int32Array  # bucket of a key
    bucket_at: Int32Array
    members: Int32Array  # patterns, by bucket; the last bucket is of those that no gram finds
    checks: NDArray[np.int16]  # one row per member: pairs of characters it needs, -1 is none


class GramScratch(NamedTuple):
    """What one thread writes while it matches; counting `epoch` up forgets the last string."""

    stamps: Int32Array  # of each bucket: the string that it was last opened for
    opened: Int32Array  # buckets of a string
    pairs: Int32Array  # the string that each pair of characters was last in
    epoch: Bounds  # one number: strings so far


@compiled
def _mix(a: int, b: int) -> int:
    """A hash of 31 bits of two."""
    h = (int(a) & MASK) * 0x5BD1E995 + (int(b) & MASK) * 0x27D4EB2F
    h = (h ^ (h >> 31)) & MASK
    h = h * 0x2C1B3C6D
    return (h ^ (h >> 30)) & MASK


@compiled
def _pair(first: int, second: int) -> int:
    mixed: int = _mix(first + 0x200000, second)
    return mixed


@compiled
def _gram_hashes(
    text: Int32Array,
    n: int,
    k2: Int32Array,
    k3: Int32Array,
    k4: Int32Array,
    k6: Int32Array,
    k8: Int32Array,
) -> None:
    """The hash of the gram of each length that starts at each place."""
    for i in range(n - 1):
        k2[i] = _pair(text[i], text[i + 1])
    for i in range(n - 2):
        k3[i] = _mix(k2[i], text[i + 2])
    for i in range(n - 3):
        k4[i] = _mix(k2[i], k2[i + 2])
    for i in range(n - 5):
        k6[i] = _mix(k4[i], k2[i + 4])
    for i in range(n - 7):
        k8[i] = _mix(k4[i], k4[i + 4])


@compiled
def _one(code: int) -> int:
    mixed: int = _mix(code + 0x400000, 1)
    return mixed


@compiled
def _whole(text: Int32Array, start: int, n: int) -> int:
    h = n + 0x600000
    for i in range(start, start + n):
        h = _mix(h, text[i])
    return h


# Building


@compiled
def _runs(parsed: Int32Array, start: int, end: int, run: Int32Array) -> None:
    """The length of the run without wildcards that starts at each place."""
    length = 0
    for i in range(end - 1, start - 1, -1):
        length = length + 1 if parsed[i] >= 0 else 0
        run[i - start] = length


@compiled
def choose_grams(
    parsed: Int32Array, bounds: Bounds, fold: Int32Array
) -> tuple[Int32Array, NDArray[np.int8]]:
    """The hash and the length of the gram of each pattern: the rarest among all their grams."""
    patterns = bounds.size - 1
    longest = 1
    for p in range(patterns):
        longest = max(longest, bounds[p + 1] - bounds[p])
    text = np.empty(longest, np.int32)
    run = np.empty(longest, np.int32)
    k = np.empty((9, longest), np.int32)
    keys = np.full(patterns, -1, np.int32)
    lengths = np.full(patterns, NO_GRAM, np.int8)
    buckets = 1 << 12
    while buckets < 4 * parsed.size and buckets < 1 << 24:
        buckets *= 2
    count = np.zeros(buckets, np.int32)
    for choosing in range(2):
        for p in range(patterns):
            start = bounds[p]
            n = bounds[p + 1] - start
            wild = 0
            for i in range(n):
                code = parsed[start + i]
                wild += code < 0
                text[i] = fold[code] if code >= 0 else 0
            if wild == 0:
                keys[p] = _whole(text, 0, n)
                lengths[p] = WHOLE
                continue
            _runs(parsed, start, bounds[p + 1], run)
            _gram_hashes(text, n, k[2], k[3], k[4], k[6], k[8])
            least = MASK
            for i in range(n):
                for length in (8, 6, 4, 3, 2, 1):
                    if run[i] < length:
                        continue
                    key = _one(text[i]) if length == 1 else k[length, i]
                    if not choosing:
                        count[key & (buckets - 1)] += 1
                        continue
                    cost = count[key & (buckets - 1)] + COMMON[length]
                    if cost < least:
                        least = cost
                        keys[p] = key
                        lengths[p] = length
    return keys, lengths


@compiled
def choose_checks(parsed: Int32Array, bounds: Bounds, fold: Int32Array) -> NDArray[np.int16]:
    """Pairs of characters of each pattern, spread over all that it has."""
    patterns = bounds.size - 1
    checks = np.full((patterns, CHECKS), -1, np.int16)
    for p in range(patterns):
        total = 0
        for i in range(bounds[p], bounds[p + 1] - 1):
            total += parsed[i] >= 0 and parsed[i + 1] >= 0
        seen = 0
        taken = 0
        for i in range(bounds[p], bounds[p + 1] - 1):
            if parsed[i] < 0 or parsed[i + 1] < 0:
                continue
            if taken < CHECKS and seen * min(CHECKS, total) >= taken * total:
                checks[p, taken] = _pair(fold[parsed[i]], fold[parsed[i + 1]]) & (PAIRS - 1)
                taken += 1
            seen += 1
    return checks


@compiled
def file_grams(
    distinct: Int32Array, bitmap_bits: int, table_size: int
) -> tuple[UInt8Array, Int32Array, Int32Array]:
    """The bitmap and the table of the distinct keys of buckets."""
    bitmap = np.zeros(bitmap_bits // 8, np.uint8)
    keys = np.full(table_size, -1, np.int32)
    slots = np.zeros(table_size, np.int32)
    for bucket in range(distinct.size):
        key = distinct[bucket]
        bit = key & (bitmap_bits - 1)
        bitmap[bit >> 3] |= 1 << (bit & 7)
        place = (key >> 5) & (table_size - 1)
        while keys[place] >= 0:
            place = (place + 1) & (table_size - 1)
        keys[place] = key
        slots[place] = bucket
    return bitmap, keys, slots


# Verifying


@compiled
def _at(text: Int32Array, position: int, codes: Int32Array, start: int, size: int) -> bool:
    for i in range(size):
        code = codes[start + i]
        if code >= 0 and text[position + i] != code:
            return False
    return True


@compiled
def _find(text: Int32Array, position: int, end: int, ps: Patterns, j: int) -> int:
    """The first place from `position` on where piece j lies before `end`, or -1."""
    start = ps.piece_at[j]
    size = int(ps.piece_at[j + 1] - start)
    if size >= LONG_PIECE and ps.piece_plain[j]:
        k = 0
        for i in range(position, end):
            while k > 0 and text[i] != ps.codes[start + k]:
                k = ps.borders[start + k - 1]
            if text[i] == ps.codes[start + k]:
                k += 1
            if k == size:
                return i + 1 - size
        return -1
    initial = ps.codes[start] if size else -1
    for i in range(position, end - size + 1):
        if (text[i] == initial or initial < 0) and _at(text, i, ps.codes, start, size):
            return i
    return -1


@compiled
def _covers(text: Int32Array, n: int, ps: Patterns, p: int) -> bool:
    """Whether pattern p covers the text: `language.strings` over arrays."""
    first = ps.first[p]
    last = ps.first[p + 1] - 1
    start = ps.piece_at[first]
    size = ps.piece_at[first + 1] - start
    if first == last:
        return bool(n == size and _at(text, 0, ps.codes, start, size))
    if n < ps.shortest[p]:
        return False
    last_start = ps.piece_at[last]
    last_size = ps.piece_at[last + 1] - last_start
    end = n - last_size
    if not _at(text, end, ps.codes, last_start, last_size):
        return False
    if not _at(text, 0, ps.codes, start, size):
        return False
    position = size
    for j in range(first + 1, last):
        position = _find(text, position, end, ps, j)
        if position < 0:
            return False
        position += ps.piece_at[j + 1] - ps.piece_at[j]
    return True


# Matching


@compiled
def _bucket(gs: Grams, key: int) -> int:
    """The bucket of a key, or -1."""
    place = (key >> 5) & (gs.keys.size - 1)
    while gs.keys[place] >= 0:
        if gs.keys[place] == key:
            return int(gs.slots[place])
        place = (place + 1) & (gs.keys.size - 1)
    return -1


@compiled
def _open(
    gs: Grams, key: int, epoch: int, stamps: Int32Array, opened: Int32Array, count: int
) -> int:
    """Note the bucket of a key that the bitmap holds, once per string."""
    bucket = _bucket(gs, key)
    if bucket >= 0 and stamps[bucket] != epoch:
        stamps[bucket] = epoch
        opened[count] = bucket
        return count + 1
    return count


@compiled
def _look_up(
    gs: Grams, n: int, epoch: int, k: Int32Array, stamps: Int32Array, opened: Int32Array
) -> int:
    """Note the buckets of all grams of a text in `opened`; returns how many."""
    bits = gs.bitmap.size * 8 - 1
    count = 0
    for length in range(1, 9):
        if not gs.used[length]:
            continue
        row = k[length]
        for i in range(n - length + 1):
            key = row[i]
            bit = key & bits
            if (gs.bitmap[bit >> 3] >> (bit & 7)) & 1:
                count = _open(gs, key, epoch, stamps, opened, count)
    if gs.used[WHOLE]:
        key = _whole(k[0], 0, n)
        bit = key & bits
        if (gs.bitmap[bit >> 3] >> (bit & 7)) & 1:
            count = _open(gs, key, epoch, stamps, opened, count)
    return count


@compiled
def _may_cover(gs: Grams, member: int, pairs: Int32Array, epoch: int) -> bool:
    """Whether the string has the pairs of characters that a member needs."""
    for c in range(CHECKS):
        check = gs.checks[member, c]
        if check < 0:
            break
        if pairs[check] != epoch:
            return False
    return True


@compiled
def _next_epoch(sc: GramScratch) -> int:
    if sc.epoch[0] >= MASK - 1:
        fill_array(sc.stamps, 0)
        fill_array(sc.pairs, 0)
        sc.epoch[0] = 0
    sc.epoch[0] += 1
    return int(sc.epoch[0])


@compiled
def match_texts(
    texts: Int32Array, bounds: Bounds, ps: Patterns, gs: Grams, fold: Int32Array, sc: GramScratch
) -> tuple[Bounds, Int32Array, int]:
    """The patterns of each text, as bounds and members, and how many were candidates."""
    values = bounds.size - 1
    longest = 1
    for v in range(values):
        longest = max(longest, bounds[v + 1] - bounds[v])
    raw = np.empty(longest, np.int32)
    k = np.empty((9, longest), np.int32)  # row 0 is the folded text, the others hashes of grams
    found = np.empty(64 + 4 * values, np.int32)
    found_at = np.zeros(values + 1, np.int64)
    count = 0
    tried = 0
    for v in range(values):
        start = bounds[v]
        n = bounds[v + 1] - start
        epoch = _next_epoch(sc)
        for i in range(n):
            raw[i] = texts[start + i]
            k[0, i] = fold[raw[i]]
        if gs.used[1]:
            for i in range(n):
                k[1, i] = _one(k[0, i])
        _gram_hashes(k[0], n, k[2], k[3], k[4], k[6], k[8])
        for i in range(n - 1):
            sc.pairs[k[2, i] & (PAIRS - 1)] = epoch
        buckets = _look_up(gs, n, epoch, k, sc.stamps, sc.opened)
        for b in range(buckets + 1):
            # The last bucket is of those that no gram finds, and is opened always.
            bucket = sc.opened[b] if b < buckets else gs.bucket_at.size - 2
            first = gs.bucket_at[bucket]
            end = gs.bucket_at[bucket + 1]
            tried += end - first
            if count + end - first > found.size:
                grown = np.empty(2 * (count + end - first), np.int32)
                copy_items(found, grown, count)
                found = grown
            for member in range(first, end):
                if not _may_cover(gs, member, sc.pairs, epoch):
                    continue
                p = gs.members[member]
                if _covers(k[0] if ps.compared[p] == FOLDED else raw, n, ps, p):
                    found[count] = p
                    count += 1
        found_at[v + 1] = count
    return found_at, found[:count], tried
