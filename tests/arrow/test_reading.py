"""Python values of Arrow arrays, whatever encodes them, and slices of them."""

from datetime import date

import numpy as np
import pyarrow as pa
import pytest

from matchwood import EventError
from matchwood.arrow.reading import decoded, only_rows_tell, rows_of, values_of

MAP = pa.map_(pa.string(), pa.int64())
RUNS = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["a", "b"]))
ARRAYS = [
    (pa.array([1, None, 3]), [1, None, 3]),
    (pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
    (RUNS, ["a", "a", "b"]),
    (pa.array([[1], None, []]), [[1], None, []]),
    (pa.array([[1, 2], [3, 4], None], pa.list_(pa.int64(), 2)), [[1, 2], [3, 4], None]),
    (pa.array([{"a": 1}, None, {"a": None}]), [{"a": 1}, None, {"a": None}]),
    (pa.array([[("k", 1), ("k", 2)], None, []], MAP), [{"k": 2}, None, {}]),
    (pa.array([0, None, 86_400_000], pa.date64()), [date(1970, 1, 1), None, date(1970, 1, 2)]),
]


@pytest.mark.parametrize(("array", "values"), ARRAYS, ids=[str(a.type) for a, _ in ARRAYS])
def test_values(array: pa.Array, values: list[object]) -> None:
    assert values_of(array) == values
    assert values_of(array.slice(1)) == values[1:]
    assert values_of(pa.chunked_array([array, array.slice(2)])) == [*values, values[2]]


@pytest.mark.parametrize("array", [array for array, _ in ARRAYS[:6]], ids=lambda a: str(a.type))
def test_decoded_arrays_have_the_same_values(array: pa.Array) -> None:
    assert values_of(decoded(pa.chunked_array([array, array]))) == 2 * values_of(array)


def test_times_beyond_python_are_those_of_numpy() -> None:
    [value] = values_of(pa.array([2**62], pa.timestamp("s")))
    assert value == np.datetime64(2**62, "s")


def test_text_that_is_not_utf_8() -> None:
    [value] = values_of(pa.array([b"\xff"], pa.binary()).view(pa.string()))
    assert value == "\udcff"


def test_rows() -> None:
    assert rows_of(pa.table({"a": [1, 2], "b": ["x", None]})) == [
        {"a": 1, "b": "x"},
        {"a": 2, "b": None},
    ]
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(EventError, match="two columns have this name"):
        rows_of(twice)


def test_what_only_rows_tell() -> None:
    told = [MAP, pa.list_(pa.struct([("a", pa.int64())])), pa.struct([("m", MAP)])]
    assert all(map(only_rows_tell, told))
    assert not any(map(only_rows_tell, [pa.int64(), pa.list_(pa.string()), RUNS.type]))
