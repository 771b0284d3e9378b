"""What may be called how: names in rule text, and the keywords that no name may be."""

from __future__ import annotations

import re

KEYWORDS = frozenset(
    (
        "and",
        "or",
        "xor",
        "xnor",
        "not",
        "is",
        "null",
        "true",
        "false",
        "between",
        "in",
        "like",
        "ilike",
        "rlike",
    )
)

# Words that are special before a parenthesis, in lower case.
SPECIAL_CALLS = frozenset(("any", "every", "at_least", "lower"))

# All words that are special somewhere, in lower case; no operator may have one as its name.
SPECIAL_WORDS = SPECIAL_CALLS | {"list", "unknown", "it"}

# A regular expression for one name: a letter or _, then letters, digits and _.
NAME = r"[^\W\d]\w*+"


def is_name(text: str) -> bool:
    """Whether text reads as one name."""
    return re.fullmatch(NAME, text) is not None


def reserved(word: str) -> bool:
    """Whether a name in lower case is a keyword, or a dotted name that starts with one.

    After a dot every word is a name, so `not.a` is reserved and `a.not` is not.
    """
    return word in KEYWORDS or ("." in word and word.partition(".")[0].rstrip() in KEYWORDS)
