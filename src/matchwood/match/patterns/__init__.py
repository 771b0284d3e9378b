"""Strings and the patterns that are true of them.

    string ── grams ── candidates ── verified ──┐
           ── RE2 sets of expressions ──────────┼── tests that are true
           ── schema, for `isa` ────────────────┘

Modules:

- `pattern_index`: all tests of one attribute that one string decides;
- `expressions`: the text that a regular expression needs, and sets of those that need none;
- `gram_kernels`: candidates by rare grams, and their verification;
- `wildcard_kernels`: patterns to code points and pieces between wildcards.
"""
