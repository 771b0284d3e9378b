"""Where a piece of a `like` pattern occurs, in nearly linear time whatever the piece.

- A piece without `_` is plain text, which Python finds.
- A short piece with `_` is searched for with bit masks, one bit per character of the piece.
- A long piece with `_` is searched for by sums. Each character is a direction in the plane. Where
  piece and value agree, the products of their directions add up to the number of characters other
  than `_` in the piece. Fourier transforms compute the sums of all positions at once.
"""

from __future__ import annotations

import codecs
import math
import random
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Any one character, in a piece. It is half of a surrogate pair, which no pattern or value has.
ANY = "\udfff"

# Text as code points of four bytes. Python imports a codec when it is first used, and a process
# that is forked meanwhile would wait for ever for that import to end: so it is looked up here.
CODE_POINTS = codecs.lookup("utf-32-le").name

# Characters of the longest piece that is searched for with bit masks.
SHORT = 256

# How much a sum may differ from the exact one. The rounding error is below 1e-8 for the longest
# pattern; two characters have directions closer than this in one of ten thousand processes.
_TOLERANCE = 1e-7

# Random, so that nobody can make values of characters whose directions are nearly the same.
_TURN = random.SystemRandom().getrandbits(32) | 1


def find(value: str, piece: str, start: int, end: int) -> int:
    """The first position of a piece in value[start:end]; -1 if it does not occur.

    >>> find("abcabd", f"b{ANY}", 2, 6)
    4
    """
    if ANY not in piece:
        return value.find(piece, start, end)
    if end - start < len(piece):
        return -1
    if len(piece) <= SHORT:
        return _find_by_bits(value, piece, start, end)
    return _find_by_sums(value, piece, start, end)


def is_at(value: str, position: int, piece: str) -> bool:
    """Whether a piece occurs at a position; the value must be long enough for it."""
    if ANY not in piece:
        return value.startswith(piece, position)
    return all(c == ANY or value[position + i] == c for i, c in enumerate(piece))


def _find_by_bits(value: str, piece: str, start: int, end: int) -> int:
    """Bit i of `state` says that the first i + 1 characters of the piece end at this position."""
    masks = _masks(piece)
    wild = masks[ANY]
    whole = 1 << (len(piece) - 1)
    state = 0
    for position in range(start, end):
        state = (state << 1 | 1) & masks.get(value[position], wild)
        if state & whole:
            return position - len(piece) + 1
    return -1


@lru_cache(maxsize=1024)
def _masks(piece: str) -> dict[str, int]:
    """For each character, the positions in the piece that it fits; under ANY, for all others."""
    wild = sum(1 << i for i, c in enumerate(piece) if c == ANY)
    masks = dict.fromkeys(piece, wild)
    for i, c in enumerate(piece):
        masks[c] |= 1 << i
    return masks


def _find_by_sums(value: str, piece: str, start: int, end: int) -> int:
    import numpy as np

    length = len(piece)
    wanted = _codes(piece)
    asked = wanted != ord(ANY)
    size = 1 << (min(2 * length, max(end - start, length)) - 1).bit_length()
    turned = np.conj(np.fft.fft(np.where(asked, _directions(wanted), 0), size))
    most = int(asked.sum()) - _TOLERANCE
    for low in range(start, end - length + 1, size - length + 1):
        text = _codes(value[low : min(end, low + size)])
        sums = np.fft.ifft(np.fft.fft(_directions(text), size) * turned).real
        for offset in np.flatnonzero(sums[: len(text) - length + 1] >= most).tolist():
            if bool(np.all((text[offset : offset + length] == wanted) | ~asked)):
                return low + int(offset)
    return -1


def _codes(text: str) -> NDArray[np.uint32]:
    import numpy as np

    return np.frombuffer(text.encode(CODE_POINTS, "surrogatepass"), "<u4")


def _directions(codes: NDArray[np.uint32]) -> Any:
    import numpy as np

    turns = np.multiply(codes, np.uint32(_TURN), dtype=np.uint32)
    return np.exp(turns * (2j * math.pi / 2**32))
