"""What a paper says of its own results, and whether ours are so.

A `Statement` is a sentence quoted from a paper, the measure that it is about, and its parts: the
comparisons that have to come out as it says. It has one outcome, however many comparisons it makes:

- *holds*: every part is so, by more than the margin.
- *tied*: no part is otherwise, but one is within the margin, or within the spread of repeated runs.
- *differs*: a part is otherwise.
- *not tried*: out of time, out of memory, or a size that the scale does not have.
- *not run*: a point that the statement needs has no result. This goes before all others.

The margin is 10 %: a ratio between 1/1.1 and 1.1 of the one that divides *holds* from *differs*.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Protocol

from matchwood.lab.experiments.measured import (
    NO_MEMORY,
    NO_SIZE,
    NO_TIME,
    NOT_RUN,
    Measured,
    geometric_mean,
    shown,
)

# The outcomes of statements, beside the reasons of `measured` for having none.
HOLDS, TIED, DIFFERS = "holds", "tied", "differs"

# All outcomes; of several parts, the one that comes first here is the outcome of the whole.
OUTCOMES = (NOT_RUN, NO_SIZE, DIFFERS, NO_MEMORY, NO_TIME, TIED, HOLDS)

# Two figures whose ratio is between 1/NEAR and NEAR are tied.
NEAR = 1.1

# The values that a part is about: all that a scale has, or these.
At = tuple[Any, ...] | None


class Verdict(NamedTuple):
    """The outcome of a statement or of one comparison, and the figures that show it."""

    outcome: str
    ours: str


class StatementPart(Protocol):
    """Something that a sentence says."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The contestants that it names."""

    def judged(self, measured: Measured) -> Iterator[Verdict]:
        """The verdict on each of its comparisons."""


@dataclass(frozen=True)
class Statement:
    """A sentence of a paper about one measure.

    A sentence about several measures is one statement for each, with the same quotation, and is
    counted once.
    """

    quote: str
    measure: str
    parts: tuple[StatementPart, ...]
    where: str = ""  # the paper's size and workload, where they are not those of the experiment

    @property
    def labels(self) -> tuple[str, ...]:
        """The contestants that it names, each once."""
        return tuple(dict.fromkeys(label for part in self.parts for label in part.labels))

    def judged(self, measured: Measured) -> Verdict:
        """The verdict on the whole sentence."""
        found = [verdict for part in self.parts for verdict in part.judged(measured)]
        told = dict.fromkeys(verdict.ours for verdict in found)
        return Verdict(combined(verdict.outcome for verdict in found), "; ".join(told))


def says(quote: str, measure: str, *parts: StatementPart, where: str = "") -> Statement:
    """A statement, as the modules of experiments write it."""
    return Statement(quote, measure, parts, where)


def combined(outcomes: Iterable[str]) -> str:
    """The outcome of a whole from those of its parts.

    >>> combined(["holds", "tied"]), combined(["holds", "differs", "tied"])
    ('tied', 'differs')
    """
    return min(outcomes, key=OUTCOMES.index, default=NOT_RUN)


def decided(ratio: float) -> str:
    """The outcome of a ratio that has to be above 1."""
    return HOLDS if ratio >= NEAR else DIFFERS if ratio <= 1 / NEAR else TIED


@dataclass(frozen=True)
class Before:
    """In each pair the first contestant needs less than the second, at every value."""

    pairs: tuple[tuple[str, str], ...]
    at: At = None

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(label for pair in self.pairs for label in pair))

    def judged(self, measured: Measured) -> Iterator[Verdict]:
        for pair in self.pairs:
            yield from _compared(measured, pair, self.at, "less")


@dataclass(frozen=True)
class AsGood(Before):
    """In each pair the first contestant needs no more than the second, within the margin."""

    def judged(self, measured: Measured) -> Iterator[Verdict]:
        for pair in self.pairs:
            yield from _compared(measured, pair, self.at, "no more")


def order(*labels: str, at: At = None) -> Before:
    """Contestants from the one that needs least to the one that needs most."""
    return Before(tuple((a, b) for i, a in enumerate(labels) for b in labels[i + 1 :]), at)


def least(label: str, others: Iterable[str], at: At = None) -> Before:
    """A contestant that needs less than each of the others."""
    return Before(tuple((label, other) for other in others if other != label), at)


def most(label: str, others: Iterable[str], at: At = None) -> Before:
    """A contestant that needs more than each of the others."""
    return Before(tuple((other, label) for other in others if other != label), at)


# What the first of two contestants has to need, in comparison with the second.
Relation = Literal["less", "same", "no more"]


def _compared(
    measured: Measured, pair: tuple[str, str], at: At, relation: Relation
) -> Iterator[Verdict]:
    """Two contestants at every value: one verdict where both have figures, and each lack."""
    better, worse = pair
    ratios, outcomes = [], []
    for value in _values(measured, at):
        lack = _lack(measured, pair, value)
        if lack:
            yield lack
            continue
        ratios.append(measured.lines[worse][value] / measured.lines[better][value])
        overlap = measured.overlap(better, worse, value)
        outcomes.append(_related(decided(ratios[-1]), overlap, relation))
    if ratios:
        told = f"{worse} needs {_range(ratios)} of {better}"
        told += f" (so at {outcomes.count(HOLDS)} of {len(ratios)})" * (len(ratios) > 1)
        yield Verdict(combined(outcomes), told)


def _related(outcome: str, overlap: bool, relation: Relation) -> str:
    """The outcome of a relation from that of the ratio, which has to be above 1 for "less".

    Contestants that are far apart and whose runs overlap are tied: neither less nor the same.
    """
    if relation != "less" and outcome == TIED:
        return HOLDS
    if overlap:
        return TIED
    return DIFFERS if relation == "same" else outcome


@dataclass(frozen=True)
class Saves:
    """A contestant needs less than another by some part of the whole."""

    saver: str
    than: str
    part: float
    at: At = None
    by: Literal["each", "mean", "best"] = "each"  # at every value, on average, or at the best value

    @property
    def labels(self) -> tuple[str, ...]:
        return (self.saver, self.than)

    def judged(self, measured: Measured) -> Iterator[Verdict]:
        values = _values(measured, self.at)
        lacks = [lack for v in values if (lack := _lack(measured, self.labels, v))]
        if lacks:
            yield from lacks
            return
        pairs = [[measured.lines[label][v] for label in self.labels] for v in values]
        if self.by == "mean":
            pairs = [[sum(column) for column in zip(*pairs, strict=True)]]
        if self.by == "best":
            pairs = [min(pairs, key=lambda pair: pair[0] / pair[1])]
        for own, other in pairs:
            saved = 1 - own / other
            word = "less" if saved >= 0 else "more"
            told = f"{self.saver} needs {100 * abs(saved):.3g} % {word} than {self.than}"
            told += f", said to be {100 * self.part:.4g} % less"
            yield Verdict(decided((1 - self.part) * other / own), told)


@dataclass(frozen=True)
class Trend:
    """Figures rise, fall, stay or vary from value to value.

    To rise or fall is to do so by more than the margin from the first value to the last, and
    nowhere the other way by more than the margin. Not to rise or fall is not to do so by more than
    the margin from the first value to the last. To stay is to be within `most` everywhere.
    """

    named: tuple[str, ...]
    goes: Literal["rises", "falls", "does not rise", "does not fall", "stays", "varies"]
    at: At = None
    most: float = NEAR

    @property
    def labels(self) -> tuple[str, ...]:
        return self.named

    def judged(self, measured: Measured) -> Iterator[Verdict]:
        for label in self.named:
            line, lacks = _line(measured, label, self.at)
            yield from lacks
            if not lacks:
                told = f"{label} ×{line[-1] / line[0]:.3g} from first to last"
                if self.goes in ("stays", "varies"):
                    told = f"{label} within ×{max(line) / min(line):.3g}"
                yield Verdict(self._outcome(line), told)

    def _outcome(self, line: list[float]) -> str:
        if self.goes in ("stays", "varies"):
            stays = max(line) / min(line) <= self.most
            return HOLDS if stays == (self.goes == "stays") else DIFFERS
        rising = line if "rise" in self.goes else [1 / figure for figure in line]
        if "not" in self.goes:
            return DIFFERS if decided(rising[-1] / rising[0]) == HOLDS else HOLDS
        steps = [after / before for before, after in pairwise(rising)]
        return DIFFERS if min(steps) <= 1 / NEAR else decided(rising[-1] / rising[0])


@dataclass(frozen=True)
class Slower:
    """Each of some contestants grows by a smaller factor, from first to last, than each of others.

    Without others, the factor is compared with that of the varied value.
    """

    slow: tuple[str, ...]
    fast: tuple[str, ...] = ()
    at: At = None

    @property
    def labels(self) -> tuple[str, ...]:
        return (*self.slow, *self.fast)

    def judged(self, measured: Measured) -> Iterator[Verdict]:
        growth = {}
        for label in self.labels:
            line, lacks = _line(measured, label, self.at)
            yield from lacks
            if not lacks:
                growth[label] = line[-1] / line[0]
        if not self.fast:
            growth["the value"] = _growth(_values(measured, self.at))
        for one in self.slow:
            for other in self.fast or ("the value",):
                if one in growth and other in growth:
                    told = f"{one} ×{growth[one]:.3g}, {other} ×{growth[other]:.3g}"
                    yield Verdict(decided(growth[other] / growth[one]), told)


@dataclass(frozen=True)
class Steadier:
    """A contestant changes by a smaller factor, up or down, than each of the others."""

    steady: str
    others: tuple[str, ...]
    at: At = None

    @property
    def labels(self) -> tuple[str, ...]:
        return (self.steady, *self.others)

    def judged(self, measured: Measured) -> Iterator[Verdict]:
        changes = {}
        for label in self.labels:
            line, lacks = _line(measured, label, self.at)
            yield from lacks
            if not lacks:
                changes[label] = max(line) / min(line)
        if self.steady not in changes:
            return
        own = changes.pop(self.steady)
        for label, change in changes.items():
            told = f"{self.steady} within ×{own:.3g}, {label} within ×{change:.3g}"
            yield Verdict(decided(change / own), told)


@dataclass(frozen=True)
class Linear:
    """Figures grow by the factor by which the value grows, within the margin."""

    named: tuple[str, ...]
    at: At = None

    @property
    def labels(self) -> tuple[str, ...]:
        return self.named

    def judged(self, measured: Measured) -> Iterator[Verdict]:
        growth = _growth(_values(measured, self.at))
        for label in self.named:
            line, lacks = _line(measured, label, self.at)
            yield from lacks
            if not lacks:
                factor = line[-1] / line[0]
                outcome = HOLDS if decided(factor / growth) == TIED else DIFFERS
                yield Verdict(outcome, f"{label} ×{factor:.3g}, the value ×{growth:.3g}")


@dataclass(frozen=True)
class Similar:
    """The first contestant needs as much as each of the others, within the margin."""

    named: tuple[str, ...]
    at: At = None

    @property
    def labels(self) -> tuple[str, ...]:
        return self.named

    def judged(self, measured: Measured) -> Iterator[Verdict]:
        for other in self.named[1:]:
            yield from _compared(measured, (self.named[0], other), self.at, "same")


@dataclass(frozen=True)
class RunsOut:
    """Contestants run out of memory at some value, and not before it.

    Only the paper's number of rules can show that one does not.
    """

    named: Mapping[str, Any]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.named)

    def judged(self, measured: Measured) -> Iterator[Verdict]:
        for label, at in self.named.items():
            for value in (v for v in measured.values if v < at):
                lack = measured.missing(label, value)
                if lack:
                    outcome = DIFFERS if lack == NO_MEMORY else lack
                    yield Verdict(outcome, f"{label}: {_said(lack)} at {shown(value)} already")
            lack = measured.missing(label, at)
            if lack is None:
                outcome = DIFFERS if measured.full else NO_SIZE
                yield Verdict(outcome, f"{label} did not at {shown(at)}")
            else:
                outcome = HOLDS if lack == NO_MEMORY else lack
                yield Verdict(outcome, f"{label}: {_said(lack)} at {shown(at)}")


def _values(measured: Measured, at: At) -> tuple[Any, ...]:
    return tuple(measured.values) if at is None else at


def _lack(measured: Measured, labels: Iterable[str], value: Any) -> Verdict | None:
    """Why contestants cannot be compared at a value, or None if all have a figure there."""
    for label in labels:
        lack = measured.missing(label, value)
        if lack:
            return Verdict(lack, f"{label}: {_said(lack)} at {shown(value)}")
    return None


def _line(measured: Measured, label: str, at: At) -> tuple[list[float], list[Verdict]]:
    """The figures of a contestant at all values, or why some are missing."""
    values = _values(measured, at)
    lacks = [lack for value in values if (lack := _lack(measured, (label,), value))]
    if len(values) < 2 and not lacks:
        lacks = [Verdict(NO_SIZE, "a single value has no trend")]
    return ([] if lacks else [measured.lines[label][value] for value in values]), lacks


def _growth(values: tuple[Any, ...]) -> float:
    return float(values[-1] / values[0])


def _said(lack: str) -> str:
    return lack.removeprefix("not tried: ")


def _range(ratios: list[float]) -> str:
    """The mean of ratios with their range."""
    if len(ratios) == 1:
        return f"{ratios[0]:.3g}×"
    return f"{geometric_mean(ratios):.3g}× ({min(ratios):.3g} to {max(ratios):.3g})"
