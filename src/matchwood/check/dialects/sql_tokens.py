"""Tokens of SQL as Spark reads it, with escapes in strings and two kinds of quotes."""

from __future__ import annotations

import re
from typing import NamedTuple

_TOKEN = re.compile(
    r"""(?P<space>\s++|--[^\n]*+)
    |(?P<comment>/\*(?:[^*]|\*(?!/))*+(?:\*/)?+)
    |(?P<string>[rR]?+'(?:[^'\\]|\\.|'')*+(?:'|\Z|\\\Z))
    |(?P<double>[rR]?+"(?:[^"\\]|\\.|"")*+(?:"|\Z|\\\Z))
    |(?P<quoted>`(?:[^`]|``)*+(?:`|\Z))
    |(?P<number>(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+)(?P<suffix>\w*+)
    |(?P<variable>\?[^\W\d]\w*+)
    |(?P<name>[^\W\d]\w*+(?:\s*+\.\s*+[^\W\d]\w*+)*+)
    |(?P<symbol><=>|<=|>=|<>|!=|==|->|::|&&|\|\||.)""",
    re.DOTALL | re.VERBOSE,
)


class SqlToken(NamedTuple):
    """A piece of SQL; `word` is its text in lower case, '' for strings and quoted names."""

    kind: str
    text: str
    start: int
    suffix: str = ""

    @property
    def word(self) -> str:
        return "" if self.kind in ("string", "double", "quoted") else self.text.lower()


END = SqlToken("end", "", -1)


def tokens_of(text: str) -> list[SqlToken]:
    """Every token except blanks and line comments."""
    tokens = []
    for match in _TOKEN.finditer(text):
        if match["space"] is not None:
            continue
        kind = next(k for k in _KINDS if match[k] is not None)
        suffix = match["suffix"] or "" if kind == "number" else ""
        tokens.append(SqlToken(kind, match[kind], match.start(kind), suffix))
    return tokens


_KINDS = ("name", "symbol", "number", "string", "double", "quoted", "variable", "comment")
