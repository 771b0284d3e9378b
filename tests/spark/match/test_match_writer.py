"""Batches of matches have neither too many rows nor too many bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyspark")

from matchwood.spark.match.match_writer import MOST_BYTES, MOST_ROWS, _cuts


@given(st.lists(st.integers(1, 10 << 20), max_size=30), st.integers(1, 3 * MOST_ROWS))
def test_cuts(sizes, rows):
    for given_sizes in (np.array(sizes, np.int64), np.full(rows, 100)):
        cuts = list(_cuts(given_sizes))
        assert [low for low, _ in cuts] == [0, *(high for _, high in cuts[:-1])][: len(cuts)]
        assert sum(high - low for low, high in cuts) == len(given_sizes)
        for low, high in cuts:
            assert 1 <= high - low <= MOST_ROWS
            assert high - low == 1 or given_sizes[low:high].sum() <= MOST_BYTES
