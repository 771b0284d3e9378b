"""Rewrites that keep what a rule means, true, false and undefined alike, and bring it to one form.

Every rewrite has a file of its own; `normal_form.REWRITES` lists them in the order they run. No
rewrite assumes that a value is single: `a >= 3 and a <= 5` stays as it is, because for lists
it differs from `a between 3 and 5`. What holds only of single values is in `contradictions`.

    rule ── normal_form ── meaning (predicate_atoms)    whether two rules mean the same
    rule ── contradictions (value_cells)                whether a rule is never, or always, true

    constants        true and false disappear unless they are the whole rule
    pattern_lists    `like any` is an `or`, and `like all` an `and`, of patterns
    mixed_values     `a in (1, 'x')` is an `or` of predicates of one family each
    truth_tests      `is true` moves down to the predicates
    negation         `not` moves down to the predicates
    tidying          one way to write each predicate
    flattening       an `and` within an `and` is one `and`; the same for `or`
    parity           one way to write a chain of `xor` and `xnor`
    duplicates       operands are sorted, and each stands once
    absorption       `x or (x and y)` is `x`
    merging          `a = 1 or a = 2` is `a in (1, 2)`
    local_rewrites   how a rewrite of one node becomes a rewrite of a tree

The index has some of its own, the last three of which keep only of which events a rule is true:

    counts           `at_least` is an `or` of `and`s, where that stays short
    mixed_values     `in` with values of several families is an `or` of families
    truth_tests      tests of truth move down to the predicates
    filters          `at_least` gets some of its rules beside it, of which one has to be true
"""

from matchwood.rewrite.contradictions import always_true, never_true
from matchwood.rewrite.meaning import fingerprint, meaning
from matchwood.rewrite.normal_form import REWRITES, normalise

__all__ = [
    "REWRITES",
    "always_true",
    "fingerprint",
    "meaning",
    "never_true",
    "normalise",
]
