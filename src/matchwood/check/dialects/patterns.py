"""Regular expressions of Java that RE2 lacks or reads in another way."""

from __future__ import annotations

import re

# Patterns to look for, and the hint for each. An escaped backslash starts no escape.
_DIFFERENCES = [
    (r"\(\?<?[=!]", "lookaround is not in RE2: write two rlike, joined by and, or and not"),
    (r"\\[1-9]|\\k<", "a backreference is not in RE2, and no pattern replaces it"),
    (r"\(\?>", "an atomic group is not in RE2: write (?:…), nothing backtracks"),
    (r"(?<!\\)[*+?}]\+", "a possessive quantifier is not in RE2: leave the second + out"),
    (r"\[[^\]]*&&", "an intersection of character classes is not in RE2: write the characters out"),
    (r"\\[hHvVRXGZ]", "\\h, \\v, \\R, \\X, \\G and \\Z are not in RE2 or differ"),
    (r"\\[pP]\{(?:java|Is|In|block=)", "RE2 writes \\p{Greek} for \\p{IsGreek}"),
    (r"\\[pP]\{(?:Lower|Upper|Al|Digit|Punct|Space)", "RE2 writes [[:alpha:]] for \\p{Alpha}"),
    (r"\\u[0-9A-Fa-f]{4}", "RE2 writes \\x{00e9} for \\u00e9"),
    (r"\(\?[a-zA-Z]*[xduU]", "RE2 has the flags i, m, s and U, and none of x, d and u"),
]  # fmt: skip
_COMPILED = [(re.compile(r"(?<!\\)(?:\\\\)*" + f"(?:{seek})"), say) for seek, say in _DIFFERENCES]


def java_differences(pattern: str) -> list[str]:
    """Hints for the parts of a pattern that RE2 lacks or reads in another way than Java."""
    return [say for seek, say in _COMPILED if seek.search(pattern)]
