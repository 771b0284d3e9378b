"""Building a segment: from the texts or trees of rules to the arrays that kernels read.

    rules ── rule_programs ──── shared_nodes ── reuse ──┐
               │  (texts, program)                      ├── arrange ── segment
               └── atoms ── statistics ─────────────────┘      │
                                                           stabbing

    rule_programs  the programs of many rules, over atoms; texts go through `texts`
    texts          rule texts cut at operators by compiled code; equal predicates are read once
    program        the program of one tree, for rules that the parser reads
    atoms          distinct predicates, the constants they mention, and their intervals of codes
    shared_nodes   one node per meaning: negations pushed down, equal nodes shared
    reuse          nodes that use smaller nodes of the same operator; very wide nodes split
    statistics     how likely predicates are to be true
    arrange        records, push lists and groups of rules, in the order that matching reads them
    stabbing       trees that find the literals that are true of a code
    segment        all of it together: `build`
    gc_pause       no garbage collection during bulk work

The kernels of a module are in the file of the same name that ends in `_kernels`; those of
`shared_nodes` are in `share_kernels`, and those of `texts` in `text_kernels`, which cuts the texts,
`word_kernels`, which tells words apart, and `integer_predicate_kernels`, which reads the predicates
over plain integers. `kernels.programs`, `kernels.records` and `kernels.pushes`
draw the words that are packed here.
"""
