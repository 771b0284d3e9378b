"""Events against a snapshot: its parts by their indexes, what is pending, then operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from matchwood.language.evaluation import evaluate
from matchwood.language.events import Event
from matchwood.match.costly import Costly
from matchwood.match.parts import Part, Pending, Snapshot
from matchwood.match.results import Matches
from matchwood.operators.deciding import Decider, Source, Undecided

Ints = NDArray[np.int32]
Pairs = tuple[Ints, Ints]
Coded = Part | Costly  # what events are coded for
Open = list[tuple[Part | Pending, Source, Any]]  # whose clauses an event leaves open, and which


class Slice(NamedTuple):
    """Some events: how to code them for a part, how to read one, and what they are called."""

    part_codes: Callable[[Coded], Any]
    row: Callable[[int], Event]
    keys: Any  # an Arrow array
    events: int


# One event


def find(
    snapshot: Snapshot,
    event: Mapping[str, object] | Event,
    wanted: frozenset[str] | None,
    decider: Decider,
) -> Matches:
    """The rules that are true of an event, of those with one of the wanted tags."""
    found = Matches()
    seen = event
    open_: Open = []
    for part in snapshot.parts:
        keep = part.keep(wanted)
        ordinals, read = part.matcher.match(seen, keep)
        seen = read or seen
        found.add(part, ordinals)
        if part.has_costly:
            seen = seen if isinstance(seen, Event) else Event(seen)
            clauses = part.costly.open_clauses(seen, ordinals, keep)
            if len(clauses):
                open_.append((part, part.costly.source, clauses))
    if snapshot.pending or not snapshot.parts:
        seen = seen if isinstance(seen, Event) else Event(seen)
        started = perf_counter()
        for pending in snapshot.pending:
            if wanted is None or wanted & pending.details.tags:
                _look_at(pending, seen, found, open_, decider)
        decider.waited += perf_counter() - started
    if open_ and isinstance(seen, Event):
        _decide(seen, found, open_, decider)
    return found


def _look_at(pending: Pending, seen: Event, found: Matches, open_: Open, decider: Decider) -> None:
    if pending.costly is None:
        if evaluate(pending.tree, seen, schema=decider.schema) is True:
            found.add_pending(pending.details)
        return
    clauses = pending.costly.open_clauses(seen, decider.schema)
    if clauses is None:
        found.add_pending(pending.details)
    elif len(clauses):
        open_.append((pending, pending.costly.source, clauses))


def _decide(seen: Event, found: Matches, open_: Open, decider: Decider) -> None:
    """Ask operators about the rules that are still open."""
    found.event = event = Undecided(seen, [(source, clauses) for _, source, clauses in open_])
    decider.decide(event)
    for (owner, _, _), true in zip(open_, event.true, strict=True):
        if isinstance(owner, Part):
            found.add(owner, true)
        elif len(true):
            found.add_pending(owner.details)


# Many events


def find_many(
    snapshot: Snapshot,
    base: Sequence[int],
    pending_at: int,
    piece: Slice,
    wanted: frozenset[str] | None,
    decider: Decider,
) -> Iterator[Pairs]:
    """(event, place of the rule) of all matches of a slice.

    The rules of a part have the places from `base` on, those that are pending from `pending_at`.
    """
    open_: dict[int, list[tuple[Source, Ints, int]]] = {}
    for part, first in zip(snapshot.parts, base, strict=True):
        codes = piece.part_codes(part)
        keep = part.keep(wanted)
        found: dict[int, list[Ints]] = {}
        for numbers, ordinals in part.batch.pairs(codes, keep, piece.row):
            if part.has_costly:
                _note_costly(numbers, ordinals, part, found)
            yield numbers, ordinals + np.int32(first) if first else ordinals
        if part.has_costly:
            costly = part.costly
            codes = piece.part_codes(costly)
            for event, clauses in costly.open_by_event(codes, piece.row, found, keep):
                open_.setdefault(event, []).append((costly.source, clauses, first))
    chosen = [
        (place, pending)
        for place, pending in enumerate(snapshot.pending, pending_at)
        if wanted is None or wanted & pending.details.tags
    ]
    if chosen:
        yield _look_at_many(chosen, piece, decider, open_)
    if open_:
        yield _decide_many(open_, piece, decider)


def _note_costly(numbers: Ints, ordinals: Ints, part: Part, found: dict[int, list[Ints]]) -> None:
    """Which rules with calls are true without one, by event."""
    chosen = np.isin(ordinals, part.segment.costly)
    for event, ordinal in zip(numbers[chosen].tolist(), ordinals[chosen], strict=True):
        found.setdefault(event, []).append(np.array([ordinal], np.int32))


def _look_at_many(
    chosen: Sequence[tuple[int, Pending]],
    piece: Slice,
    decider: Decider,
    open_: dict[int, list[tuple[Source, Ints, int]]],
) -> Pairs:
    """The matches of pending rules, each with its place; where calls are needed, that is noted."""
    started = perf_counter()
    numbers: list[int] = []
    places: list[int] = []
    for event in range(piece.events):
        seen = piece.row(event)
        for place, pending in chosen:
            if pending.costly is None:
                true = evaluate(pending.tree, seen, schema=decider.schema) is True
            else:
                clauses = pending.costly.open_clauses(seen, decider.schema)
                true = clauses is None
                if clauses is not None and len(clauses):
                    open_.setdefault(event, []).append((pending.costly.source, clauses, place))
            if true:
                numbers.append(event)
                places.append(place)
    decider.waited += perf_counter() - started
    return np.array(numbers, np.int32), np.array(places, np.int32)


def _decide_many(
    open_: dict[int, list[tuple[Source, Ints, int]]], piece: Slice, decider: Decider
) -> Pairs:
    """The matches that operators decide."""
    events = [
        Undecided(piece.row(event), [(source, clauses) for source, clauses, _ in some])
        for event, some in open_.items()
    ]
    decider.decide_many(events)
    numbers, places = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    for (event, some), undecided in zip(open_.items(), events, strict=True):
        for (_, _, first), true in zip(some, undecided.true, strict=True):
            numbers.append(np.full(len(true), event, np.int32))
            places.append(true + np.int32(first))
    return np.concatenate(numbers), np.concatenate(places)
