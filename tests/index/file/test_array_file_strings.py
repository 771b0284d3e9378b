"""Strings packed into two arrays come back as they were."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matchwood.index.file.array_file import (
    IndexFileError,
    pack_strings,
    unpack_string,
    unpack_strings,
)


@given(st.lists(st.text(st.characters(), max_size=8), max_size=20))
def test_strings_come_back(strings: list[str]) -> None:
    offsets, data = pack_strings(strings)
    assert offsets.dtype == np.int64
    assert data.dtype == np.uint8
    assert unpack_strings(offsets, data) == strings
    assert [unpack_string(offsets, data, i) for i in range(len(strings))] == strings


def test_halves_of_surrogate_pairs_come_back() -> None:
    strings = ["\ud83d", "ok", "x\udc00"]
    packed = pack_strings(strings)
    assert unpack_strings(*packed) == strings
    assert [unpack_string(*packed, i) for i in range(3)] == strings


@pytest.mark.parametrize(
    "offsets", [[], [1, 3], [0, 4], [0, 2], [0, 2, 1, 3], [0, -1, 3], [0, 2**62, 3]]
)
def test_offsets_that_lie_are_refused(offsets: list[int]) -> None:
    with pytest.raises(IndexFileError):
        unpack_strings(np.array(offsets, np.int64), np.zeros(3, np.uint8))


def test_bytes_that_are_no_text_are_refused() -> None:
    bounds, data = np.array([0, 1]), np.array([255], np.uint8)
    with pytest.raises(IndexFileError, match="not UTF-8"):
        unpack_strings(bounds, data)
    with pytest.raises(IndexFileError, match="not UTF-8"):
        unpack_string(bounds, data, 0)
    with pytest.raises(IndexFileError, match="outside"):
        unpack_string(np.array([0, 2]), data, 0)
