"""Fold constants: `true` and `false` stay only if they are the whole rule.

`x or not x` is not a constant: it is undefined where x is.
"""

from __future__ import annotations

from collections.abc import Sequence

from matchwood.language.evaluation import TRUTHS
from matchwood.language.tree import (
    And,
    AtLeast,
    Constant,
    Node,
    Not,
    Or,
    TruthTest,
    Xnor,
    Xor,
    fold,
    walk,
)
from matchwood.rewrite.local_rewrites import negated_predicate, node_over, over, with_operands


def fold_constants(tree: Node) -> Node:
    """The same rule without constants inside.

    >>> from matchwood.language import parse
    >>> fold_constants(parse("(a or false) and (b xor true)"))
    parse('a and not b')
    """
    if not any(isinstance(node, Constant) for node in walk(tree)):
        return tree
    return fold(tree, _without_constants)


def _without_constants(node: Node, operands: Sequence[Node]) -> Node:
    if not any(isinstance(operand, Constant) for operand in operands):
        return with_operands(node, operands)
    constants = [operand.value for operand in operands if isinstance(operand, Constant)]
    rest = [operand for operand in operands if not isinstance(operand, Constant)]
    if isinstance(node, Not):
        return Constant(not constants[0])
    if isinstance(node, TruthTest):
        return Constant((constants[0] is TRUTHS[node.truth]) is not node.negated)
    if isinstance(node, AtLeast):
        return _counted(node, sum(constants), rest)
    if isinstance(node, And | Or):
        decides = isinstance(node, Or)
        if decides in constants or not rest:
            return Constant(decides if decides in constants else not decides)
        return node_over(type(node), rest)
    # Read from left to right, each further operand of an xnor negates once more.
    odd = (sum(constants) + (len(operands) - 1) * isinstance(node, Xnor)) % 2 == 1
    if not rest:
        return Constant(odd)
    parity = node_over(Xor, rest)
    return negated_predicate(parity) if odd else parity


def _counted(node: AtLeast, true: int, rest: list[Node]) -> Node:
    """`at_least` of which some operands are constants, so many of them true."""
    count = node.count - true
    if count <= 0 or count > len(rest):
        return Constant(count <= 0)
    return over(AtLeast(count, node.operands[: len(rest)]), rest)
