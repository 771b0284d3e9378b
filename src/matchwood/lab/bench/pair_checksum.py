"""A checksum of matches, which compares those of runs that find them in different orders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

# What a checksum is taken modulo.
_MODULUS = 1 << 64


def checksum(pairs: Iterable[tuple[Any, Any]]) -> tuple[int, int]:
    """(number of pairs, sum of a hash of each), whatever their order.

    >>> one, other = np.array([0, 1]), np.array([5, 7])
    >>> checksum([(one, other)]) == checksum([(one[::-1], other[::-1])])
    True
    >>> checksum([(one, other)]) == checksum([(other, one)])
    False
    """
    count, total = 0, 0
    for events, rules in pairs:
        mixed = events.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= rules.astype(np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        count += len(events)
        total = (total + int(mixed.sum(dtype=np.uint64))) % _MODULUS
    return count, total


def checksum_of_answers(answers: Sequence[Any]) -> tuple[int, int]:
    """The checksum of events that are numbered from 0 on, each with an array of its rules."""
    return checksum((np.full(len(rules), event), rules) for event, rules in enumerate(answers))


def checksum_of_batches(batches: Iterable[Any], events: int) -> tuple[int, int]:
    """The checksum of record batches of matches; their table repeats after so many events."""
    return checksum(
        (batch.column(0).to_numpy() % events, batch.column(1).indices.to_numpy())
        for batch in batches
    )


def repeated(of_one: tuple[int, int], times: int) -> tuple[int, int]:
    """The checksum of the same pairs several times."""
    count, total = of_one
    return count * times, total * times % _MODULUS


def same(found: object, right: object) -> None:
    """End the program if answers differ."""
    if found != right:
        raise AssertionError(f"found {found}, expected {right}")
