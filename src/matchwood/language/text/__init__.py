"""Rule text to tree, and back.

text ──┬── fast_path ──────────────┬── tree ── printing ── canonical text
       └── parser ── operands ─────┘
                       tokens

fast_path   rules of simple predicates, in one pass of a regular expression
parser      every other rule, token by token, and all error messages
operands    what stands beside a comparison or in a call
tokens      names, numbers, strings and symbols, with their positions
printing    the canonical text of a tree
"""
