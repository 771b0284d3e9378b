"""Rules in the form that most of the algorithms take: alternating `and` and `or` over literals.

Negation is pushed to the literals, `xor` and `xnor` are written with `and` and `or`, an operand of
its node's own operator is taken apart, equal operands of a node are one, constants are gone. After
that undefined counts as false (§5.2.1 of the A-Tree paper). Each rule is a tree of its own: what
`xor` needs twice is written twice, and a rule that grows beyond the budget raises `OverBudget`.

A form is in prefix order: an operator word (see `kernels.programs`), then its operands; a literal
is a word by itself. Read from right to left it is a postfix program. A rule that is a constant is
one word.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from matchwood.index.build.shared_nodes import share
from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.lab.papers.shared import forms_kernels as kernels
from matchwood.lab.papers.shared.protocol import OverBudget

# The most words of one rule.
RULE_WORDS = 1 << 22
# The most words of all rules together.
ALL_WORDS = 1 << 30


class Forms(NamedTuple):
    """Rule i is words[start[i]:start[i + 1]]."""

    words: Int32Array
    start: Int64Array


def forms(
    program: Int32Array,
    start: Int64Array,
    atoms: int,
    rule_words: int = RULE_WORDS,
    all_words: int = ALL_WORDS,
) -> Forms:
    """The forms of many rules, from postfix programs over so many atoms."""
    shared = share(program, start, atoms)
    args = (shared.operator, shared.start, shared.operands, shared.roots, shared.first)
    operator, node_start, operands, roots = kernels.flatten(*args)
    sizes = kernels.tree_sizes(operator, node_start, operands, roots, shared.first, rule_words)
    largest = int(sizes.max(initial=0))
    if largest > rule_words:
        rule = int(sizes.argmax())
        raise OverBudget(
            f"rule {rule} of {len(roots)} has more than {rule_words:,} predicates and operators "
            "once xor and xnor are written with and and or: leave it out, or raise the budget"
        )
    total = int(sizes.sum())
    if total > all_words:
        raise OverBudget(
            f"{len(roots):,} rules have {total:,} predicates and operators once xor and xnor are "
            f"written with and and or, over the budget of {all_words:,}"
        )
    ends = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    words = np.empty(total, np.int32)
    kernels.write_trees(operator, node_start, operands, roots, shared.first, ends, words)
    return Forms(words, ends)


def form(program: Int32Array, atoms: int, rule_words: int = RULE_WORDS) -> Int32Array:
    """The form of one rule."""
    start = np.array([0, len(program)], np.int64)
    return forms(program, start, atoms, rule_words).words
