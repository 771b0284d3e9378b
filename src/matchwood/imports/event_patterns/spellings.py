"""Texts of patterns, as patterns of the rule language."""

from __future__ import annotations

from typing import Any

from matchwood.imports.imported import Inexpressible

# The two letters of ASCII that are also folded with a letter outside it: the Kelvin sign and ſ.
_FOLDED_WITH_OTHERS = "kKsS"


def string_of(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise Inexpressible(f"expected a string, found {value!r}", place)
    return value


def verbatim(text: str) -> str:
    """A `like` pattern for the text itself.

    >>> verbatim("100%")
    '100\\\\%'
    """
    for special in ("\\", "%", "_"):
        text = text.replace(special, "\\" + special)
    return text


def of_wildcards(text: str, place: str) -> str:
    """A `like` pattern for a text in which `*` is any text; a backslash is before `*` or itself.

    >>> of_wildcards("*.log", "")
    '%.log'
    """
    pattern: list[str] = []
    characters = iter(text)
    for character in characters:
        if character == "*":
            if pattern and pattern[-1] == "%":
                raise Inexpressible("two wildcards follow each other", place)
            pattern.append("%")
            continue
        if character == "\\":
            character = next(characters, "")
            if character not in ("*", "\\"):
                raise Inexpressible("a backslash stands before * or a backslash", place)
        pattern.append(verbatim(character))
    return "".join(pattern)


def ignoring_case(text: str, place: str, start: bool = True, end: bool = True) -> tuple[str, str]:
    """The kind and the text of a pattern that reads each character in lower and upper case.

    That is `ilike` for most of ASCII. It is a regular expression where `ilike` takes further
    characters for the same letter, or where the upper case of one is two.

    >>> ignoring_case("win", "", end=False), ignoring_case("lösen", "")
    (('ilike', 'win%'), ('rlike', '^[lL][öÖ][sS][eE][nN]$'))
    """
    if any(ord(character) > 0xFFFF for character in text):
        raise Inexpressible("event-ruler compares no characters beyond U+FFFF without case", place)
    if text.isascii() and not any(character in _FOLDED_WITH_OTHERS for character in text):
        return "ilike", f"{'' if start else '%'}{verbatim(text)}{'' if end else '%'}"
    either_case = "".join(map(_either_case, text))
    return "rlike", f"{'^' if start else ''}{either_case}{'$' if end else ''}"


def _either_case(character: str) -> str:
    cases = dict.fromkeys((character.lower(), character.upper()))
    if len(cases) == 1:
        return _quoted(character)
    if all(len(case) == 1 for case in cases):
        return f"[{''.join(cases)}]"
    return f"(?:{'|'.join(''.join(map(_quoted, case)) for case in cases)})"


def _quoted(character: str) -> str:
    """A character of a regular expression that stands for itself."""
    if not character.isascii() or character.isalnum():
        return character
    return f"\\x{{{ord(character):x}}}" if ord(character) < 32 else "\\" + character
