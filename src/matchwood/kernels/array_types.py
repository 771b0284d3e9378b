"""The types of the arrays that kernels read and write, named by their elements."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]
UInt8Array = NDArray[np.uint8]
UInt64Array = NDArray[np.uint64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
