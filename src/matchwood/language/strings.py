"""Patterns over strings: `like`, `ilike` and `rlike`.

A `like` pattern is a sequence of pieces between `%`s; each piece is text of characters and `_`s,
which `wildcards` finds. `ilike` compares after simple case folding, code point by code point.
`rlike` searches for an RE2 expression anywhere in a string.
"""

from __future__ import annotations

import os
from functools import lru_cache
from sys import getsizeof
from typing import TYPE_CHECKING, Any

from matchwood.language.errors import RuleError
from matchwood.language.remembered import remembered_by_text
from matchwood.language.wildcards import ANY, find, is_at

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Characters of a regular expression. RE2 expands `x{1000}` before it refuses an expression as too
# large, which takes gigabytes for one of 1 MiB.
MAX_PATTERN = 32_768

# Steps of RE2's program for an expression; a little more may pass.
MAX_PROGRAM_STEPS = 40_000

# Bytes of memory with which RE2 refuses programs of more than `MAX_PROGRAM_STEPS` steps.
PROGRAM_MEMORY = 16 * MAX_PROGRAM_STEPS

# Bytes of memory for a search; this is RE2's default.
SEARCH_MEMORY = 8 << 20

# Bytes of memory for a search with a single expression: for each step of its program, and at least.
# RE2 writes the states down that a search passes through, and forgets them when this is used up.
_STEP_MEMORY = 1 << 10
_LEAST_MEMORY = 256 << 10

# Budgets, in bytes, of what is remembered of patterns, and of compiled expressions with the memory
# that their searches may take.
_PATTERN_BUDGET = 8 << 20
_COMPILED_BUDGET = 128 << 20


def _size_of_pieces(_: str, pieces: tuple[str, ...]) -> int:
    return getsizeof(pieces) + sum(map(getsizeof, pieces))


@remembered_by_text(_PATTERN_BUDGET, _size_of_pieces)
def like_pieces(pattern: str) -> tuple[str, ...]:
    """The pieces of a `like` pattern, split at its `%`s: 'a%b_' is ('a', 'b' + ANY)."""
    pieces: list[str] = []
    piece: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character == "\\":
            escaped = next(characters, "")
            if escaped not in ("%", "_", "\\"):
                shown = f"'\\{escaped}'" if escaped else "the end of the pattern"
                raise RuleError(
                    f"in a like pattern a backslash stands before %, _ or \\, found {shown}"
                )
            piece.append(escaped)
        elif character == "%":
            pieces.append("".join(piece))
            piece = []
        else:
            piece.append(ANY if character == "_" else character)
    pieces.append("".join(piece))
    return tuple(pieces)


@remembered_by_text(_PATTERN_BUDGET, _size_of_pieces)
def folded_pieces(pattern: str) -> tuple[str, ...]:
    """The pieces of an `ilike` pattern, folded."""
    return tuple(map(fold_case, like_pieces(pattern)))


def like(value: str, pattern: str) -> bool:
    """Whether `pattern` matches the whole of `value`."""
    return _covers(value, like_pieces(pattern))


def ilike(value: str, pattern: str) -> bool:
    """`like`, regardless of case."""
    return _covers(fold_case(value), folded_pieces(pattern))


def fold_case(text: str) -> str:
    """Unicode simple case folding, code point by code point, which keeps the length."""
    if text.isascii():
        return text.lower()
    return "".join(map(fold_character, text))


@lru_cache(maxsize=65536)
def fold_character(character: str) -> str:
    """One character after simple case folding."""
    for folded in (character.casefold(), character.lower()):
        if len(folded) == 1:
            return folded
    return character


def _covers(value: str, pieces: Sequence[str]) -> bool:
    """Whether a value starts with the first piece, ends with the last, with the others between."""
    first, last = pieces[0], pieces[-1]
    if len(pieces) == 1:
        return len(value) == len(first) and is_at(value, 0, first)
    if len(value) < len(first) + len(last):
        return False
    end = len(value) - len(last)
    if not (is_at(value, 0, first) and is_at(value, end, last)):
        return False
    position = len(first)
    for piece in pieces[1:-1]:
        position = find(value, piece, position, end)
        if position < 0:
            return False
        position += len(piece)
    return True


def program_size(pattern: str) -> int:
    """The number of steps of RE2's program; a RuleError if RE2 refuses the expression."""
    size, refusal = compiled_program(pattern)
    if refusal:
        raise RuleError(refusal)
    return size


def _size_of_program(_: str, program: tuple[int, str]) -> int:
    return getsizeof(program) + getsizeof(program[1])


@remembered_by_text(_PATTERN_BUDGET, _size_of_program)
def compiled_program(pattern: str) -> tuple[int, str]:
    """The number of steps, and why RE2 refuses the expression, or '' if it does not.

    RE2 gets little memory for it, so that no expression takes more than milliseconds to compile:
    it expands repetitions, and `\\pL` alone has over a thousand steps.
    """
    import re2

    if len(pattern) > MAX_PATTERN:
        return 0, f"the pattern of 'rlike' has at most {MAX_PATTERN:,} characters"
    try:
        return int(re2.compile(pattern, search_options(PROGRAM_MEMORY)).programsize), ""
    except re2.error as error:
        reason = error.args[0] if error.args else "?"
        shown = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        if "too large" in shown:
            shown += f": over {MAX_PROGRAM_STEPS:,} steps, "
            shown += "repetitions and classes of characters written out"
        return 0, f"RE2 refuses the pattern of 'rlike': {shown}"


def _expression_memory(pattern: str) -> int:
    """Bytes that a single expression and its searches may take."""
    return min(SEARCH_MEMORY, max(_LEAST_MEMORY, _STEP_MEMORY * program_size(pattern)))


@remembered_by_text(_COMPILED_BUDGET, lambda pattern, _: _expression_memory(pattern))
def regular_expression(pattern: str) -> Any:
    """The compiled RE2 expression, with memory for fast searches; a RuleError if RE2 refuses it."""
    import re2

    return re2.compile(pattern, search_options(_expression_memory(pattern)))


def search_options(memory: int = SEARCH_MEMORY) -> Any:
    """Options of RE2 for an expression, with the bytes of memory that it may take."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = memory
    return options


def rlike(value: str, pattern: str) -> bool:
    """Whether RE2 finds `pattern` anywhere in `value`."""
    compiled = regular_expression(pattern)
    return asked(compiled, compiled.search, value) is not None


# RE2 searches without Python's lock, and has locks of its own. If a process forks while another
# thread is searching, these locks stay locked in the child, which must not use that expression.

# What threads are searching with at the moment; append and remove are atomic.
_asked: list[Any] = []

# What threads of the parent process were searching with when this process was forked.
_left: list[Any] = []


def asked(compiled: Any, search: Callable[[Any], Any], text: Any) -> Any:
    """The result of a search with something that RE2 compiled, which is noted for forks."""
    _asked.append(compiled)
    try:
        return search(text)
    finally:
        _asked.remove(compiled)


def is_left(compiled: Any) -> bool:
    """Whether the parent process was searching with it when this process was forked."""
    return bool(_left) and any(left is compiled for left in _left)


def _after_fork() -> None:
    if _asked:
        import re2

        _left.extend(_asked)
        _asked.clear()
        regular_expression.known.clear()
        re2.purge()


os.register_at_fork(after_in_child=_after_fork)
