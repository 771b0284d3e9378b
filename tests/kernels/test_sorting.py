"""Sorting in kernels, compared with Python's."""

import numpy as np
import pytest

from matchwood.kernels.compiled import lean
from matchwood.kernels.sorting import sort_by_keys, sort_items

ITEMS = lean(lambda items, low, high: sort_items(items, low, high))
BY_KEYS = lean(lambda keys, items, size: sort_by_keys(keys, items, size))


@pytest.mark.parametrize("distinct", [1, 3, 1_000])
@pytest.mark.parametrize("size", [0, 1, 2, 24, 25, 26, 100, 1_001])
def test_a_part_is_sorted(size, distinct):
    random = np.random.default_rng(size + distinct)
    items = random.integers(-distinct, distinct, size + 5)
    expected = [*items[:2], *sorted(items[2 : 2 + size]), *items[2 + size :]]
    ITEMS(items, 2, 2 + size)
    assert items.tolist() == expected


@pytest.mark.parametrize("distinct", [1, 3, 1_000])
@pytest.mark.parametrize("size", [0, 1, 2, 24, 25, 26, 100, 1_001])
def test_items_are_sorted_by_their_keys(size, distinct):
    random = np.random.default_rng(size + distinct)
    keys = random.integers(-distinct, distinct, size + 5) / 4
    items = random.permutation(size + 5).astype(np.int32)
    pairs = list(zip(keys, items, strict=True))
    few = size <= 24
    head = sorted(pairs[:size], key=lambda pair: pair[0] if few else pair)
    BY_KEYS(keys, items, size)
    assert list(zip(keys, items, strict=True)) == head + pairs[size:]
