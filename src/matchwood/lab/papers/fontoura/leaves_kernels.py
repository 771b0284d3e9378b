"""Kernels that find the leaf-level conjunctions of rules."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from matchwood.kernels.compiled import compiled
from matchwood.kernels.programs import AND, FALSE, OR, operands_of, operator_of, pack_operator


@compiled
def leaves(form, form_start, words, start, leaf_start, literals):
    """Fill the arrays of `Leaves`; returns the numbers of words and of leaves.

    This relies on forms to have the literals of a node before its other operands.
    """
    used, leaf, at_literal = 0, 0, 0
    for rule in range(len(form_start) - 1):
        at = form_start[rule]
        while at < form_start[rule + 1]:
            word = form[at]
            operator, operands = operator_of(word), operands_of(word)
            at += 1
            if word < 0 and operator == FALSE:
                continue
            if word < 0 and operator == OR:
                words[used] = word
                used += 1
                continue
            begin = at_literal
            if word >= 0:
                literals[at_literal] = word
                at_literal += 1
            elif operator == AND:
                while at_literal - begin < operands and form[at] >= 0:
                    literals[at_literal] = form[at]
                    at_literal += 1
                    at += 1
                alone = operands - (at_literal - begin)
                if alone > 0:
                    size = alone + (at_literal > begin)
                    words[used] = pack_operator(AND, size)
                    used += 1
                    if at_literal == begin:
                        continue
            words[used] = leaf
            used += 1
            leaf += 1
            leaf_start[leaf] = at_literal
        start[rule + 1] = used
    return used, leaf
