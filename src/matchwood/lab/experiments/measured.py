"""What is known of one measure of an experiment: figures, their spread, and why others are missing.

A figure that is missing has a reason of its own: the contestant ran out of time, or out of memory,
or the point was never run, or the scale has no such value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, log
from typing import Any

# Why there is no figure. These are outcomes of statements as well.
NO_TIME, NO_MEMORY = "not tried: out of time", "not tried: out of memory"
NO_SIZE, NOT_RUN = "not tried: other size", "not run"

Lines = Mapping[str, Mapping[Any, float]]  # figures by label and value
Spreads = Mapping[str, Mapping[Any, tuple[float, float]]]  # the least and most of repeated runs


@dataclass(frozen=True)
class Measured:
    """One measure at one scale, by contestant and value."""

    values: Sequence[Any]  # of what is varied, at this scale
    lines: Lines
    failed: Mapping[str, Mapping[Any, str]] = field(default_factory=dict)  # NO_TIME or NO_MEMORY
    spreads: Spreads = field(default_factory=dict)
    full: bool = False  # whether the scale has the paper's number of rules

    def missing(self, label: str, value: Any) -> str | None:
        """Why there is no figure, or None if there is one."""
        if value not in self.values:
            return NO_SIZE
        if self.lines.get(label, {}).get(value, 0) > 0:
            return None
        return self.failed.get(label, {}).get(value, NOT_RUN)

    def overlap(self, label: str, other: str, value: Any) -> bool:
        """Whether the repeated runs of two contestants overlap."""
        one, two = (self.spreads.get(each, {}).get(value) for each in (label, other))
        return one is not None and two is not None and one[0] <= two[1] and two[0] <= one[1]


def geometric_mean(ratios: Sequence[float]) -> float:
    """The mean of ratios that is the reciprocal of the mean of their reciprocals.

    >>> round(geometric_mean([2, 8]), 6)
    4.0
    """
    return exp(sum(map(log, ratios)) / len(ratios))


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
