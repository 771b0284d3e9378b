"""A-Tree, and the algorithms that its paper compares it with.

Ji and Jacobsen, *A-Tree: A Dynamic Data Structure for Efficiently Indexing Arbitrary Boolean
Expressions*, SIGMOD 2021.

- `atree`: A-Tree, with a switch for each idea of the paper. `tree_kernels` has the layout of its
  nodes, `insert_kernels` Algorithms 1 to 4, `delete_kernels` Algorithm 5, and `match_kernels`
  Algorithm 6.
- `exhaustive_scan`: Scan, which evaluates every rule.
- `bop`: BoP, which counts the true predicates of each rule and evaluates rules that have enough.
- `bdd`: all rules in one shared binary decision diagram.
- `translation`: rules translated into conjunctions, which the index of `fontoura` finds.

The kernels of `exhaustive_scan`, `bop` and `bdd` are in the files of their names that end in
`_kernels`.
"""
