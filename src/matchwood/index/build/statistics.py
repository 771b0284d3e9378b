"""How likely predicates are to be true, by which access operands are chosen.

Without a sample of events, an attribute is assumed to be present in one event out of four, and its
values to be spread evenly over the constants that rules mention.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from matchwood.index.build.atom_codes import AtomArrays
from matchwood.index.build.slots import Slot, reading
from matchwood.kernels.programs import negation_of, pack_literal
from matchwood.kernels.records import INTERVAL, LAZY, MISSING, VALUE_TEST
from matchwood.language.events import Event
from matchwood.language.subjects import lowered_values
from matchwood.language.tree.subjects import EVERYTHING, Lowered
from matchwood.language.values import NULL, Value

# The share of events that have an attribute of which nothing is known.
PRESENT = 0.25

# In place of the chance of a lazy atom. It is above every chance, so that a lazy atom never wakes a
# node if anything else can.
LAZY_CHANCE = 2.0

# The assumed chance that a pattern matches a string.
PATTERN_CHANCE = 0.01


@dataclass
class Statistics:
    """How often each attribute is present in a sample of events, and some of its values."""

    events: int = 0
    present: dict[str, int] = field(default_factory=dict)
    values: dict[str, list[Value]] = field(default_factory=dict)
    kept: int = 2_000  # values kept per attribute, at most

    def add(self, event: Mapping[str, object]) -> None:
        seen = Event(event)
        self.events += 1
        for name in seen.raw:
            value = seen[name]
            if value == NULL:
                continue
            self.present[name] = self.present.get(name, 0) + 1
            values = self.values.setdefault(name, [])
            if len(values) < self.kept:
                values.extend([value] if isinstance(value, Value) else value)

    def of(self, subject: str) -> tuple[float, Sequence[Value]]:
        """The share of events that have a subject of predicates, and some of its values."""
        if isinstance(subject, Lowered):
            share, values = self.of(subject.base)
            lower = lowered_values(tuple(values))
            assert not isinstance(lower, Value)
            return share, lower
        if subject == EVERYTHING:
            return 1.0, ()
        return self.present.get(subject, 0) / self.events, self.values.get(subject, ())


def profile(events: Iterable[Mapping[str, object]]) -> Statistics:
    """The statistics of a sample of events."""
    statistics = Statistics()
    for event in events:
        statistics.add(event)
    return statistics


def probabilities(
    atoms: AtomArrays, slots: list[Slot], statistics: Statistics | None
) -> NDArray[np.float32]:
    """The chance of each literal to be true of an event."""
    count = len(atoms.slot)
    present = np.full(len(slots), PRESENT)
    codes = np.array([slot.codes for slot in slots], np.int64)
    offset = np.r_[0, np.cumsum(codes + 1)]
    cumulative = _even(codes, offset) if len(slots) else np.zeros(1)
    if statistics is not None and statistics.events:
        for number, slot in enumerate(slots):
            present[number], sample = statistics.of(slot.attribute)
            if sample:
                cumulative[offset[number] : offset[number + 1]] = _measured(slot, sample)
    owner = np.repeat(np.arange(count), np.diff(atoms.start))
    base = offset[atoms.slot[owner]] if count else np.empty(0, np.int64)
    share = cumulative[base + atoms.high + 1] - cumulative[base + atoms.low]
    positive = np.bincount(owner, share, count) if count else np.empty(0)
    base = offset[atoms.slot]
    family = (
        cumulative[base + np.maximum(atoms.family_high, -1) + 1]
        - cumulative[base + atoms.family_low]
    )
    there = present[atoms.slot]
    absent = np.zeros(count, np.bool_)  # true of events that do not have the attribute
    some = np.diff(atoms.start) > 0
    absent[some] = atoms.low[atoms.start[:-1][some]] == MISSING
    complete = (absent | (atoms.family_low == MISSING)) & (atoms.kind == INTERVAL)
    chance = np.empty(2 * count, np.float32)
    plain = pack_literal(np.arange(count), 0)
    negation = negation_of(plain)
    chance[plain] = there * positive + np.where(absent, 1 - there, 0)
    of_family = there * np.maximum(family - positive, 0)
    chance[negation] = np.where(complete, 1 - chance[plain], of_family)
    pattern = atoms.kind == VALUE_TEST
    chance[plain[pattern]] = PATTERN_CHANCE
    tested = atoms.family_low[pattern] == MISSING  # whether it is true, so also of no value
    chance[negation[pattern]] = np.where(tested, 1 - PATTERN_CHANCE, there[pattern])
    lazy = atoms.kind == LAZY
    chance[plain[lazy]] = chance[negation[lazy]] = LAZY_CHANCE
    return np.maximum(chance, np.float32(1e-7))


def _even(codes: NDArray[np.int64], offset: NDArray[np.int64]) -> NDArray[np.float64]:
    """Cumulative shares of the codes of each slot; constants and gaps weigh the same."""
    place = np.arange(offset[-1]) - np.repeat(offset[:-1], codes + 1)
    shares: NDArray[np.float64] = np.maximum(place - 2, 0) / np.repeat(
        np.maximum(codes - 2, 1), codes + 1
    )
    return shares


def _measured(slot: Slot, sample: Sequence[Value]) -> NDArray[np.float64]:
    codes = np.full(slot.codes, 1e-6)
    for value in sample:
        family, literal = value.family, value.value
        if slot.time:
            family, literal = reading(family, literal) or (None, None)
        codes[slot.code(family, literal)] += 1
    return np.concatenate([[0.0], np.cumsum(codes / codes.sum())])
