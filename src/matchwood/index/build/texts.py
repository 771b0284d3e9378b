"""Rule texts in bulk: compiled code finds the structure, the parser reads each predicate once.

`split` reads UTF-8 text and cuts it at `and`, `or`, `xor`, `xnor`, `not` and parentheses. Between
them are the texts of predicates, of which equal ones are kept once. Nothing is decided about
predicates here: the parser of the language reads each distinct text. A rule is left to the parser
as a whole if it contains a text that the parser refuses, or more than is understood here (comments,
variables, JSON, deep nesting, very long texts).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.text_kernels import (
    FRAME_COLUMNS,
    MOST_LEVELS,
    TEXT_COLUMNS,
    refill_table,
    split_texts,
)
from matchwood.index.build.word_kernels import BYTE_CLASSES
from matchwood.kernels.array_types import Int64Array, UInt8Array


def split(
    data: UInt8Array, offsets: Int64Array
) -> tuple[NDArray[np.int32], Int64Array, Int64Array]:
    """Returns the programs, their bounds, and the bounds of the distinct predicate texts.

    A word of a program that is not an operator is the number of a predicate text.
    """
    rules = len(offsets) - 1
    words = np.empty(int(offsets[-1] - offsets[0]) + 2 * rules + 2, np.int32)
    ends = np.zeros(rules + 1, np.int64)
    table = np.full(1 << 16, -1, np.int32)
    texts = np.empty((1 << 15, TEXT_COLUMNS), np.int64)
    frames = np.empty((MOST_LEVELS + 2, FRAME_COLUMNS), np.int64)
    count = np.zeros(1, np.int64)
    done = 0
    while True:
        done = split_texts(
            BYTE_CLASSES, data, offsets, words, ends, table, texts, frames, count, done
        )
        if done == rules:
            break
        table, texts = _grown(table, texts, int(count[0]))
    return words[: ends[rules]].copy(), ends, texts[: count[0], :2].copy()


def _grown(
    table: NDArray[np.int32], texts: Int64Array, count: int
) -> tuple[NDArray[np.int32], Int64Array]:
    larger = np.full(4 * len(table), -1, np.int32)
    refill_table(larger, texts, count)
    return larger, np.concatenate([texts, np.empty((3 * len(texts), TEXT_COLUMNS), np.int64)])
