"""The line of each key in a TOML file, which `tomllib` does not tell.

The text must be one that `tomllib` has read: this module looks for keys and checks nothing.
"""

from __future__ import annotations

import re
from ast import literal_eval

KeyPath = tuple[str, ...]

_TOKEN = re.compile(
    r"""
    (?P<skipped>[ \t\r]+|\#[^\n]*)
    |(?P<string>\"\"\"(?:[^\\]|\\.)*?\"{3,5}|'''.*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')
    |(?P<bare>[A-Za-z0-9_+:-]+)
    |(?P<mark>[\n=.,\[\]{}])
    |(?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)


def key_lines(text: str) -> dict[KeyPath, int]:
    """The line, counted from 1, of each table and key, by its full path.

    >>> key_lines('[job]\\nname = "night"\\n[events]\\noptions = { header = true }')
    {('job',): 1, ('job', 'name'): 2, ('events',): 3, ('events', 'options'): 4, ...}
    """
    lines: dict[KeyPath, int] = {}
    table: KeyPath = ()
    opened: list[tuple[str, KeyPath]] = []  # the brackets around a value, each with its key
    key: list[str] = []
    in_value = False
    number = 1
    for token in _TOKEN.finditer(text):
        kind, word = token.lastgroup, token[0]
        top = opened[-1][0] if opened else ""
        if kind in ("string", "bare", "other") and not in_value and top != "[":
            key += _parts(kind, word)
        elif word == "=":
            path = (opened[-1][1] if opened else table) + tuple(key)
            _note(lines, path, number)
            in_value = True
        elif word in ("[", "{"):
            inner = (opened[-1][1] if opened else table) + tuple(key)
            opened.append((word if in_value else "header", inner))
            key = []
            in_value = in_value and word != "{"
        elif word in ("]", "}") and opened:
            shut, _ = opened.pop()
            if shut == "header" and not opened:
                table, key = tuple(key), []
                _note(lines, table, number)
            in_value = shut != "header"
        elif (word == "," and top == "{") or (word == "\n" and not opened):
            key, in_value = [], False
        number += word.count("\n")
    return lines


def _note(lines: dict[KeyPath, int], path: KeyPath, number: int) -> None:
    """Note the line where a key, and each table above it, first occurs."""
    for length in range(1, len(path) + 1):
        lines.setdefault(path[:length], number)


def _parts(kind: str | None, word: str) -> list[str]:
    if kind == "string":
        return [word[1:-1] if word[0] == "'" else _unescaped(word)]
    return [word]


def _unescaped(word: str) -> str:
    try:
        return str(literal_eval(word))
    except (SyntaxError, ValueError):
        return word[1:-1]
