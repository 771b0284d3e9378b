"""Algorithms for conjunctions of ranges, which see a rule as a box with one interval per attribute.

- `be_tree`: BE-Tree, space cut by attributes and by halves of their domains.
- `h_tree`: H-Tree, cells of a few attributes, one attribute after the other.
- `opindex`: OpIndex, subscriptions by their rarest attribute, and counting.
- `rein`: REIN, which marks what an event is outside of.
- `dexin`: DEXIN, which plans for each event what to exclude by and what to test.
- `tama`: TAMA, layers of cells and counting; its answers are approximate.
- `bitmaps`: one set of bits per cell; not published.

They share `box_rows` (boxes one after the other), `runs` (lists that grow in one array) and `slots`
(the ends of boxes by position).

The kernels of a module are in the file of its name that ends in `_kernels`.
"""
