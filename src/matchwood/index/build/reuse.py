"""Reorganisation by content: a node uses smaller nodes of the same operator as operands.

`a or b or c or d` uses the node `a or b or c` if there is one, whichever rule it comes from. The
operands of a node are covered greedily by the nodes that are subsets of it, the largest first.
Nodes are visited in order of their size, so that the result does not depend on the order of the
rules, and nothing has to be adjusted when a smaller rule comes after a larger one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.reuse_kernels import cover_nodes, renumber_nodes, topological_numbers
from matchwood.index.build.shared_nodes import SharedNodes

# Operands of a node, at most: a record counts its inline operands and its references in 14 bits.
MAX_OPERANDS = 8_000


def reuse(shared: SharedNodes) -> SharedNodes:
    """The same nodes over fewer operands; operands still come before the nodes that use them."""
    count = len(shared.operator)
    if count < 2:
        return shared
    sizes = np.diff(shared.start)
    by_size = np.argsort(sizes, kind="stable")
    start, operands = cover_nodes(
        by_size, shared.operator, shared.start, shared.operands, shared.first
    )
    number = topological_numbers(start, operands, shared.first)
    return SharedNodes(
        shared.first,
        *renumber_nodes(number, shared.operator, start, operands, shared.roots, shared.first),
    )


def narrow(shared: SharedNodes, most: int = MAX_OPERANDS) -> SharedNodes:
    """Split nodes with more operands than a record can count into nodes of nodes."""
    sizes = np.diff(shared.start)
    if not (sizes > most).any():
        return shared
    operator = shared.operator.tolist()
    lists = np.split(shared.operands, shared.start[1:-1])
    for node in np.flatnonzero(sizes > most).tolist():
        refs: NDArray[Any] = lists[node]
        while len(refs) > most:
            pieces = np.array_split(refs, -(-len(refs) // most))
            refs = shared.first + np.arange(len(operator), len(operator) + len(pieces))
            operator += [operator[node]] * len(pieces)
            lists += pieces
        lists[node] = refs.astype(np.int32)
    start = np.concatenate([[0], np.cumsum([len(refs) for refs in lists])]).astype(np.int64)
    operands = np.concatenate(lists).astype(np.int32)
    kinds = np.array(operator, np.uint8)
    number = topological_numbers(start, operands, shared.first)
    return SharedNodes(
        shared.first, *renumber_nodes(number, kinds, start, operands, shared.roots, shared.first)
    )
