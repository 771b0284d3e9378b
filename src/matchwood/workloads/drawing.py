"""Random numbers that depend on a key, a number and a slot alone, and draws made of them.

Whatever is drawn so can be made in part: by any process, in any order, the same each time.
"""

from functools import lru_cache
from math import gcd

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def zipf(drawn: Floats, size: int, alpha: float) -> Integers:
    """Ranks from 0 to size - 1, rank r as often as (r + 1) ** -alpha."""
    cumulative = _cumulative(size, alpha)
    # The highest of the products may round up to the total, which is beyond the last rank.
    ranks: Integers = np.searchsorted(cumulative[:-1], drawn * cumulative[-1], side="right")
    return ranks


def zipf_apart(
    key: int, numbers: Integers, owners: Integers, slots: Integers, size: int, alpha: float
) -> Integers:
    """Ranks as `zipf` draws them, those of one owner all different.

    What has drawn a rank twice draws again, from slots that are beyond all others.
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
def _cumulative(size: int, alpha: float) -> Floats:
    cumulative: Floats = np.cumsum(np.arange(1, size + 1, dtype=np.float64) ** -alpha)
    return cumulative


def scattered(numbers: Integers, size: int) -> Integers:
    """Numbers below size, each to one of its own, far from those of its neighbours."""
    step = max(1, int(min(size, 2**31) * 0.618))
    while gcd(step, size) != 1:
        step += 1
    return numbers * step % size


def below(drawn: Floats, limit: int | Integers) -> Integers:
    """Integers from 0 to limit - 1."""
    integers: Integers = (drawn * limit).astype(np.int64)
    return integers


def key_of(seed: int, pool: int) -> int:
    return int(np.random.SeedSequence([seed, pool]).generate_state(1, np.uint64)[0] >> 1)


def uniform(key: int, numbers: Integers, slots: int | Integers) -> Floats:
    """Numbers from 0 up to 1, each given by the key, a number and a slot."""
    bits = mixed(mixed(numbers + key) + slots).astype(np.uint64)
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def mixed(numbers: Integers) -> Integers:
    """The splitmix64 finaliser: near numbers become unrelated ones."""
    bits = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (bits ^ (bits >> np.uint64(31))).astype(np.int64)
