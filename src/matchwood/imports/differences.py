"""Kinds of events of which an imported rule may answer otherwise than its original.

What a rule says is exact, but some events have what matchwood and another format read in different
ways: null, for example. A rule names the kinds of events for which this matters to it.
"""

from __future__ import annotations

NULLS = "nulls"
NESTED_LISTS = "nested-lists"
LARGE_NUMBERS = "large-numbers"
ADDRESSES = "addresses"
DOTTED_NAMES = "dotted-names"
LISTS = "lists"
NUMBER_STRINGS = "number-strings"
ROUNDED_SUMS = "rounded-sums"
EMPTY_STRINGS = "empty-strings"
RARE_CHARACTERS = "rare-characters"
MISSING_STRINGS = "missing-strings"

# What such an event has.
EVENT_KINDS: dict[str, str] = {
    NULLS: "null, which counts as missing",
    NESTED_LISTS: "a list directly in a list",
    LARGE_NUMBERS: "an integer beyond 2**53, which a float of 64 bits may not hold",
    ADDRESSES: "an address in an unusual spelling, or a number that may be read as an address",
    DOTTED_NAMES: "a part of an object under a name with a dot",
    LISTS: "a list or an object where the rule asks for a single value",
    NUMBER_STRINGS: "a number in a string, with an exponent, in another base or of many digits",
    ROUNDED_SUMS: "numbers whose sum a float of 64 bits rounds",
    EMPTY_STRINGS: "an empty string in which the rule searches for an attribute",
    RARE_CHARACTERS: "characters beyond U+FFFF in strings that the rule puts in order",
    MISSING_STRINGS: "a string that the rule compares with an attribute that is missing",
}

# Integers of at least this size are rounded when they become floats of 64 bits.
FIRST_ROUNDED = 2**53
