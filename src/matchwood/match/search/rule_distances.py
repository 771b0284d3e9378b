"""How far rules are from matching: the fewest predicates that would have to become true."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.language.events import Event
from matchwood.match.event.encode import encode
from matchwood.match.event.event_matcher import SegmentMatcher
from matchwood.match.search.distance_kernels import FAR, group_distances, lacking_literals


def candidates(matcher: SegmentMatcher, seen: Event, alive: NDArray[np.uint8], n: int) -> list[int]:
    """About n ordinals of rules that are nearest by their codes alone, nearest first.

    Lists, patterns and calls count as lacking here; the caller evaluates the rules themselves.
    """
    segment = matcher.segment
    tree = segment.tree
    codes: NDArray[Any] = np.zeros(max(1, len(segment.slots)), np.int32)
    encoded, _ = encode(seen, matcher.encoding)
    codes[encoded.slots] = encoded.codes
    lacks = lacking_literals(*segment.packed, codes)
    of_group = group_distances(
        tree.records, tree.pushes, segment.first, lacks, codes, tree.literal_group, tree.groups
    )
    distance = np.repeat(of_group, np.diff(tree.group_bounds()))
    never = segment.rules - len(distance)
    distance = np.concatenate([distance, np.full(never, FAR, np.int32)])
    distance[distance == 0] = FAR
    if len(alive):
        distance[alive == 0] = FAR
    wanted = min(n, len(distance))
    nearest = np.argpartition(distance, wanted - 1)[:wanted] if wanted else np.empty(0, np.int64)
    chosen = nearest[np.argsort(distance[nearest], kind="stable")]
    return [int(ordinal) for ordinal in chosen if distance[ordinal] < FAR]
