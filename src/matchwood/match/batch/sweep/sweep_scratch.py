"""What one thread writes while it sweeps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.masks import WORDS
from matchwood.match.batch.sweep.pair_buffers import PairBuffer
from matchwood.match.batch.sweep.program_kernels import RUN_LITERALS, RUN_NODES
from matchwood.match.batch.sweep.slot_kernels import BLOCK
from matchwood.match.batch.sweep.sweep_kernels import MOST_OPERANDS, SweepState
from matchwood.match.batch.sweep.sweep_program import SweepProgram

# Bytes that vectors are aligned to: those of a cache line.
_LINE = 64


class SweepScratch:
    """Arrays that are large enough for each of some programs."""

    def __init__(
        self, programs: Sequence[SweepProgram], slots: int, codes: int, opaque: int
    ) -> None:
        self.programs = programs
        self.masks = _aligned(0)
        self.shifts = np.empty(WORDS * (slots + 1), np.uint8)
        self.prefix = np.empty(codes, np.uint64)
        self.words = np.empty(max(len(program.keys) for program in programs), np.uint64)
        self.temporary = _aligned(WORDS)
        self.true = np.zeros(WORDS * max(1, opaque), np.uint64)
        used = max(int(program.used[0]) for program in programs)
        widest = max(
            int((program.runs[:, RUN_LITERALS] + program.runs[:, RUN_NODES]).max(initial=1))
            for program in programs
        )
        self.state = SweepState(
            np.zeros(used // 64 + 1, np.uint64),
            np.empty(2 * max(MOST_OPERANDS, widest), np.int32),
            np.empty(2 * max(MOST_OPERANDS, widest), np.int32),
            np.empty(2 * (BLOCK + 1), np.int32),
            np.empty(BLOCK, np.uint8),
        )
        self.buffer = PairBuffer()

    def make_room(self, rows: int) -> None:
        """Have masks for so many rows."""
        if len(self.masks) < WORDS * rows:
            self.masks = _aligned(WORDS * rows)


def _aligned(words: int) -> NDArray[np.uint64]:
    """So many words from the start of a cache line on."""
    array = np.empty(words + _LINE // 8, np.uint64)
    skipped = -array.ctypes.data % _LINE // 8
    return array[skipped : skipped + words]
