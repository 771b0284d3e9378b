"""Matches as pairs of numbers: what strategies find and hand on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import Int32Array

# Numbers of events, those that come from a card with 16 bits.
EventNumbers = NDArray[np.int32] | NDArray[np.uint16]

# Matches: numbers of events and numbers of rules, two arrays of the same length.
Pairs = tuple[EventNumbers, Int32Array]

# Pairs that are gathered before they are handed on, and that a buffer has room for.
BUFFERED_PAIRS = 1 << 20
