"""Strings and the patterns that are true of them.

    string ── grams ── candidates ── verified ──┐
           ── RE2: filters and sets ────────────┼── tests that are true
           ── schema, for `isa` ────────────────┘

Modules:

- `pattern_index`: all tests of one attribute that one string decides;
- `expressions`: regular expressions, by the texts that they need or in sets;
- `gram_kernels`: candidates by rare grams, and their verification;
- `wildcard_kernels`: patterns to code points and pieces between wildcards.
"""
