"""Trees with leaves that are single literals, as nested tuples and as `Leaves`."""

import numpy as np
from hypothesis import strategies as st

from matchwood.kernels.programs import AND, OR, pack_operator
from matchwood.lab.papers.fontoura.conjunction_index import Conjunctions
from matchwood.lab.papers.fontoura.leaves import Leaves


def alternating(operator, deepest):
    """Trees (operator, operands), an int for a leaf; operators alternate."""
    if deepest == 0:
        return st.just(0)
    below = alternating(OR if operator == AND else AND, deepest - 1)
    operands = st.lists(st.one_of(st.just(0), below), min_size=2, max_size=4)
    return operands.map(lambda given: (operator, given))


trees = st.one_of(alternating(AND, 4), alternating(OR, 4))


def laid_out(given_trees):
    """The trees as leaves, which are numbered as they come, and the trees with those numbers."""
    words, start, numbered, leaf = [], [0], [], 0

    def write(node):
        nonlocal leaf
        if isinstance(node, int):
            words.append(leaf)
            leaf += 1
            return leaf - 1
        words.append(pack_operator(node[0], len(node[1])))
        return node[0], [write(operand) for operand in node[1]]

    for tree in given_trees:
        numbered.append(write(tree))
        start.append(len(words))
    leaves = Conjunctions(np.arange(leaf + 1), np.arange(leaf, dtype=np.int32))
    return Leaves(np.array(words, np.int32), np.array(start, np.int64), leaves), numbered


def truth(node, true):
    if isinstance(node, int):
        return node in true
    values = [truth(operand, true) for operand in node[1]]
    return all(values) if node[0] == AND else any(values)


def right(numbered, true):
    return [rule for rule, tree in enumerate(numbered) if truth(tree, true)]
