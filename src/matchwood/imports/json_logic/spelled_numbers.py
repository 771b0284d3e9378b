"""Strings that JavaScript takes for numbers, as regular expressions and as numbers."""

from __future__ import annotations

import re
from decimal import Decimal

from matchwood.imports.imported import Inexpressible

# Digits of a number that strings are compared with; a regular expression names each.
MAX_DIGITS = 40

# White space of JavaScript, around a number in a string.
_SPACE = r"[\s\x{0b}\x{feff}\p{Z}]*"
_ANY = r"\d+(?:\.\d*)?|\.\d+|Infinity"

_PYTHON_SPACE = "\t\n\v\f\r\ufeff\u2028\u2029 \u00a0\u1680\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_OTHER_BASE = re.compile(r"0(?:[xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)")


def number_in(text: str) -> Decimal | None:
    """The number that JavaScript makes of a string; None for NaN."""
    stripped = text.strip(_PYTHON_SPACE)
    if not stripped:
        return Decimal(0)
    if _DECIMAL.fullmatch(stripped):
        return Decimal(repr(float(stripped)))
    if _OTHER_BASE.fullmatch(stripped):
        return Decimal(repr(float(int(stripped, 0))))
    if stripped.lstrip("+-") == "Infinity" and len(stripped) < 10:
        return Decimal(stripped)
    return None


def spelled(op: str, number: int | Decimal, place: str) -> str:
    """The regular expression of the strings whose number compares so with another one.

    The strings are decimals without an exponent; an empty one is 0.

    >>> import re2
    >>> larger = re2.compile(spelled(">", 18, ""))
    >>> [bool(larger.search(text)) for text in ("19", " 018.5 ", "18", "-20", "a")]
    [True, True, False, False, False]
    """
    whole, _, fraction = f"{abs(number):f}".partition(".")
    whole, fraction = whole.lstrip("0"), fraction.rstrip("0")
    if len(whole) + len(fraction) > MAX_DIGITS:
        raise Inexpressible(f"a number of more than {MAX_DIGITS} digits", place)
    forms = _signed(op, number < 0, whole, fraction)
    return f"^{_SPACE}(?:{'|'.join(forms)}){_SPACE}$"


def _signed(op: str, negative: bool, whole: str, fraction: str) -> list[str]:
    """The forms of numbers that compare so with a number of these digits."""
    greater, less = _greater(whole, fraction), _less(whole, fraction)
    equal = _equal(whole, fraction)
    zero = not (whole or fraction)
    if negative:
        op = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(op, op)
    # From here on for the absolute value: what has the same sign, and what has the other.
    same = {"=": equal, ">": greater, ">=": greater + equal, "<": less, "<=": less + equal}[op]
    sign, other = ("-", r"\+?") if negative else (r"\+?", "-")
    forms = [f"{sign}(?:{'|'.join(same)})"] if same else []
    if zero:
        crossed = {"=": equal, ">=": equal, "<": greater, "<=": greater + equal}.get(op, [])
        forms += [f"{other}(?:{'|'.join(crossed)})"] if crossed else []
        return [*forms, ""] if op in ("=", ">=", "<=") else forms
    # An empty string is 0, which is less than any absolute value.
    return [*forms, f"{other}(?:{_ANY})", ""] if op in ("<", "<=") else forms


def _equal(whole: str, fraction: str) -> list[str]:
    if fraction:
        return [rf"0*{whole}\.{fraction}0*"]
    return [rf"0*{whole}(?:\.0*)?"] if whole else [r"0+(?:\.0*)?", r"\.0+"]


def _greater(whole: str, fraction: str) -> list[str]:
    forms = ["Infinity", rf"0*[1-9]\d{{{len(whole)},}}(?:\.\d*)?"]
    for i, digit in enumerate(whole):
        if digit != "9":
            forms.append(rf"0*{whole[:i]}[{int(digit) + 1}-9]{_digits(whole[i + 1 :])}(?:\.\d*)?")
    for i, digit in enumerate(fraction):
        if digit != "9":
            forms.append(rf"0*{whole}\.{fraction[:i]}[{int(digit) + 1}-9]\d*")
    return [*forms, rf"0*{whole}\.{fraction}0*[1-9]\d*"]


def _less(whole: str, fraction: str) -> list[str]:
    forms = []
    if whole:
        shorter = len(whole) - 1
        forms += [rf"0*\d{{0,{shorter}}}\.\d+", r"0+\.?"]
        if shorter:
            forms.append(rf"0*\d{{1,{shorter}}}\.?")
    for i, digit in enumerate(whole):
        least = 0 if i else 1
        if int(digit) > least:
            lower = rf"[{least}-{int(digit) - 1}]{_digits(whole[i + 1 :])}"
            forms.append(rf"0*{whole[:i]}{lower}(?:\.\d*)?")
    for i, digit in enumerate(fraction):
        if digit != "0":
            forms.append(rf"0*{whole}\.{fraction[:i]}[0-{int(digit) - 1}]\d*")
        # A fraction that ends where the other one goes on.
        forms.append(rf"0*{whole}\.{fraction[:i]}" if whole or i else r"0+\.?")
    return [*forms, rf"0*{whole}"] if fraction and whole else forms


def _digits(like: str) -> str:
    """Any digits, as many as there are in a text."""
    return rf"\d{{{len(like)}}}" if like else ""
