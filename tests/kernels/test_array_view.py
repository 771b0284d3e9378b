"""Named tuples of arrays that are handed to kernels by address."""

from typing import NamedTuple

import numpy as np
import pytest

from matchwood.kernels.array_view import ArrayView, Layout


class Some(NamedTuple):
    numbers: np.ndarray
    flags: np.ndarray
    table: np.ndarray


LAYOUT = Layout(Some, np.int32, {"flags": np.uint8}, {"table": 3})


def some(**others):
    arrays = {
        "numbers": np.zeros(4, np.int32),
        "flags": np.zeros(2, np.uint8),
        "table": np.zeros((5, 3), np.int32),
    }
    return Some(**(arrays | others))


def test_arrays_that_fit():
    assert ArrayView((LAYOUT,), some()).tuples[0].table.shape == (5, 3)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("numbers", np.zeros(4, np.int64)),
        ("numbers", np.zeros((4, 1), np.int32)),
        ("numbers", np.zeros(8, np.int32)[::2]),
        ("flags", np.zeros(2, np.int8)),
        ("table", np.zeros(15, np.int32)),
        ("table", np.zeros((5, 4), np.int32)),
    ],
)
def test_arrays_that_a_kernel_would_misread_are_refused(name, array):
    with pytest.raises(TypeError, match=f"Some.{name} is a contiguous array"):
        ArrayView((LAYOUT,), some(**{name: array}))


def test_another_kind_of_tuple_is_refused():
    with pytest.raises(TypeError, match="expected Some, found tuple"):
        ArrayView((LAYOUT,), tuple(some()))


def test_a_layout_names_fields_that_are_there():
    with pytest.raises(TypeError, match="Some has no field size"):
        Layout(Some, np.int32, {"size": np.int64})
