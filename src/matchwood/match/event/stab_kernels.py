"""Which literals are true of the codes of an event: the start of pushing.

`index.build.stabbing` describes the trees.
"""

# mypy: allow-untyped-defs, no-check-untyped-defs

from __future__ import annotations

from matchwood.kernels.compiled import inlined, lean
from matchwood.kernels.programs import atom_of, pack_literal
from matchwood.kernels.pushes import NO_LIST
from matchwood.kernels.records import FIRST_VALUE, ROW_OPAQUE
from matchwood.match.event.literal_kernels import YES, literal_holds


@inlined
def stab(slot, code, ix, sc, top):
    """Append the push lists of all literals of the slot that are true of the code to the queue."""
    start, bound, push, queue = ix.tree_start, ix.stab_bound, ix.stab_push, sc.queue
    size = ix.tree_size[slot]
    if size == 0:
        return top
    at = ix.tree_at[slot]
    place = abs(size) + code
    for i in range(start[at + place], start[at + place + 1]):
        queue[top] = push[i]
        top += 1
    if size < 0:  # there are points alone
        return top
    points = ix.tree_points[slot]
    for i in range(start[at - 1], start[at]):
        if bound[i - points] > code:
            break
        queue[top] = push[i]
        top += 1
    if code >= FIRST_VALUE:
        for i in range(start[at], start[at + 1]):
            if bound[i - points] < code:
                break
            queue[top] = push[i]
            top += 1
    while place > 1:
        right = place & 1
        place >>= 1
        low = start[at + place]
        half = (start[at + place + 1] - low) >> 1
        if right:
            low += half
        for i in range(low, low + half):
            if (bound[i - points] < code) if right else (bound[i - points] > code):
                break
            queue[top] = push[i]
            top += 1
    return top


@lean
def stab_lists(ix, sc, slots, list_start, list_codes, epoch, top):
    """Queue the literals that are true of list values, each once; all with a list are tried."""
    for slot in slots:
        code = sc.codes[slot]
        if code >= 0:
            continue
        low = pack_literal(ix.first_atom[slot], 0)
        high = pack_literal(ix.first_atom[slot + 1], 0)
        for ref in range(low, high):
            if ix.literal_push[ref] != NO_LIST and ix.atom_row[atom_of(ref), ROW_OPAQUE] < 0:
                if literal_holds(ref, ix, sc, list_start, list_codes, epoch) == YES:
                    sc.queue[top] = ix.literal_push[ref]
                    top += 1
    return top
