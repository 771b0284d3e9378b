"""What a run has done, in figures: counted by Spark in what it matched, never by the driver."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

TOP = 10
LONGEST = 48  # bits of a number of matches


@dataclass(frozen=True)
class Bar:
    """How many things have from `low` to `high` matches."""

    low: int
    high: int
    count: int

    @property
    def label(self) -> str:
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,}–{self.high:,}"


@dataclass(frozen=True)
class Counts:
    """What was counted of the events and their matches."""

    events: int = 0
    events_rejected: int = 0
    events_matched: int = 0
    matches: int = 0
    matches_an_event: tuple[Bar, ...] = ()
    rules_matched: int = 0
    matches_a_rule: tuple[Bar, ...] = ()
    top_rules: tuple[tuple[Any, int], ...] = ()


@dataclass(frozen=True)
class Summary:
    """A run: rules, events, matches, and the time of each stage.

    >>> summary = Summary(
    ...     "night", rules=3, counts=Counts(events=10, matches=4), stages={"match": 2}
    ... )
    >>> summary.events_a_second
    5.0
    """

    name: str
    mode: str = "batch"
    started: str = ""
    rules_version: str = ""
    rules: int = 0
    rules_rejected: int = 0
    warnings: tuple[str, ...] = ()
    counts: Counts = Counts()
    stages: Mapping[str, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        return sum(self.stages.values())

    @property
    def events_a_second(self) -> float:
        """Over what is done with events: neither finding them nor compiling rules."""
        spent = sum(self.stages.get(stage, 0.0) for stage in ("match", "count", "write"))
        return self.counts.events / spent if spent else 0.0

    def to_dict(self) -> dict[str, Any]:
        """For JSON; the names are those of the dataclasses."""
        form = asdict(self)
        form["stages"] = {stage: round(seconds, 3) for stage, seconds in self.stages.items()}
        form |= form.pop("counts")
        form["top_rules"] = [{"rule_id": i, "matches": n} for i, n in self.counts.top_rules]
        form["seconds"] = round(self.seconds, 3)
        form["events_a_second"] = round(self.events_a_second, 1)
        return form

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2, default=str) + "\n"

    def sentences(self) -> list[str]:
        """For people."""
        counts = self.counts
        lines = [
            f"rules    {self.rules:,} compiled, {self.rules_rejected:,} rejected",
            f"events   {counts.events:,} read, {counts.events_rejected:,} rejected, "
            f"{counts.events_matched:,} with matches",
            f"matches  {counts.matches:,} of {counts.rules_matched:,} rules, "
            f"{counts.matches / max(1, counts.events):,.1f} an event",
            f"time     {self.seconds:,.1f} s, {self.events_a_second:,.0f} events a second",
        ]
        if counts.top_rules:
            top = ", ".join(f"{rule} ({n:,})" for rule, n in counts.top_rules[:3])
            lines.append(f"top      {top}")
        return lines


def count_events(matched: DataFrame, size: Column, rejected: Column) -> Counts:
    """One row an event: how many there are, and how many matches they have."""
    from pyspark.sql import functions as F

    good = F.when(~rejected, size)
    groups = (
        matched.groupBy(_bucket(good).alias("bucket"))
        .agg(F.count(F.lit(1)).alias("events"), F.sum(good).alias("matches"))
        .collect()
    )
    found = {row.bucket: row.events for row in groups}
    bad = found.pop(None, 0)  # a rejected event has no number of matches
    return Counts(
        events=sum(found.values()) + bad,
        events_rejected=bad,
        events_matched=sum(events for bucket, events in found.items() if bucket >= 0),
        matches=sum(row.matches or 0 for row in groups),
        matches_an_event=bars(found),
    )


def count_rules(counts: Counts, matches: DataFrame, rules: int) -> Counts:
    """One row a match, with `rule_id`: how many matches rules have, and which have most."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    each = matches.groupBy("rule_id").agg(F.count(F.lit(1)).alias("matches"))
    seen = Observation()
    powers = _bucket(F.col("matches"))
    sums = [F.count(F.when(powers == power, 1)).alias(str(power)) for power in range(LONGEST)]
    # One job: the figures are noted on the way to the highest.
    top = each.observe(seen, *sums).orderBy(F.desc("matches"), "rule_id").limit(TOP).collect()
    found = {int(power): rules for power, rules in seen.get.items() if rules}
    matched = sum(found.values())
    return replace(
        counts,
        rules_matched=matched,
        matches_a_rule=bars({-1: max(0, rules - matched), **found}),
        top_rules=tuple((row.rule_id, row.matches) for row in top),
    )


def _bucket(number: Column) -> Column:
    """-1 for none, else the power of two that is reached."""
    from pyspark.sql import functions as F

    # The length of the number in bits: exact, as logarithms are not.
    return F.when(number > 0, F.length(F.bin(number)) - 1).when(number == 0, F.lit(-1))


def bars(found: Mapping[int, int]) -> tuple[Bar, ...]:
    """Bars from none to the highest that is there, with those that are empty between them.

    >>> [(bar.label, bar.count) for bar in bars({-1: 5, 0: 2, 2: 1})]
    [('0', 5), ('1', 2), ('2–3', 0), ('4–7', 1)]
    """
    return tuple(
        Bar(0, 0, found.get(-1, 0))
        if power < 0
        else Bar(2**power, 2 ** (power + 1) - 1, found.get(power, 0))
        for power in range(-1, max(found, default=-2) + 1)
    )
