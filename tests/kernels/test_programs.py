"""Words of programs: what is packed is unpacked, up to the limits of the fields."""

import numpy as np
import pytest

from matchwood.kernels.compiled import compiled
from matchwood.kernels.programs import (
    AND,
    FALSE,
    NOT,
    OR,
    TRUE,
    XNOR,
    XOR,
    atom_of,
    is_negated,
    operands_of,
    operator_of,
    pack_literal,
    pack_operator,
)

OPERATORS = [NOT, AND, OR, XOR, XNOR, TRUE, FALSE]
MOST_OPERANDS = (1 << 28) - 1
MOST_ATOMS = 1 << 30


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("operands", [0, 1, 2, 8_000, MOST_OPERANDS])
def test_operators(operator, operands):
    word = pack_operator(operator, operands)
    assert -(1 << 31) <= word < 0
    assert (operator_of(word), operands_of(word)) == (operator, operands)


@pytest.mark.parametrize("atom", [0, 1, 12345, MOST_ATOMS - 1])
@pytest.mark.parametrize("negated", [0, 1])
def test_literals(atom, negated):
    literal = pack_literal(atom, negated)
    assert 0 <= literal < 1 << 31
    assert (atom_of(literal), is_negated(literal)) == (atom, negated)


def test_whole_arrays():
    words = np.array([pack_operator(AND, 2), pack_operator(XNOR, 7)], np.int32)
    assert operator_of(words).tolist() == [AND, XNOR]
    assert operands_of(words).tolist() == [2, 7]
    assert pack_literal(np.array([3, 4]), np.array([0, 1])).tolist() == [6, 9]


@compiled
def _unpacked(words, out):
    for i in range(len(words)):
        word = words[i]
        out[i, 0], out[i, 1] = operator_of(word), operands_of(word)
        out[i, 2] = pack_operator(out[i, 0], out[i, 1])


def test_compiled_code_means_the_same():
    pairs = [(operator, n) for operator in OPERATORS for n in (0, 2, MOST_OPERANDS)]
    words = np.array([pack_operator(*pair) for pair in pairs], np.int32)
    out = np.empty((len(words), 3), np.int64)
    _unpacked(words, out)
    assert out.tolist() == [[*pair, word] for pair, word in zip(pairs, words, strict=True)]
