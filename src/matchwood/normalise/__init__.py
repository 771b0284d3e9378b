"""Rewrites that keep what a rule means, true, false and undefined alike, and bring it to one form.

A rewrite is a file; `REWRITES` lists them in the order they run. The first two look at the whole
tree, the others at one node at a time, from the leaves up, until none changes it. Nothing here
uses that a value is single: `a >= 3 and a <= 5` stays as it is, because lists satisfy it otherwise
than `a between 3 and 5`. What can be said of single values is in `contradictions`.
"""

from matchwood.language.tree import Node
from matchwood.normalise.absorption import absorb
from matchwood.normalise.constants import fold_constants
from matchwood.normalise.contradictions import always_true, never_true
from matchwood.normalise.duplicates import sort_and_dedupe
from matchwood.normalise.flattening import flatten
from matchwood.normalise.meaning import fingerprint, meaning
from matchwood.normalise.merging import merge_values
from matchwood.normalise.negation import push_negations
from matchwood.normalise.nodes import Rewrite, at_each_node
from matchwood.normalise.parity import tidy_parity
from matchwood.normalise.predicates import tidy_predicate

__all__ = [
    "REWRITES",
    "always_true",
    "fingerprint",
    "meaning",
    "never_true",
    "normalise",
]

REWRITES: tuple[Rewrite, ...] = (
    fold_constants,
    push_negations,
    at_each_node(
        tidy_predicate,
        flatten,
        tidy_parity,
        sort_and_dedupe,
        absorb,
        merge_values,
    ),
)


def normalise(tree: Node) -> Node:
    """The normal form of a rule: true, false and undefined of the same events.

    `not` stands only before a predicate that has no negative form of its own, constants only
    alone, and operands are flat, sorted and distinct.

    >>> from matchwood.language import parse
    >>> normalise(parse("not (b < 5 or (a = 1 or a = 2)) and (c or true)"))
    parse('a not in (1, 2) and not b < 5')
    """
    for rewrite in REWRITES:
        tree = rewrite(tree)
    return tree
