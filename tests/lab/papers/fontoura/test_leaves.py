"""Forms become trees down to conjunctions: an AND's literals are one leaf, an OR's one each."""

import numpy as np
import pytest

from matchwood.kernels.programs import AND, OR, pack_operator
from matchwood.lab.papers.fontoura.leaves import leaves
from matchwood.lab.papers.shared.forms import forms
from matchwood.lab.papers.shared.predicate_lookup import PredicateLookup

BOTH, EITHER = pack_operator(AND, 2), pack_operator(OR, 2)


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
    predicates = PredicateLookup()
    program, start = predicates.gather([rule])
    found = leaves(forms(program, start, predicates.atoms))
    assert found.words.tolist() == words
    assert found.start.tolist() == [0, len(words)]
    assert np.diff(found.conjunctions.start).tolist() == sizes
