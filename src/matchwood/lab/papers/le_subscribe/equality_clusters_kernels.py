"""Kernels that look up the combinations of equalities of an event."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from matchwood.kernels.compiled import lean
from matchwood.lab.papers.le_subscribe.postings_kernels import AT, SIZE
from matchwood.lab.papers.le_subscribe.tuples_kernels import position_of


@lean
def eqsubmatch(schemas, schema_start, axes, codes, table, start, pool, lists, entries, items, out):
    """Write the rules to `out`; returns how many, and combinations looked up."""
    rule_count = 0
    visited = 0
    for schema in range(schemas):
        items[0] = schema
        width = 1
        for i in range(schema_start[schema], schema_start[schema + 1]):
            code = codes[axes[i]]
            if code < 0:
                break
            items[width] = code
            width += 1
        if width <= schema_start[schema + 1] - schema_start[schema]:
            continue
        visited += 1
        combination = table[position_of(table, start, pool, items, width)]
        if combination >= 0:
            at, size = lists[combination, AT], lists[combination, SIZE]
            for i in range(at, at + size):
                out[rule_count] = entries[i]
                rule_count += 1
    return rule_count, visited
