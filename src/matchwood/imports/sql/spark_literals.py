"""Strings and numbers as Spark spells them, and where in a condition something is."""

from __future__ import annotations

import re
import struct
from decimal import Decimal
from typing import Any

from matchwood.check.dialects.sql_tokens import SqlToken
from matchwood.imports.imported import Inexpressible

# What a backslash makes of the character after it; any other character stays what it is.
_ESCAPES = {"0": "\0", "b": "\b", "t": "\t", "n": "\n", "r": "\r", "Z": "\x1a"}
# These two stay escaped, for `like`.
_ESCAPES |= {"%": "\\%", "_": "\\_"}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([01][0-7]{2})|(.))", re.DOTALL)

# Digits to which decimals and doubles are in the same order.
SAFE_DIGITS = 15


def read_string(token: SqlToken, text: str) -> str:
    """The text of a string, in single or in double quotes, raw or with escapes."""
    raw = token.text[0] in "rR"
    body = token.text[1:] if raw else token.text
    quote = body[0]
    if len(body) < 2 or not body.endswith(quote):
        raise refusal(text, token.start, "a string has no end")
    body = body[1:-1]
    if raw:
        if quote in body:
            raise refusal(text, token.start, "a quote in a raw string cannot be told from its end")
        return body
    body = re.sub(rf"(\\.)|{quote}{quote}", lambda pair: pair[1] or quote, body, flags=re.DOTALL)
    unescaped = _ESCAPE.sub(_unescaped, body)
    try:  # \u may have spelled a code point as two surrogates
        return unescaped.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise refusal(text, token.start, "the string holds half of a surrogate pair") from None


def _unescaped(match: re.Match[str]) -> str:
    if match[1] or match[2]:
        return chr(int(match[1] or match[2], 16))
    if match[3]:
        return chr(int(match[3], 8))
    return _ESCAPES.get(match[4], match[4])


def read_number(token: SqlToken, text: str) -> Any:
    """The number, exactly: an int, or a Decimal if it is written as a fraction."""
    suffix = token.suffix.lower()
    if suffix not in ("", "l", "s", "y", "d", "f", "bd"):
        raise refusal(text, token.start, f"{token.text}{token.suffix} is not a number")
    number = Decimal(token.text)
    if suffix == "f":
        try:
            (single,) = struct.unpack("f", struct.pack("f", float(number)))
        except OverflowError:
            raise refusal(text, token.start, f"{token.text}f is no finite float") from None
        return Decimal(repr(single))
    fraction = not token.text.isdigit() or suffix in ("d", "bd")
    if fraction and len(number.as_tuple().digits) > SAFE_DIGITS:
        raise refusal(
            text, token.start, f"a fraction of over {SAFE_DIGITS} digits is rounded in Spark"
        )
    return number if fraction else int(token.text)


def refusal(text: str, at: int, reason: str) -> Inexpressible:
    """What cannot be said, with its line and column."""
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    place = f"line {line}, column {column}" if "\n" in text.strip() else f"column {column}"
    return Inexpressible(reason, place)
