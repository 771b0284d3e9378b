"""Writing one value to a whole array in a kernel."""

from __future__ import annotations

from typing import Any

from matchwood.kernels.compiled import inlined


@inlined
def fill_array(array: Any, value: Any) -> None:
    """Write a value everywhere.

    LLVM makes the same of it as of `array[:] = value`, for which Numba itself compiles several
    functions, with checks of shapes, in ten times the time.
    """
    for k in range(len(array)):
        array[k] = value
