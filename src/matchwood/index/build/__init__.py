"""Building a segment: from the texts or trees of rules to the arrays that kernels read.

    rules ── rule_programs ──── shared_nodes ── reuse ──┐
               │  (texts, program)                      ├── arrange ── segment
               └── atoms ── statistics ─────────────────┘      │
                                                           stabbing

    rule_programs  the programs of many rules, over atoms; texts go through `texts`
    texts          rule texts cut at operators by compiled code; equal predicates are read once
    program        the program of one tree, for rules that the parser reads
    index_form     a rule as the index takes it: connectives over literals
    guards         what codes say of literals that are evaluated on demand
    slots          attributes, with the constants that they are compared with
    atoms          distinct predicates, one by one or many at once
    atom_codes     the intervals of codes of all predicates, as arrays
    packed_atoms   atoms as kernels read them, one row per family of an attribute
    truth_atoms    tests of the truth of predicates, as codes like any other
    shared_nodes   one node per meaning: negations pushed down, equal nodes shared
    reuse          nodes that use smaller nodes of the same operator; very wide nodes split
    statistics     how likely predicates are to be true
    arrange        records, push lists and groups of rules, in the order that matching reads them
    stabbing       trees that find the literals that are true of a code
    segment        all of it together: `build`
    sorting        the order of rows by several columns
    threads        pieces of this work in several threads
    gc_pause       no garbage collection during bulk work

The kernels of a module are in the file of the same name that ends in `_kernels`; those of
`shared_nodes` are in `share_kernels`, and those of `texts` in `text_kernels`, which cuts the texts,
`word_kernels`, which tells words apart, `predicate_text_kernels`, which numbers the texts of
predicates, and `integer_predicate_kernels`, which reads those over plain integers.
`kernels.programs`, `kernels.records` and `kernels.pushes` draw the words that are packed here.
"""
