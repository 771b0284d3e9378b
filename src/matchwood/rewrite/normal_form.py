"""The normal form of a rule: all rewrites, in the order in which they run."""

from __future__ import annotations

from matchwood.language.tree import Node
from matchwood.rewrite.absorption import absorb
from matchwood.rewrite.constants import fold_constants
from matchwood.rewrite.duplicates import sort_and_dedupe
from matchwood.rewrite.flattening import flatten
from matchwood.rewrite.local_rewrites import Rewrite, at_each_node
from matchwood.rewrite.merging import merge_values
from matchwood.rewrite.negation import push_negations
from matchwood.rewrite.parity import tidy_parity
from matchwood.rewrite.pattern_lists import expand_patterns
from matchwood.rewrite.tidying import tidy_predicate

# The first three look at the whole tree. The others look at one node at a time, from the leaves up,
# until none of them changes it.
REWRITES: tuple[Rewrite, ...] = (
    fold_constants,
    expand_patterns,
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

    `not` is only before predicates that have no negative form of their own, constants are only
    alone, and operands are flat, sorted and distinct.

    >>> from matchwood.language import parse
    >>> normalise(parse("not (b < 5 or (a = 1 or a = 2)) and (c or true)"))
    parse('a not in (1, 2) and not b < 5')
    """
    for rewrite in REWRITES:
        tree = rewrite(tree)
    return tree
