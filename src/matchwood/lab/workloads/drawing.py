"""Random numbers that depend on a key, a number and a slot alone, and draws made of them.

Any part of what is drawn so can be made by itself, by any process, and is the same each time.
"""

from functools import lru_cache
from math import gcd

import numpy as np

from matchwood.kernels.array_types import FloatArray, Int64Array


def zipf(drawn: FloatArray, size: int, alpha: float) -> Int64Array:
    """Ranks from 0 to size - 1; the frequency of rank r is in proportion to (r + 1) ** -alpha."""
    cumulative = _cumulative(size, alpha)
    # The highest of the products may round up to the total, which is beyond the last rank.
    ranks: Int64Array = np.searchsorted(cumulative[:-1], drawn * cumulative[-1], side="right")
    return ranks


def zipf_apart(
    key: int, numbers: Int64Array, owners: Int64Array, slots: Int64Array, size: int, alpha: float
) -> Int64Array:
    """Ranks as `zipf` draws them, those of one owner all different.

    An owner that has drawn a rank twice draws again, from slots beyond all others.
    """
    slots = slots.copy()
    drawn = zipf(uniform(key, numbers, slots), size, alpha)
    while True:
        keys = owners * size + drawn
        order = np.argsort(keys, kind="stable")
        again = order[1:][keys[order[1:]] == keys[order[:-1]]]
        if not len(again):
            return drawn
        slots[again] += size
        drawn[again] = zipf(uniform(key, numbers[again], slots[again]), size, alpha)


@lru_cache(maxsize=8)
def _cumulative(size: int, alpha: float) -> FloatArray:
    cumulative: FloatArray = np.cumsum(np.arange(1, size + 1, dtype=np.float64) ** -alpha)
    return cumulative


def scattered(numbers: Int64Array, size: int) -> Int64Array:
    """A permutation of the numbers below size that sends neighbours far apart."""
    step = max(1, int(min(size, 2**31) * 0.618))
    while gcd(step, size) != 1:
        step += 1
    return numbers * step % size


def below(drawn: FloatArray, limit: int | Int64Array) -> Int64Array:
    """Integers from 0 to limit - 1."""
    integers: Int64Array = (drawn * limit).astype(np.int64)
    return integers


def key_of(seed: int, pool: int) -> int:
    return int(np.random.SeedSequence([seed, pool]).generate_state(1, np.uint64)[0] >> 1)


def uniform(key: int, numbers: Int64Array, slots: int | Int64Array) -> FloatArray:
    """Numbers from 0 up to 1, each given by the key, a number and a slot."""
    bits = mixed(mixed(numbers + key) + slots).astype(np.uint64)
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def mixed(numbers: Int64Array) -> Int64Array:
    """The splitmix64 finaliser: near numbers become unrelated ones."""
    bits = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (bits ^ (bits >> np.uint64(31))).astype(np.int64)
