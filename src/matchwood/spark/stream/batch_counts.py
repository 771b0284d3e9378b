"""What is counted of a micro-batch as it is written: its matches, and its rejects by reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from matchwood.spark.match.plan import ROWS
from matchwood.spark.storage import REASON, count_kinds, kind_of, why_corrupt

# Kinds of reasons that are counted apart.
KINDS = 20
# What all others are counted as.
OTHERS = "other reasons"


class WrittenCounts(NamedTuple):
    """How many matches and rejects a micro-batch had; None for what was not counted."""

    matches: int | None = None
    rejected: int | None = None
    reasons: Mapping[str, int] | None = None  # of rejects, by the kind of their reason
    twice: bool = False  # whether the rows were read twice, if they are not kept


class BatchCounter:
    """Counts micro-batches in the job that writes them.

    In one pass over the rows only reasons of known kinds can be counted. So a micro-batch that has
    a new one is looked at twice.
    """

    def __init__(self, output: str) -> None:
        self._output = output
        self._kinds: list[str] = []  # that were seen so far

    def columns(self) -> list[Column]:
        """What to count in the rows of a micro-batch, matches and rejects."""
        rejected = F.col(REASON).isNotNull()
        of_row = F.lit(1) if self._output == ROWS else F.size("rule_ids")
        kind = kind_of(F.col(REASON))
        return [
            F.coalesce(F.sum(F.when(~rejected, of_row)), F.lit(0)).alias("matches"),
            F.count(F.when(rejected, 1)).alias("rejected"),
            *(F.count(F.when(kind == one, 1)).alias(f"of {one}") for one in self._kinds),
        ]

    def counts(
        self, counted: Mapping[str, Any], matched: DataFrame, corrupt: DataFrame | None
    ) -> WrittenCounts:
        """The figures, given those of `columns`; `corrupt` are lines that Spark could not read."""
        rejected = int(counted["rejected"])
        seen = {kind: int(counted[f"of {kind}"]) for kind in self._kinds}
        reasons = {kind: number for kind, number in seen.items() if number}
        twice = sum(reasons.values()) < rejected and len(self._kinds) < KINDS
        if twice:
            of_events = matched.where(F.col(REASON).isNotNull())
            reasons = count_kinds(of_events, F.col(REASON), KINDS)
            self._kinds += [kind for kind in reasons if kind not in self._kinds]
        if corrupt is not None and (lines := corrupt.count()):
            rejected += lines
            for kind, number in count_kinds(corrupt, why_corrupt(corrupt), KINDS).items():
                reasons[kind] = reasons.get(kind, 0) + number
        if others := rejected - sum(reasons.values()):
            reasons[OTHERS] = reasons.get(OTHERS, 0) + others
        return WrittenCounts(int(counted["matches"]), rejected, reasons, twice)
