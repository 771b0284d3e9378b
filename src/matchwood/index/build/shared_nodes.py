"""Programs to shared nodes: the A-Tree, built by compiled code.

`share` reads postfix programs and makes one node per meaning:

- *zero suppression*: negation is pushed to the literals and xor and xnor are written with `and`
  and `or` over both polarities (balanced, so a chain of n has O(n) nodes and O(log n) levels);
  after that, undefined can be treated as false, and false is never propagated;
- *unique nodes*: operands are sorted, deduplicated and looked up by content in a hash table;
- *reorganisation and self-adjustment*: an operand of the same operator is taken apart into its
  own operands unless something else uses it too, in which case it is reused as it is. Uses are
  counted over all rules before any node is taken apart, so that the result does not depend on the
  order of the rules; nodes that nothing uses are dropped.

`kernels.programs` says what a reference is. The passes themselves are in `share_kernels`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.share_kernels import (
    NODES_MADE,
    PROGRESS_NUMBERS,
    RULES_DONE,
    count_uses,
    live_nodes,
    node_bounds,
    operands_taken_apart,
    refill_table,
    reorganise_nodes,
    share_programs,
)
from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.kernels.hash_entries import EMPTY

# Rows of scratch that `share_programs` takes.
_WORK_ROWS = 7


class SharedNodes(NamedTuple):
    """Nodes in the order they were made: operands come before the nodes that use them."""

    first: int  # references from here on are nodes
    operator: NDArray[np.uint8]  # AND or OR
    start: Int64Array  # operands of node i: operands[start[i]:start[i + 1]]
    operands: Int32Array
    roots: Int32Array  # the reference of each rule


def share(program: Int32Array, rule_start: Int64Array, atoms: int) -> SharedNodes:
    """The shared nodes of all rules; rule i is program[rule_start[i]:rule_start[i + 1]]."""
    first = 2 * atoms
    nodes, operands, widest = node_bounds(program, rule_start)
    operator = np.empty(nodes, np.uint8)
    start = np.zeros(nodes + 1, np.int64)
    kept = np.empty(operands, np.int32)
    roots = np.empty(len(rule_start) - 1, np.int32)
    work = tuple(np.empty((_WORK_ROWS, widest + 8), np.int64))
    progress = np.zeros(PROGRESS_NUMBERS, np.int64)
    entries = 16 * (widest + 8)  # more than any rule asks for
    while progress[RULES_DONE] < len(roots):
        table = _table(entries)
        refill_table(table, operator, start, kept, progress[NODES_MADE])
        share_programs(
            program, rule_start, first, table, operator, start, kept, roots, work, progress
        )
        entries *= 4
    count = int(progress[NODES_MADE])
    operator, start = operator[:count], start[: count + 1]
    uses = count_uses(start, kept, roots, first)
    sizes = np.empty(count, np.int64)
    size = operands_taken_apart(operator, start, kept, uses, first, sizes)
    table = _table(2 * count + 16)
    new_operator = np.empty(count, np.uint8)
    new_start = np.zeros(count + 1, np.int64)
    new_kept = np.empty(size, np.int32)
    made = reorganise_nodes(
        operator, start, kept, uses, first, table, new_operator, new_start, new_kept, roots,
        np.empty(count, np.int64), np.empty(sizes.max(initial=0), np.int64),
    )  # fmt: skip
    return SharedNodes(
        first, *live_nodes(new_operator[:made], new_start[: made + 1], new_kept, roots, first)
    )


def _table(entries: int) -> Int64Array:
    """An empty table of at least so many entries."""
    return np.full(1 << max(4, (int(entries) - 1).bit_length()), EMPTY, np.int64)
