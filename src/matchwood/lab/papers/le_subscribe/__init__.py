"""The algorithms of Le Subscribe, and those that its paper compares them with.

Fabret, Llirbat, Pereira and Shasha, *Efficient matching for content-based publish/subscribe
systems*, 2000, §3.1. A subscription is a box, as in `shared.box_algorithm`; it is stored as rows,
one per attribute.

- `subscription_algorithm`: subscriptions as rows, and the base of all algorithms.
- `fair_predicate`: counts the true predicates of every rule.
- `equality_preferred`, `quarantining`: look up combinations of equalities, and count the rest.
- `gough`, `hanson`, `aguilera`, `neon`: the algorithms of others that the paper describes.
- `subscription_language`: the paper's own language over any of them, with views and one binding.

They share `predicate_clusters` (which predicates are true), `equality_clusters` (which equalities
are), `postings` (lists of rules) and `tuples` (a hash table of tuples).

The kernels of a module are in the file of its name that ends in `_kernels`. Two more such files
have layouts: `row_layout` (the columns of a row) and `predicate_keys` (a predicate
in one word).
"""
