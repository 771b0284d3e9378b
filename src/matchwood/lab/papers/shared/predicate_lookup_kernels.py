"""The kernel that finds the literals that are true of an event."""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from matchwood.kernels.compiled import lean


@lean
def stab(tree_at, tree_size, start, bound, entries, slots, codes, out):
    """Write the literals that are true of single codes to `out`; returns how many.

    See `index.build.stabbing`.
    """
    top = 0
    for i in range(len(slots)):
        code = codes[i]
        if code < 0:
            continue  # a list
        at = tree_at[slots[i]]
        tree_node = tree_size[slots[i]] + code
        for j in range(start[at + tree_node], start[at + tree_node + 1]):
            out[top] = entries[j]
            top += 1
        while tree_node > 1:
            right = tree_node & 1
            tree_node >>= 1
            low = start[at + tree_node]
            half = (start[at + tree_node + 1] - low) >> 1
            if right:
                low += half
            for j in range(low, low + half):
                if (bound[j] < code) if right else (bound[j] > code):
                    break
                out[top] = entries[j]
                top += 1
    return top
