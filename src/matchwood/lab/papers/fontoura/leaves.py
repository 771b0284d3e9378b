"""Rules as Fontoura et al. take them: alternating AND and OR whose leaves are conjunctions (§2).

The literals among the operands of an AND are one leaf, a conjunction of them all; an AND of
nothing else is that leaf itself. A literal below an OR, or a rule that is one literal, is a
conjunction of size 1. `true` is the conjunction of no literal, `false` a rule without words.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from matchwood.kernels.array_types import Int32Array, Int64Array
from matchwood.lab.papers.fontoura import leaves_kernels as kernels
from matchwood.lab.papers.fontoura.conjunction_index import Conjunctions
from matchwood.lab.papers.shared.forms import Forms


class Leaves(NamedTuple):
    """Rule i is words[start[i]:start[i + 1]], in prefix order: an operator word, or a leaf.

    Leaves are numbered from 0 as they come; leaf i is conjunction i.
    """

    words: Int32Array
    start: Int64Array
    conjunctions: Conjunctions


def leaves(forms: Forms) -> Leaves:
    """The trees of rules down to their conjunctions."""
    words = np.empty(len(forms.words), np.int32)
    start = np.zeros(len(forms.start), np.int64)
    literals = np.empty(len(forms.words), np.int32)
    leaf_start = np.zeros(len(forms.words) + 1, np.int64)
    used, leaf = kernels.leaves(*forms, words, start, leaf_start, literals)
    leaf_start = leaf_start[: leaf + 1].copy()
    return Leaves(
        words[:used].copy(), start, Conjunctions(leaf_start, literals[: leaf_start[-1]].copy())
    )
