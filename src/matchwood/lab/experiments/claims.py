"""What a paper says of its own results, in a form that our results can be compared with.

A claim is about one measure of an experiment: for each contestant, its figure at each value of what
is varied. A contestant that was over its budget has no figure there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Any, Literal, NamedTuple, Protocol

# The verdicts about a claim.
AGREES, PARTLY, DIFFERS, OPEN = "agrees", "in part", "differs", "not measured"

# The factor below which two of our figures count as equal: they may be ranked either way, and a
# change by less is no trend.
NEAR = 1.1

# A saving agrees with the paper's if it is at most this much smaller (as a part of the whole).
SHORT_BY = 0.15

Lines = Mapping[str, Mapping[Any, float]]  # measured, by label and value
Over = Mapping[str, Sequence[Any]]  # values at which a contestant was over its budget


class Verdict(NamedTuple):
    """Whether our results are as the paper says, and the figures that show it."""

    outcome: str
    ours: str


class Claim(Protocol):
    """Something that a paper says of one measure."""

    @property
    def measure(self) -> str: ...

    @property
    def said(self) -> str: ...

    def held(self, lines: Lines, over: Over) -> Verdict: ...


@dataclass(frozen=True)
class Ranking:
    """The order of contestants from best to worst, over all values or at the last one."""

    measure: str
    order: tuple[str, ...]
    last: bool = False

    @property
    def said(self) -> str:
        where = " at the largest value" if self.last else ""
        return f"from best to worst{where}: {', '.join(self.order)}"

    def held(self, lines: Lines, over: Over) -> Verdict:
        """Compare the orders; two contestants within 10 % of each other may be in either order."""
        present = [label for label in self.order if lines.get(label)]
        if len(present) < 2:
            return Verdict(OPEN, "")
        pairs = [(a, b) for i, a in enumerate(present) for b in present[i + 1 :]]
        ratios = {pair: self._ratio(lines, *pair) for pair in pairs}
        known = {pair: ratio for pair, ratio in ratios.items() if ratio is not None}
        right = sum(ratio > 1 / NEAR for ratio in known.values())
        ours = ", ".join(sorted(present, key=lambda label: self._rank(label, ratios)))
        outcome = AGREES if right == len(known) else PARTLY if 2 * right >= len(known) else DIFFERS
        return Verdict(outcome, f"{ours} ({right} of {len(known)} pairs as there)")

    def _ratio(self, lines: Lines, better: str, worse: str) -> float | None:
        """How many times as much the second needs, by geometric mean over common values."""
        return ratio(lines, better, worse, self.last)

    def _rank(self, label: str, ratios: Mapping[tuple[str, str], float | None]) -> float:
        """How many contestants are better than this one."""
        worse = sum((r or 1) > 1 for (_, b), r in ratios.items() if b == label)
        return worse + sum((r or 1) < 1 for (a, _), r in ratios.items() if a == label)


@dataclass(frozen=True)
class Saving:
    """One contestant needs less than another by some part, at the best value or at the last."""

    measure: str
    saver: str
    than: str
    part: float
    at: Literal["best", "last"] = "last"

    @property
    def said(self) -> str:
        upto = "up to " if self.at == "best" else ""
        return f"{self.saver} takes {upto}{self.part:.0%} less than {self.than}"

    def held(self, lines: Lines, over: Over) -> Verdict:
        common = shared(lines, self.saver, self.than)
        if not common:
            return Verdict(OPEN, "")
        savings = {v: 1 - lines[self.saver][v] / lines[self.than][v] for v in common}
        value = max(savings, key=savings.__getitem__) if self.at == "best" else common[-1]
        saved = savings[value]
        outcome = AGREES if saved >= self.part - SHORT_BY else PARTLY if saved > 0 else DIFFERS
        word = "less" if saved >= 0 else "more"
        return Verdict(outcome, f"{abs(saved):.0%} {word}, at {shown(value)}")


@dataclass(frozen=True)
class Trend:
    """A measure rises, falls or stays the same as the value grows."""

    measure: str
    labels: tuple[str, ...]
    goes: Literal["rises", "falls", "stays"]

    @property
    def said(self) -> str:
        return f"{self.goes} with the value: {', '.join(self.labels)}"

    def held(self, lines: Lines, over: Over) -> Verdict:
        factors = {}
        for label in self.labels:
            values = list(lines.get(label, {}).values())
            if len(values) > 1 and values[0] > 0:
                factors[label] = values[-1] / values[0]
        if not factors:
            return Verdict(OPEN, "")
        right = sum(self._fits(factor) for factor in factors.values())
        outcome = AGREES if right == len(factors) else PARTLY if right else DIFFERS
        changes = ", ".join(f"{label} ×{_factor(factor)}" for label, factor in factors.items())
        return Verdict(outcome, f"from the first value to the last: {changes}")

    def _fits(self, factor: float) -> bool:
        if self.goes == "stays":
            return 1 / 2 < factor < 2
        return factor > NEAR if self.goes == "rises" else factor < 1 / NEAR


@dataclass(frozen=True)
class RunsOut:
    """A contestant runs out of memory at some value."""

    measure: str
    label: str
    value: Any

    @property
    def said(self) -> str:
        return f"{self.label} runs out of memory at {shown(self.value)}"

    def held(self, lines: Lines, over: Over) -> Verdict:
        ours = list(over.get(self.label, ()))
        measured = lines.get(self.label, {})
        if not ours:
            last = list(measured)[-1] if measured else None
            if last is None or last < self.value:
                return Verdict(OPEN, "")
            return Verdict(DIFFERS, f"it did not, up to {shown(last)}")
        outcome = AGREES if ours[0] == self.value else PARTLY
        return Verdict(outcome, f"over its budget at {shown(ours[0])}")


def _factor(factor: float) -> str:
    return f"{factor:.0f}" if factor >= 10 else f"{factor:.2g}"


def shared(lines: Lines, *labels: str) -> list[Any]:
    """The values at which all of these have a figure above zero."""
    first, *others = (lines.get(label, {}) for label in labels)
    return [v for v in first if first[v] > 0 and all(line.get(v, 0) > 0 for line in others)]


def ratio(lines: Lines, base: str, other: str, last: bool = False) -> float | None:
    """How many times as much the other needs as the base: geometric mean over common values."""
    common = shared(lines, base, other)[-1 if last else 0 :]
    if not common:
        return None
    return exp(sum(log(lines[other][v] / lines[base][v]) for v in common) / len(common))


def shown(value: Any) -> str:
    """A value as a reader expects it.

    >>> shown(1_000_000), shown(0.6), shown("ads")
    ('1M', '0.6', 'ads')
    """
    if isinstance(value, int):
        for size, letter in ((1_000_000, "M"), (1_000, "K")):
            if value >= size and value % (size // 10) == 0:
                return f"{value / size:g}{letter}"
    return f"{value:,}" if isinstance(value, int) else str(value)
