"""Keys of predicates: an attribute's axis, a comparison and a code, in one word of 64 bits.

    key  | cluster: 33 bits | code: 31 bits |        cluster = 3 * axis + comparison

Sorted keys are in order of axis, then comparison, then code. The predicates of one axis and one
comparison are a *cluster*.
"""

from __future__ import annotations

from typing import Any

from matchwood.kernels.compiled import codec

# The comparisons of a predicate with its code: `=`, `<=` and `>=`.
EQUAL, LESS, GREATER = range(3)
# How many comparisons there are.
_COMPARISONS = 3
# Bits of a key that hold the code.
_CODE_BITS = 31


@codec
def pack_cluster(axis: Any, comparison: Any) -> Any:
    """The cluster of an axis and a comparison.

    >>> pack_cluster(2, GREATER), axis_of(8), comparison_of(8)
    (8, 2, 2)
    """
    return axis * _COMPARISONS + comparison


@codec
def axis_of(cluster: Any) -> Any:
    """The axis of a cluster."""
    return cluster // _COMPARISONS


@codec
def comparison_of(cluster: Any) -> Any:
    """The comparison of a cluster."""
    return cluster % _COMPARISONS


@codec
def pack_key(cluster: Any, code: Any) -> Any:
    """The key of a predicate.

    >>> key = pack_key(8, 5)
    >>> cluster_of(key), code_of(key)
    (8, 5)
    """
    return cluster << _CODE_BITS | code


@codec
def cluster_of(key: Any) -> Any:
    """The cluster of a key."""
    return key >> _CODE_BITS


@codec
def code_of(key: Any) -> Any:
    """The code of a key."""
    return key & ((1 << _CODE_BITS) - 1)
