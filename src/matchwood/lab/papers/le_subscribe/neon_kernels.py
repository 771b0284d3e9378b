"""Kernels of Neon: matching over the tables of predicates and operations."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from matchwood.kernels.compiled import lean
from matchwood.lab.papers.le_subscribe.postings_kernels import AT, SIZE
from matchwood.lab.papers.le_subscribe.predicate_keys import (
    EQUAL,
    LESS,
    axis_of,
    comparison_of,
    pack_cluster,
)

# Columns of a line of the table of predicates.
RULE, _VALUE = range(2)


@lean
def match(lists, entries, lines, codes, needed, hits, out):
    """Write the true rules to `out`; returns how many, predicates evaluated, and true predicates.

    `out` is `and` at first: the rules that have a true predicate, with their counts in `hits`.
    """
    count = 0
    located = 0
    true = 0
    for operation in range(min(len(lists), pack_cluster(len(codes), 0))):
        axis, comparison = axis_of(operation), comparison_of(operation)
        value = codes[axis]
        if value < 0:
            continue
        at, size = lists[operation, AT], lists[operation, SIZE]
        located += size
        for i in range(at, at + size):
            line = entries[i]
            other = lines[line, _VALUE]
            if comparison == EQUAL:
                holds = value == other
            elif comparison == LESS:
                holds = value <= other
            else:
                holds = value >= other
            if holds:
                rule = lines[line, RULE]
                true += 1
                if hits[rule] == 0:
                    out[count] = rule
                    count += 1
                hits[rule] += 1
    match_count = 0
    for i in range(count):
        rule = out[i]
        if hits[rule] == needed[rule]:
            out[match_count] = rule
            match_count += 1
        hits[rule] = 0
    return match_count, located, true
