"""On which line of a TOML file a key stands; `tomllib` reads values but tells no places.

Only for text that `tomllib` has read: this looks for keys, and does not check anything.
"""

from __future__ import annotations

import re
from ast import literal_eval

Path = tuple[str, ...]

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


def key_lines(text: str) -> dict[Path, int]:
    """The line, from 1, of each table and key, by its full path.

    >>> key_lines('[job]\\nname = "night"\\n[events]\\noptions = { header = true }')
    {('job',): 1, ('job', 'name'): 2, ('events',): 3, ('events', 'options'): 4, ...}
    """
    lines: dict[Path, int] = {}
    table: Path = ()
    opened: list[tuple[str, Path]] = []  # the brackets that a value is inside of, with its key
    key: list[str] = []
    in_value = False
    number = 1
    for token in _TOKEN.finditer(text):
        kind, found = token.lastgroup, token[0]
        top = opened[-1][0] if opened else ""
        if kind in ("string", "bare", "other") and not in_value and top != "[":
            key += _parts(kind, found)
        elif found == "=":
            path = (opened[-1][1] if opened else table) + tuple(key)
            _note(lines, path, number)
            in_value = True
        elif found in ("[", "{"):
            inner = (opened[-1][1] if opened else table) + tuple(key)
            opened.append((found if in_value else "header", inner))
            key = []
            in_value = in_value and found != "{"
        elif found in ("]", "}") and opened:
            shut, _ = opened.pop()
            if shut == "header" and not opened:
                table, key = tuple(key), []
                _note(lines, table, number)
            in_value = shut != "header"
        elif (found == "," and top == "{") or (found == "\n" and not opened):
            key, in_value = [], False
        number += found.count("\n")
    return lines


def _note(lines: dict[Path, int], path: Path, number: int) -> None:
    """A key stands where it is first written; what is above it, where the first of it is."""
    for length in range(1, len(path) + 1):
        lines.setdefault(path[:length], number)


def _parts(kind: str | None, found: str) -> list[str]:
    if kind == "string":
        return [found[1:-1] if found[0] == "'" else _unescaped(found)]
    return [found]


def _unescaped(found: str) -> str:
    try:
        return str(literal_eval(found))
    except (SyntaxError, ValueError):
        return found[1:-1]
