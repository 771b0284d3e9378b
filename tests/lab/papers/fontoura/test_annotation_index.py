"""Annotations come in order, whatever their number and whichever bits they differ in."""

import numpy as np
import pytest

from matchwood.lab.papers.fontoura.annotation_index import in_order


@pytest.mark.parametrize("count", [0, 1, 999, 1000, 20_000])
@pytest.mark.parametrize("mask", [2**64 - 1, 0xFFFF0000FFFF, 0x7FF, 1 << 63, 0])
def test_in_order(count, mask):
    random = np.random.default_rng(5)
    words = random.integers(0, 2**64, count, np.uint64, endpoint=False) & np.uint64(mask)
    assert (in_order(words.copy()) == np.sort(words)).all()
