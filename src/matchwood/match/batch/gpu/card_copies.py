"""What is copied to a card once: the program of a segment; and how many threads a launch has."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from matchwood.match.batch.gpu.card_program import LevelledProgram
from matchwood.match.batch.gpu.card_sweep_kernels import CHUNK_RULES, GROUP_CHUNKS
from matchwood.match.batch.gpu.warp_kernels import BLOCK_THREADS, FEWEST_BLOCKS, MOST_BLOCKS


class CardProgramCopy:
    """A program on the card."""

    def __init__(self, program: LevelledProgram) -> None:
        self.program = on_card(program.program)
        self.literals = on_card(program.literals)
        self.keys_at = program.keys_at
        self.literal_count = program.literal_count
        self.node_of_rule = on_card(program.node_of_rule)
        self.level_bounds = program.level_bounds
        self.node_count = program.node_count
        self.groups = max(1, -(-len(program.node_of_rule) // (CHUNK_RULES * GROUP_CHUNKS)))


def on_card(array: NDArray[Any]) -> Any:
    """A copy on the card, of one element at least: there is no array without any."""
    return cuda.to_device(array if array.size else np.zeros(1, array.dtype))


def launch(threads: int, stream: Any) -> tuple[int, int, Any]:
    """The blocks of a launch of so many threads, or fewer that go on, with their stream."""
    blocks = min(MOST_BLOCKS, max(FEWEST_BLOCKS, -(-threads // BLOCK_THREADS)))
    return blocks, BLOCK_THREADS, stream
