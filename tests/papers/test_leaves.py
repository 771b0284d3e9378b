"""Forms become trees down to conjunctions: an AND's literals are one leaf, an OR's one each."""

import numpy as np
import pytest

from matchwood.index.program import AND, OR, operator_word
from matchwood.papers.forms import forms
from matchwood.papers.leaves import leaves
from matchwood.papers.predicates import Predicates

BOTH, EITHER = operator_word(AND, 2), operator_word(OR, 2)


@pytest.mark.parametrize(
    ("rule", "words", "sizes"),
    [
        ("p", [0], [1]),
        ("p and not q and r", [0], [3]),
        ("p or q", [EITHER, 0, 1], [1, 1]),
        ("p and q and (r or s)", [BOTH, 0, EITHER, 1, 2], [2, 1, 1]),
        ("(p or q) and (r or s)", [BOTH, EITHER, 0, 1, EITHER, 2, 3], [1, 1, 1, 1]),
        ("p or (q and r)", [EITHER, 0, 1], [1, 2]),
        ("p or (q and (r or s))", [EITHER, 0, BOTH, 1, EITHER, 2, 3], [1, 1, 1, 1]),
        ("true", [0], [0]),
        ("false", [], []),
    ],
)
def test_leaves(rule, words, sizes):
    predicates = Predicates()
    program, start = predicates.gather([rule])
    found = leaves(forms(program, start, predicates.atoms))
    assert found.words.tolist() == words
    assert found.start.tolist() == [0, len(words)]
    assert np.diff(found.conjunctions.start).tolist() == sizes
