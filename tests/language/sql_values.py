"""Values and literals that are compared with SQL engines."""

import math
from datetime import datetime, timedelta

INTEGERS = [*range(-3, 4), 10**6, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 2, 2**63 - 1]
INTEGERS += [-n for n in INTEGERS]
BEYOND_64_BITS = [2**63, 2**63 + 1, 2**64, -(2**63) - 1, 10**30, 10**30 + 1]
DOUBLES = [0.0, -0.0, 0.1, 0.1 + 0.2, 0.3, -1.5, 1e14 + 0.5, 1e-300, 5e-324, 1e15, math.inf]
DOUBLES += [-number for number in DOUBLES]
DOUBLE_LITERALS = ["0", "0.1", "0.3", "-1.5", ".5", "1e14", "100000000000000.5", "1e-300", "-7"]
DECIMALS = ["0", "0.1", "-0.1", "0.100", "2.5", "12345678901234.567", "-3", "7"]
STRINGS = ["", "a", "A", "ab", "aB", "b", "a b", " a", "a ", "10", "9", "it's", "%", "_", "\\"]
STRINGS += [
    "é",
    "e\u0301",
    "É",
    "ß",
    "ẞ",
    "ss",
    "Σ",
    "ς",
    "\u212a",
    "ı",
    "İ",
    "\uffff",
    "😀",
    "日本",
]
CASED = ["", "a", "A", "ab", "aB", "AB", "é", "É", "aé", "Ö%", "ö_", "日b", "😀"]
ASCII = ["", "a", "A", "ab", "aB", "AB", "b c", "B%"]
SMALL = list(range(-4, 7))
LISTS = [[], [1], [2, 5], [-1, 7, 3], [4, None], [None]]
OBJECTS = [[], [{"p": 1, "q": "a"}], [{"p": 5, "q": "b"}, {"p": 2, "q": "a"}]]
OBJECTS += [[{"p": None, "q": "b"}], [{"p": 4, "q": None}, None], [None]]
EXPRESSIONS = [
    "",
    "a",
    "^a",
    "b$",
    "^(a|é)+$",
    "(?i)AB",
    "[[:upper:]]",
    "^.$",
    "\\d+",
    "\\pL",
    "''",
]
TIMES = [
    datetime(1, 1, 1),
    datetime(1969, 12, 31, 23, 59, 59, 999_999),
    datetime(1970, 1, 1),
    datetime(2026, 1, 31),
    datetime(2026, 1, 31, 10, 0, 0, 1),
    datetime(2026, 2, 1) - timedelta(microseconds=1),
    datetime(9999, 12, 31, 23, 59, 59, 999_999),
]
