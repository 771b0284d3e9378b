"""JSON texts however they are given, in blocks that lie in one run of bytes each.

Texts are the lines of a file or of bytes, a column of Arrow, or any iterable of texts. An event is
a text that is not blank; events are numbered from 0 on, and a line or row keeps its number.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from matchwood.kernels.array_types import BoolArray, Int64Array
from matchwood.kernels.readiness import kernels_ready
from matchwood.kernels.text_bytes import address_of_buffer, address_of_bytes
from matchwood.language.errors import EventError
from matchwood.match.json.json_batches import Texts
from matchwood.match.json.json_token_kernels import line_bounds

# Bytes of a file that are read at a time, and at least those of its longest line.
_BLOCK = 1 << 23

# Lines, or texts, of a block.
_MOST_TEXTS = 1 << 15

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class TextBlock(NamedTuple):
    """Some texts, the number of the first as an event, and the line or row of each, from 1."""

    texts: Texts
    first: int
    lines: Int64Array
    null: BoolArray | None = None  # of each text, whether there is none

    def text(self, number: int) -> bytes:
        """One text; an EventError if it is null."""
        if self.null is not None and self.null[number]:
            raise EventError("the event is null")
        return self.texts.bytes_of(number)


def blocks_of(texts: Any) -> Iterator[TextBlock]:
    """The texts of bytes or a file of lines, of an Arrow column, or of an iterable."""
    if isinstance(texts, pa.Array | pa.ChunkedArray):
        return _of_column(texts)
    if isinstance(texts, str):
        return _of_lines(iter([texts.encode("utf-8", "surrogatepass")]))
    if isinstance(texts, bytes | bytearray | memoryview):
        return _of_lines(iter([bytes(texts)]))
    if isinstance(texts, os.PathLike):
        return _of_lines(_read_path(texts))
    if hasattr(texts, "read"):
        return _of_lines(_read(texts))
    return _of_iterable(iter(texts))


def _read_path(path: os.PathLike[str]) -> Iterator[bytes]:
    with open(path, "rb") as file:
        yield from _read(file)


def _read(file: Any) -> Iterator[bytes]:
    """The bytes of a file in pieces that end with a line."""
    rest = b""
    while piece := file.read(_BLOCK):
        if isinstance(piece, str):
            raise TypeError("the file gives text: open it as bytes, with mode 'rb'")
        end = piece.rfind(b"\n") + 1
        if end:
            yield rest + piece[:end]
            rest = piece[end:]
        else:
            rest += piece
    if rest:
        yield rest


class LineBlocks:
    """Makes blocks of the lines of pieces, and knows which line and which event comes next."""

    def __init__(self) -> None:
        self.line = 1
        self.event = 0

    def blocks(self, piece: bytes) -> Iterator[TextBlock]:
        """The lines of the next piece, which ends with a line."""
        marked = self.line == 1 and piece.startswith(_BYTE_ORDER_MARK)
        at = len(_BYTE_ORDER_MARK) if marked else 0
        address = address_of_bytes(piece)
        while at < len(piece):
            starts, ends, lines = (np.empty(_MOST_TEXTS, np.int64) for _ in range(3))
            if kernels_ready():
                found, at, self.line = line_bounds(
                    address, at, len(piece), self.line, starts, ends, lines
                )
            else:
                found, at, self.line = _find_lines(piece, at, self.line, starts, ends, lines)
            left_out = np.zeros(found, np.uint8)
            texts = Texts(address, starts[:found], ends[:found], left_out, piece)
            first = self.event
            self.event += found
            yield TextBlock(texts, first, lines[:found])

    def pass_over(self) -> None:
        """A line was left out: it counts as an event that cannot be read."""
        self.line += 1
        self.event += 1


def _find_lines(
    piece: bytes, at: int, line: int, starts: Int64Array, ends: Int64Array, lines: Int64Array
) -> tuple[int, int, int]:
    """What `line_bounds` does, while kernels are being compiled."""
    found = 0
    while at < len(piece) and found < len(starts):
        newline = piece.find(b"\n", at)
        end = len(piece) if newline < 0 else newline
        if piece[at:end].strip():
            starts[found], ends[found], lines[found] = at, end, line
            found += 1
        at = end + 1
        line += 1
    return found, min(at, len(piece)), line


def _of_lines(pieces: Iterator[bytes]) -> Iterator[TextBlock]:
    lines = LineBlocks()
    for piece in pieces:
        yield from lines.blocks(piece)


def _of_column(column: Any) -> Iterator[TextBlock]:
    """The texts of a column of strings or bytes; null is left to whoever reads it."""
    event = 0
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        if not _is_text(chunk.type):
            raise TypeError(f"expected a column of strings or bytes, found {chunk.type}")
        array = chunk if _has_offsets(chunk.type) else chunk.cast(pa.large_binary())
        for low in range(0, len(array), _MOST_TEXTS):
            yield _of_array(array.slice(low, _MOST_TEXTS), event)
            event += min(_MOST_TEXTS, len(array) - low)


def _is_text(kind: Any) -> bool:
    types = pa.types
    views = types.is_string_view(kind) or types.is_binary_view(kind)
    return _has_offsets(kind) or views or types.is_fixed_size_binary(kind)


def _has_offsets(kind: Any) -> bool:
    types = pa.types
    return any(
        test(kind)
        for test in (types.is_string, types.is_binary, types.is_large_string, types.is_large_binary)
    )


def _of_array(array: Any, event: int) -> TextBlock:
    wide = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    _, bounds, data = array.buffers()
    offsets = np.frombuffer(bounds, np.int64 if wide else np.int32) if bounds else np.zeros(1)
    offsets = offsets[array.offset : array.offset + len(array) + 1].astype(np.int64)
    data = pa.py_buffer(b"") if data is None else data
    left_out = np.zeros(len(array), np.uint8)
    null = np.asarray(array.is_null())
    left_out[null] = 1
    starts, ends = np.ascontiguousarray(offsets[:-1]), np.ascontiguousarray(offsets[1:])
    texts = Texts(address_of_buffer(data), starts, ends, left_out, data)
    return TextBlock(texts, event, np.arange(event + 1, event + len(array) + 1), null)


def _of_iterable(texts: Iterator[Any]) -> Iterator[TextBlock]:
    event = 0
    while some := list(islice(texts, _MOST_TEXTS)):
        pieces = [_bytes_of(text) for text in some]
        ends = np.cumsum([len(piece) for piece in pieces], dtype=np.int64)
        starts = np.r_[0, ends[:-1]]
        joined = b"".join(pieces)
        left_out = np.zeros(len(some), np.uint8)
        block = Texts(address_of_bytes(joined), starts, ends, left_out, joined)
        yield TextBlock(block, event, np.arange(event + 1, event + len(some) + 1))
        event += len(some)


def _bytes_of(text: Any) -> bytes:
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")
    if isinstance(text, bytes | bytearray | memoryview):
        return bytes(text)
    raise TypeError(f"a JSON text is bytes or a string, found {type(text).__name__}")


def count_of(texts: Iterable[Any]) -> int:
    """How many texts there are about; at least so many."""
    return len(texts) if isinstance(texts, list | tuple | pa.Array | pa.ChunkedArray) else 1
