"""Tests of strings as pieces of text, which all must occur one after the other."""

from __future__ import annotations

import re
from typing import NamedTuple

from matchwood.lab.bench.peers.two_valued import Kind, Test, attribute_of
from matchwood.lab.bench.rule_engine_syntax import Untranslatable
from matchwood.language.strings import like_pieces
from matchwood.language.tree import Call, Like
from matchwood.language.wildcards import ANY


class Pieces(NamedTuple):
    """Pieces with any text between them; the first begins the value and the last ends it.

    A piece has `ANY` where any one character may stand.
    """

    pieces: tuple[str, ...]
    ignore_case: bool = False

    @classmethod
    def of(cls, test: Test, kind: Kind | None) -> Pieces | None:
        """The pieces of a test of strings; None for any other test."""
        if isinstance(test, Like):
            if test.kind not in ("like", "ilike"):
                raise Untranslatable(f"{test.kind} {test.pattern!r}")
            return cls(like_pieces(test.pattern), test.kind == "ilike")
        if not isinstance(test, Call):
            return None
        attribute_of(test)
        text = test.arguments[1]
        if not isinstance(text, str):
            raise Untranslatable(f"a call of {test.name!r}")
        if kind == "strings":
            return None
        match test.name:
            case "contains":
                return cls(("", text, ""))
            case "startswith":
                return cls((text, ""))
            case "endswith":
                return cls(("", text))
        raise Untranslatable(f"a call of {test.name!r}")

    def expression(self) -> str:
        """A regular expression that the whole value matches.

        >>> Pieces(("a.", "b"), ignore_case=True).expression()
        '(?is)^a\\\\..*b$'
        """
        flags = "is" if self.ignore_case else "s"
        pieces = (re.escape(piece).replace(ANY, ".") for piece in self.pieces)
        return f"(?{flags})^{'.*'.join(pieces)}$"


def member(test: Test, kind: Kind | None) -> str | None:
    """The string that a list must contain; None for any other test."""
    if isinstance(test, Call) and test.name == "contains" and kind == "strings":
        text = test.arguments[1]
        if isinstance(text, str):
            return text
    return None
