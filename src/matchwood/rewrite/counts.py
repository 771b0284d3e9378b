"""Write `at_least(2, a, b, c)` with `and` and `or`, which the index can look up.

`and` and `or` say of undefined operands what counting says: true if enough are true whatever the
undefined ones are, false if too few can be. So the rule means the same, undefined included.
"""

from __future__ import annotations

from collections.abc import Sequence

from matchwood.language.tree import And, AtLeast, Node, Not, Or, TruthTest, Xnor, Xor, fold, walk
from matchwood.rewrite.local_rewrites import is_modest, node_over, with_operands

# Nodes that a threshold may become, with those of its operands; larger ones stay as they are.
MAX_NODES = 256
# The same below tests of truth, `xor` and `xnor`, which are rewritten after that and copy nodes.
MAX_NODES_TO_COPY = 64
# Nodes by which all thresholds of a rule may make it larger: as many as it has times this, or so
# many, whichever is more.
MAX_GROWTH = 4
SMALL_GROWTH = 4_000


def expand_counts(tree: Node) -> Node:
    """The same rule without thresholds, except those that would become too large.

    >>> from matchwood.language import parse
    >>> print(expand_counts(parse("at_least(2, a, b, c)")))
    a and (b or c) or b and c
    """
    if not any(isinstance(node, AtLeast) for node in walk(tree)):
        return tree
    copied = _copied_thresholds(tree)
    left = max(MAX_GROWTH * tree.size, SMALL_GROWTH)

    def expanded(node: Node, operands: Sequence[Node]) -> Node:
        nonlocal left
        if not isinstance(node, AtLeast):
            return with_operands(node, operands) if operands else node
        most = min(left, MAX_NODES, MAX_NODES_TO_COPY if id(node) in copied else MAX_NODES)
        found = _expanded(node.count, operands, most)
        if found is None:
            kept = with_operands(node, operands)
            return kept if is_modest(kept) else node
        left -= found.size
        return found

    return fold(tree, expanded)


def _copied_thresholds(tree: Node) -> set[int]:
    """The `id` of each threshold that is below a test of truth, `xor` or `xnor`."""
    found: set[int] = set()
    stack = [(tree, False)]
    while stack:
        node, below = stack.pop()
        if below and isinstance(node, AtLeast):
            found.add(id(node))
        below = below or isinstance(node, TruthTest | Xor | Xnor)
        stack += [(operand, below) for operand in node.operands]
    return found


def _expanded(count: int, operands: Sequence[Node], most: int) -> Node | None:
    """A threshold with `and` and `or`; None if it would have more than so many nodes."""
    # So many are true unless all but fewer are false; the smaller number makes the smaller rule.
    from_below = len(operands) - count + 1
    sizes = [operand.size for operand in operands]
    if sum(sizes) > most:
        return None
    above, below = _size(count, sizes, most), _size(from_below, sizes, most)
    if min(above, below) > most:
        return None
    if below < above:
        return Not(_counted(from_below, [_negated(operand) for operand in operands]))
    return _counted(count, list(operands))


def _negated(node: Node) -> Node:
    return node.operands[0] if isinstance(node, Not) else Not(node)


def _counted(count: int, operands: list[Node]) -> Node:
    """The first of those that are true is one of these, and the others come after it."""
    if count == 1:
        return node_over(Or, operands)
    if count == len(operands):
        return node_over(And, operands)
    first = range(len(operands) - count + 1)
    return node_over(
        Or, [node_over(And, [operands[i], _counted(count - 1, operands[i + 1 :])]) for i in first]
    )


def _size(count: int, sizes: Sequence[int], most: int) -> int:
    """The nodes of `_counted`; as soon as they are more than enough, just more than that."""
    if count in (1, len(sizes)):
        return sum(sizes) + 1
    total = 1
    for i in range(len(sizes) - count + 1):
        total += 1 + sizes[i] + _size(count - 1, sizes[i + 1 :], most)
        if total > most:
            break
    return total
