"""The numbers of set bits, by each way to write them, compared with NumPy's."""

import numpy as np
import pytest

from matchwood.kernels import bits
from matchwood.kernels.bits import LANES
from matchwood.kernels.compiled import lean
from matchwood.kernels.masks import EVENTS, WORDS

WRITE = {
    "each": lean(lambda masks, at, out, found: bits._write_each(masks, at, out, found)),
    "integers": lean(lambda masks, at, out, found: bits._compress(masks, at, out, found)),
    "as chosen": lean(lambda masks, at, out, found: bits.write_places(masks, at, out, found)),
}
HAS_COMPRESS = lean(lambda: bits.has_compress())
LOWEST = lean(lambda word: bits.lowest(word))


@pytest.mark.parametrize("way", WRITE)
def test_numbers_of_set_bits(way):
    if way == "integers" and not HAS_COMPRESS():
        pytest.skip("this processor does not have the instruction")
    random = np.random.default_rng(3)
    out = np.empty(3 + EVENTS + LANES, np.int32)
    for share in (0, 0.003, 0.05, 0.1, 0.3, 0.9, 1):
        chosen = random.random((8, EVENTS)) < share
        chosen[:, 64:192] &= random.random((8, 1)) < 0.5  # some words are empty
        masks = np.packbits(chosen, axis=1, bitorder="little").view(np.uint64).reshape(-1)
        for number, row in enumerate(chosen):
            out[:] = -1
            end = WRITE[way](masks, WORDS * number, out, 3)
            assert out[:end].tolist() == [-1, -1, -1, *np.flatnonzero(row).tolist()]
            assert (out[end + LANES :] == -1).all()


@pytest.mark.parametrize("word", [0, 1, 6, 1 << 63, (1 << 64) - 1])
def test_the_lowest_bit_of_a_word(word):
    places = [place for place in range(64) if word >> place & 1]
    assert LOWEST(np.uint64(word)) == (places[0] if places else 64)
