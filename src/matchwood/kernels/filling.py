"""Writing to many places of an array in a kernel.

LLVM makes the same of these functions as of `array[:] = …`, for which Numba itself compiles several
functions, with checks of shapes, in ten times the time.
"""

from __future__ import annotations

from typing import Any

from matchwood.kernels.compiled import inlined


@inlined
def fill_array(array: Any, value: Any) -> None:
    """Write a value everywhere."""
    for k in range(len(array)):
        array[k] = value


@inlined
def copy_items(source: Any, target: Any, count: int) -> None:
    """Write the first items of one array to another one."""
    for k in range(count):
        target[k] = source[k]
