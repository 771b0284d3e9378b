"""An array is used again once nobody holds any view of it, and not before."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from matchwood.match.batch.leased_arrays import LeasedArrays
from matchwood.match.batch.sweep import pair_buffers

SIZE = 64


def leased(arrays: LeasedArrays) -> Any:
    return arrays.lease(SIZE, lambda: np.zeros((2, SIZE // 8), np.int32))


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "array": lambda array: array,
    "row": lambda array: array[1],
    "slice of a row": lambda array: array[1][2:3],
    "other type": lambda array: array.reshape(-1).view(np.int64)[:2],
    "transposed": lambda array: array.T[1:],
    "Arrow": lambda array: pa.array(array[0][:3]),
    "slice of Arrow": lambda array: pa.RecordBatch.from_arrays([array[0]], ["a"])[0][1:],
    "bytes": lambda array: memoryview(array[0])[1:],
    "two rows": tuple,
}


@pytest.mark.parametrize("held_by", HOLDERS)
def test_what_is_held_is_not_used_again(held_by: str) -> None:
    arrays = LeasedArrays(4)
    held = HOLDERS[held_by](leased(arrays))
    assert arrays.free_bytes() == 0
    other = leased(arrays)
    other[:] = 7
    del other
    assert arrays.free_bytes() == SIZE
    assert not np.asarray(held).any()
    del held
    assert arrays.free_bytes() == 2 * SIZE


def test_memory_is_used_again_while_it_is_large_enough() -> None:
    arrays = LeasedArrays(4)
    first = leased(arrays)
    address = first.ctypes.data
    del first
    again = leased(arrays)
    assert again.ctypes.data == address
    del again
    larger = arrays.lease(2 * SIZE, lambda: np.zeros(2 * SIZE, np.uint8))
    assert larger.nbytes == 2 * SIZE
    assert arrays.free_bytes() == 0


def test_no_more_are_kept_than_allowed() -> None:
    arrays = LeasedArrays(3)
    several = [leased(arrays) for _ in range(10)]
    assert len({array.ctypes.data for array in several}) == 10
    several.clear()
    assert arrays.free_bytes() == 3 * SIZE


def test_keys_of_many_matches_are_not_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of events are held by one view of their buffer alone."""
    monkeypatch.setattr(pair_buffers, "_buffers", LeasedArrays(4))
    keys = pair_buffers.lease().reshape(-1).view(np.int64)[:5]
    keys[:] = range(5)
    for _ in range(3):
        pair_buffers.lease()[:] = -1
    assert keys.tolist() == [0, 1, 2, 3, 4]


def test_threads_never_share_an_array() -> None:
    arrays = LeasedArrays(4)
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(300):
            array = leased(arrays)
            array[:] = number
            row = array[1]
            del array
            if (row != number).any():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert arrays.free_bytes() <= 4 * SIZE
