"""The algorithms of Fontoura et al., *Efficiently evaluating complex Boolean expressions*, 2010.

All of them first find the leaf-level conjunctions that are true, and then decide rules by them:

    true literals ── conjunction_index ── true conjunctions ── annotations, sorted ── true rules

- `leaves`: rules as trees whose leaves are conjunctions.
- `conjunction_index`: which conjunctions are true (the k-index of Whang et al. 2009).
- `annotation_index`: where each conjunction occurs; the base of the indexes below.
- `dewey`, `interval`: rules decided by Dewey IDs, and by intervals that cover a line.
- `by_leaves`: what these two and `scan_conjunctions` have in common: rules by their leaves.
- `written_leaves`: rules as they were written, down to conjunctions at one depth.
- `dnf`: rules expanded into disjunctive normal form.
- `scan_conjunctions`: rules that have a true conjunction, evaluated one by one.
- `delta`: updates by small indexes beside the main one.
- `ad_exchange`: the paper's application, a graph whose edges carry rules.

The kernels of a module are in the file of its name that ends in `_kernels`.
"""
