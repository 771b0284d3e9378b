"""Patterns over strings: `like`, `ilike` and `rlike`.

`like` is a sequence of pieces between `%`s, each a sequence of characters and `_`s. `ilike`
compares after simple case folding, code point by code point. `rlike` is RE2, searched anywhere.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from matchwood.language.errors import RuleError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# RE2 expands `x{1000}` before it refuses what is too large: gigabytes for a pattern of 1 MiB.
MAX_PATTERN = 32_768

ANY = None  # in a piece: any one character

Piece = tuple[str | None, ...]


@lru_cache(maxsize=4096)
def like_pieces(pattern: str) -> tuple[Piece, ...]:
    """The pieces of a `like` pattern: 'a%b_' is (('a',), ('b', ANY)), split at its `%`s."""
    pieces: list[Piece] = []
    piece: list[str | None] = []
    characters = iter(pattern)
    for character in characters:
        if character == "\\":
            escaped = next(characters, "")
            if escaped not in ("%", "_", "\\"):
                found = f"'\\{escaped}'" if escaped else "the end of the pattern"
                raise RuleError(
                    f"in a like pattern a backslash stands before %, _ or \\, found {found}"
                )
            piece.append(escaped)
        elif character == "%":
            pieces.append(tuple(piece))
            piece = []
        else:
            piece.append(ANY if character == "_" else character)
    pieces.append(tuple(piece))
    return tuple(pieces)


def like(value: str, pattern: str) -> bool:
    """Whether `pattern` covers the whole of `value`."""
    return _covers(value, like_pieces(pattern))


def ilike(value: str, pattern: str) -> bool:
    """`like`, both sides folded."""
    folded = tuple(
        tuple(c if c is ANY else fold_character(c) for c in piece) for piece in like_pieces(pattern)
    )
    return _covers(fold_case(value), folded)


def fold_case(text: str) -> str:
    """Unicode simple case folding, code point by code point: the length stays as it is."""
    if text.isascii():
        return text.lower()
    return "".join(map(fold_character, text))


@lru_cache(maxsize=65536)
def fold_character(character: str) -> str:
    for folded in (character.casefold(), character.lower()):
        if len(folded) == 1:
            return folded
    return character


def _covers(value: str, pieces: Sequence[Piece]) -> bool:
    """The first piece at the start, the last at the end, the others in turn, leftmost first."""
    first, last = pieces[0], pieces[-1]
    if len(pieces) == 1:
        return len(value) == len(first) and _at(value, 0, first)
    if len(value) < len(first) + len(last):
        return False
    end = len(value) - len(last)
    if not (_at(value, 0, first) and _at(value, end, last)):
        return False
    position = len(first)
    for piece in pieces[1:-1]:
        position = _find(value, piece, position, end)
        if position < 0:
            return False
        position += len(piece)
    return True


def _at(value: str, position: int, piece: Piece) -> bool:
    return all(c is ANY or value[position + i] == c for i, c in enumerate(piece))


def _find(value: str, piece: Piece, start: int, end: int) -> int:
    for position in range(start, end - len(piece) + 1):
        if _at(value, position, piece):
            return position
    return -1


@lru_cache(maxsize=4096)
def regular_expression(pattern: str) -> Any:
    """The compiled RE2 expression; a RuleError for what RE2 refuses."""
    import re2

    if len(pattern) > MAX_PATTERN:
        raise RuleError(f"the pattern of 'rlike' has at most {MAX_PATTERN:,} characters")
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else "?"
        shown = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise RuleError(f"RE2 refuses the pattern of 'rlike': {shown}") from None


def rlike(value: str, pattern: str) -> bool:
    """Whether RE2 finds `pattern` anywhere in `value`."""
    compiled = regular_expression(pattern)
    return asked(compiled, compiled.search, value) is not None


# RE2 searches without Python's lock, and with locks of its own, which a forked process would find
# held for good: what another thread was searching with is not used there.
_asked: list[Any] = []  # append and remove are atomic
_left: list[Any] = []


def asked(compiled: Any, search: Callable[[Any], Any], text: Any) -> Any:
    """The result of a search with something that RE2 compiled."""
    _asked.append(compiled)
    try:
        return search(text)
    finally:
        _asked.remove(compiled)


def is_left(compiled: Any) -> bool:
    """Whether a thread of the process that this one was forked from was searching with it."""
    return bool(_left) and any(one is compiled for one in _left)


def _after_fork() -> None:
    if _asked:
        import re2

        _left.extend(_asked)
        _asked.clear()
        regular_expression.cache_clear()
        re2.purge()


os.register_at_fork(after_in_child=_after_fork)
