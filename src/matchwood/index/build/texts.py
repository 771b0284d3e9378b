"""Rule texts in bulk: compiled code finds the structure, the parser reads each predicate once.

`split` reads UTF-8 text and cuts it at `and`, `or`, `xor`, `xnor`, `not` and parentheses. Between
them are the texts of predicates, of which equal ones are kept once. Nothing is decided about
predicates here: the parser of the language reads each distinct text. A rule is left to the parser
as a whole if it contains a text that the parser refuses, or more than is understood here (comments,
variables, JSON, deep nesting, very long texts).

Threads cut a run of rules each, and number the texts that they find. Their texts are then numbered
again, in the order of the runs. As each number is given at the first use of a text, the numbers are
the same however many threads there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from matchwood.index.build.predicate_text_kernels import (
    SPAN_COLUMNS,
    TEXT_COLUMNS,
    merge_texts,
    refill_table,
    replace_numbers,
)
from matchwood.index.build.text_kernels import (
    FRAME_COLUMNS,
    MOST_LEVELS,
    PROGRESS_NUMBERS,
    RULES_DONE,
    SPANS,
    TEXTS_FOUND,
    WORDS_WRITTEN,
    split_texts,
)
from matchwood.index.build.threads import in_threads, pieces_of
from matchwood.kernels.array_types import Int32Array, Int64Array, UInt8Array
from matchwood.kernels.hash_entries import EMPTY

# Entries of a table of texts at first; it grows to at least twice the number of texts.
_FEWEST_ENTRIES = 1 << 12

# Texts that are encoded together; those of ASCII alone are encoded at once.
_TEXTS_AT_ONCE = 1_000


class SplitTexts(NamedTuple):
    """The programs of rules; a word that is not an operator is the number of a predicate text."""

    words: Int32Array
    ends: Int64Array  # the program of rule i: words[ends[i]:ends[i + 1]]
    texts: Int64Array  # of each text, the bytes that it lies between, and its hash


def split(data: UInt8Array, offsets: Int64Array, threads: int = 1) -> SplitTexts:
    """The programs of the rules data[offsets[i]:offsets[i + 1]], over distinct predicate texts."""
    pieces = pieces_of(len(offsets) - 1, threads)
    split_pieces: list[SplitTexts] = in_threads(
        [partial(_piece, data, offsets[low : high + 1]) for low, high in pieces], threads
    )
    if len(split_pieces) == 1:
        return split_pieces[0]
    texts, numbers = merged_texts(data, [piece.texts for piece in split_pieces])
    in_threads(
        [
            partial(replace_numbers, piece.words, mine)
            for piece, mine in zip(split_pieces, numbers, strict=True)
        ],
        threads,
    )
    words = np.concatenate([piece.words for piece in split_pieces])
    lengths = np.concatenate([np.diff(piece.ends) for piece in split_pieces])
    return SplitTexts(words, np.r_[0, np.cumsum(lengths)], texts)


def _piece(data: UInt8Array, offsets: Int64Array) -> SplitTexts:
    """One run of rules, in one thread."""
    rules = len(offsets) - 1
    words = np.empty(int(offsets[-1] - offsets[0]) + 2 * rules + 2, np.int32)
    ends = np.zeros(rules + 1, np.int64)
    spans = np.empty((SPANS, SPAN_COLUMNS), np.int64)
    frames = np.empty((MOST_LEVELS + 2, FRAME_COLUMNS), np.int64)
    progress = np.zeros(PROGRESS_NUMBERS, np.int64)
    known, entries = np.empty((0, TEXT_COLUMNS), np.int64), _FEWEST_ENTRIES
    while True:
        table, texts = _table(entries)
        count = len(known)
        texts[:count] = known
        refill_table(table, texts, count)
        split_texts(data, offsets, words, ends, table, texts, spans, frames, progress)
        known = texts[: progress[TEXTS_FOUND]]
        done = int(progress[RULES_DONE])
        if done == rules:
            return SplitTexts(words[: progress[WORDS_WRITTEN]].copy(), ends, known.copy())
        next_rule = int(offsets[done + 1] - offsets[done])
        entries = max(4 * len(table), 2 * (len(known) + next_rule))


def _table(entries: int) -> tuple[Int64Array, Int64Array]:
    """An empty table with at least so many entries, and room for half as many texts."""
    size = 1 << max(4, (entries - 1).bit_length())
    return np.full(size, EMPTY, np.int64), np.empty((size // 2, TEXT_COLUMNS), np.int64)


def merged_texts(
    data: UInt8Array, pieces: Sequence[Int64Array]
) -> tuple[Int64Array, list[Int32Array]]:
    """The distinct texts of all pieces, and the number of each text of each piece."""
    table, texts = _table(2 * sum(map(len, pieces)))
    count = 0
    numbers = []
    for piece in pieces:
        mine = np.empty(len(piece), np.int32)
        count = int(merge_texts(data, piece, table, texts, count, mine))
        numbers.append(mine)
    return texts[:count].copy(), numbers


def utf8_of(rules: Sequence[object]) -> tuple[UInt8Array, Int64Array]:
    """All texts among the rules as one run of bytes, and their bounds.

    What is no text, or is not valid Unicode, is empty, so that it is left to the parser.
    """
    runs: list[bytes] = []
    lengths: list[int] = []
    for low in range(0, len(rules), _TEXTS_AT_ONCE):
        texts = [
            rule if isinstance(rule, str) else "" for rule in rules[low : low + _TEXTS_AT_ONCE]
        ]
        run = "".join(texts)
        if not run.isascii():
            encoded = [_utf8(text) for text in texts]
            runs.append(b"".join(encoded))
            lengths += map(len, encoded)
        else:
            runs.append(run.encode())
            lengths += map(len, texts)
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return np.frombuffer(b"".join(runs), np.uint8), offsets


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return b""
