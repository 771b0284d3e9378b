"""The index: rules as arrays that kernels read and nobody writes again.

    rules ── build ── segment (arrays) ── match
                          │   ▲
                          ▼   │
                          file (one memory-mapped file, validated)

    build   makes a segment out of rules
    file    writes the arrays to one file, reads them back, and checks that kernels can trust them

The index rewrites rules in compiled code of its own, and uses `rewrite` only for what few rules
have: tests of truth, and lists of patterns.
"""
