"""Rules as Fontoura et al. take them: alternating AND and OR whose leaves are conjunctions (§2).

The literals among the operands of an AND are one leaf, a conjunction of them all; an AND of
nothing else is that leaf itself. A literal below an OR, or a rule that is one literal, is a
conjunction of size 1. `true` is the conjunction of no literal, `false` a rule without words.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.compiled import compiled
from matchwood.index.program import AND, FALSE, OR
from matchwood.papers.conjunctions import Conjunctions
from matchwood.papers.forms import Forms

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


class Leaves(NamedTuple):
    """Rule i is words[start[i]:start[i + 1]], in prefix order: an operator word, or a leaf.

    Leaves are numbered from 0 as they come; leaf i is conjunction i.
    """

    words: Ints
    start: Longs
    conjunctions: Conjunctions


def leaves(forms: Forms) -> Leaves:
    """The trees of rules down to their conjunctions."""
    words = np.empty(len(forms.words), np.int32)
    start = np.zeros(len(forms.start), np.int64)
    literals = np.empty(len(forms.words), np.int32)
    leaf_start = np.zeros(len(forms.words) + 1, np.int64)
    used, leaf = _leaves(*forms, words, start, leaf_start, literals)
    leaf_start = leaf_start[: leaf + 1].copy()
    return Leaves(
        words[:used].copy(), start, Conjunctions(leaf_start, literals[: leaf_start[-1]].copy())
    )


@compiled
def _leaves(form, form_start, words, start, leaf_start, literals):
    """Relies on forms to have the literals of a node before its other operands."""
    used, leaf, at_literal = 0, 0, 0
    for rule in range(len(form_start) - 1):
        at = form_start[rule]
        while at < form_start[rule + 1]:
            word = form[at]
            operator, operands = (-word - 1) & 7, (-word - 1) >> 3
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
                    words[used] = -(size * 8 + AND) - 1
                    used += 1
                    if at_literal == begin:
                        continue
            words[used] = leaf
            used += 1
            leaf += 1
            leaf_start[leaf] = at_literal
        start[rule + 1] = used
    return used, leaf
