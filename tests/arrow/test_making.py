"""Arrow arrays of Python values: exact types, and no guesses about mixed ones."""

from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from matchwood.arrow.making import Mixed, array_of, by_types, column_or, plain_array


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, None, 2], pa.int64()),
        ([1.5, float("nan")], pa.float64()),
        (["a", None], pa.string()),
        ([True, False], pa.bool_()),
        ([date(2026, 1, 31)], pa.date32()),
        ([datetime(2026, 1, 31, tzinfo=UTC)], pa.timestamp("us", "UTC")),
        ([[1, 2], None, []], pa.list_(pa.int64())),
        ([None, None], pa.null()),
        ([{"a": 1}, {"b": "x"}], pa.struct([("a", pa.int64()), ("b", pa.string())])),
        ([np.int32(5)], pa.int64()),
    ],
)
def test_one_type(values: list[object], kind: pa.DataType) -> None:
    assert array_of(values).type == kind


@pytest.mark.parametrize(
    "values",
    [
        [True, 0.5],
        [1, "1"],
        [date(2026, 1, 31), datetime(2026, 1, 31, 12)],
        [datetime(2026, 1, 31), datetime(2026, 1, 31, tzinfo=UTC)],
        [[1], 1],
        [2**70],
    ],
)
def test_several_types_are_refused(values: list[object]) -> None:
    with pytest.raises(Mixed):
        array_of(values)
    assert plain_array(values) is None


def test_integers_join_floats_that_hold_them_exactly() -> None:
    assert array_of([1, 2.5], joined=True).to_pylist() == [1.0, 2.5]
    with pytest.raises(Mixed):
        array_of([1, 2.5])
    with pytest.raises(Mixed):
        array_of([2**53 + 1, 2.5], joined=True)


def test_plain_arrays_hold_no_objects() -> None:
    assert plain_array([{"a": 1}]) is None
    assert plain_array([[[1]]]) is None
    assert plain_array([Decimal("1.5")]).to_pylist() == [Decimal("1.5")]


def test_rows_by_the_types_of_their_values() -> None:
    assert by_types([(1, "a"), ("b", 2), (3, "c")]) == [[0, 2], [1]]


def test_the_reason_is_passed_on() -> None:
    with pytest.raises(KeyError, match="several types: int, str"):
        column_or([1, "a"], KeyError)
