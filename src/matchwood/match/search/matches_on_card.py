"""Matches of many events that are left on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from matchwood.match.batch.device_counts import device_counts
from matchwood.match.batch.gpu.card import CardError, card_problem
from matchwood.match.search.arrow_matches import BatchSearch, ids_of
from matchwood.match.search.event_slices import slices_of
from matchwood.match.search.match_counts import counted_parts, other_pairs

if TYPE_CHECKING:
    from matchwood.match.batch.gpu.card_matches import CardMatches


def matches_on_card(search: BatchSearch, events: Any) -> Iterator[CardMatches]:
    """All matches, slice by slice and part by part.

    What a card cannot decide, rules that are pending and those that call operators, the processor
    does, and its matches are copied to the card. Raises a CardError if there is no card.
    """
    problem = card_problem()
    if problem is not None:
        raise CardError(problem)
    return _matches(search, events)


def _matches(search: BatchSearch, events: Any) -> Iterator[CardMatches]:
    from matchwood.match.batch.gpu.card_copies import on_card
    from matchwood.match.batch.gpu.card_matches import CardMatches

    ids = ids_of(search.parts, search.pending)
    alone = counted_parts(search)
    first_event = 0
    for piece in slices_of(events, None, search.decider.aliases):
        for part, first_rule, is_alone in zip(search.parts, ids.first_rules, alone, strict=True):
            if is_alone and piece.events and part.batch.rules:
                gpu = part.batch.gpu
                codes = piece.part_codes(part)
                for numbers, rules in gpu.left_on_card(codes, part.keep(search.tags), first_rule):
                    yield CardMatches(numbers, rules, first_event, ids.values)
                device_counts.add(gpu.description)
        for numbers, rules in other_pairs(search, piece, alone):
            if len(numbers):
                arrays = on_card(numbers.astype(np.uint16)), on_card(rules.astype(np.int32))
                yield CardMatches(*arrays, first_event, ids.values)
        first_event += piece.events
