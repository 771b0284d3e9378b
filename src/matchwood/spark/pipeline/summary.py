"""The figures of a run, which Spark counts on the executors and never on the driver."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any

from matchwood.spark.kernel_shipping import KernelCounts

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# Rules in the list of those with most matches.
TOP = 10
# Reasons for rejected events that are counted apart, the most frequent ones.
REASONS = 10
# Reasons that are printed.
PRINTED_REASONS = 3
# Warnings that are printed; the summary in JSON has all of them.
PRINTED_WARNINGS = 10
# Figures that are pairs, and what the two are called in JSON.
_RANKED = (("top_rules", "rule_id", "matches"), ("reject_reasons", "reason", "events"))
# Bits of the largest number of matches that is counted.
LONGEST = 48


@dataclass(frozen=True)
class Bar:
    """How many events or rules have from `low` to `high` matches."""

    low: int
    high: int
    count: int

    @property
    def label(self) -> str:
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,}–{self.high:,}"


@dataclass(frozen=True)
class Counts:
    """What was counted of events and their matches; None for what is not known.

    Matches that a stream writes to a sink that cannot be read back, such as Kafka, are counted as
    they are written, but not by rule or by event.
    """

    events: int = 0
    events_rejected: int | None = None
    events_matched: int | None = None
    matches: int | None = None
    matches_per_event: tuple[Bar, ...] | None = None
    rules_matched: int | None = None
    matches_per_rule: tuple[Bar, ...] | None = None
    top_rules: tuple[tuple[Any, int], ...] | None = None
    reject_reasons: tuple[tuple[str, int], ...] | None = None  # the most frequent ones


@dataclass(frozen=True)
class Summary:
    """The summary of a run: rules, events, matches, and the seconds of each stage.

    >>> summary = Summary(
    ...     "night", rules=3, counts=Counts(events=10, matches=4), stages={"match": 2}
    ... )
    >>> summary.events_per_second
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
    kernels: KernelCounts = field(default_factory=KernelCounts)
    devices: Mapping[str, int] = field(default_factory=dict)  # batches by device, where known
    stages: Mapping[str, float] = field(default_factory=dict)
    interrupted: bool = False
    places: Mapping[str, str] = field(default_factory=dict)  # of inputs and outputs, by section

    @property
    def seconds(self) -> float:
        return sum(self.stages.values())

    @property
    def events_per_second(self) -> float:
        """Events per second of matching, counting and writing, without compiling rules."""
        spent = sum(self.stages.get(stage, 0.0) for stage in ("match", "count", "write"))
        return self.counts.events / spent if spent else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The dict form for JSON; its keys are the names of the fields that are known."""
        form = asdict(self)
        form["stages"] = {stage: round(seconds, 3) for stage, seconds in self.stages.items()}
        known = {name: value for name, value in form.pop("counts").items() if value is not None}
        for name, what, number in _RANKED:
            if name in known:
                known[name] = [{what: of, number: count} for of, count in known[name]]
        form |= known
        form["seconds"] = round(self.seconds, 3)
        form["events_per_second"] = round(self.events_per_second, 1)
        return form

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2, default=str) + "\n"

    def _repr_html_(self) -> str:
        lines = "\n".join([self.name, *self.sentences()])
        return f"<pre>{escape(lines)}</pre>"

    def sentences(self) -> list[str]:
        """The summary as lines of text."""
        counts = self.counts
        lines = [f"rules    {self.rules:,} compiled, {self.rules_rejected:,} rejected"]
        events = [f"{counts.events:,} read"]
        if counts.events_rejected is not None:
            events.append(f"{counts.events_rejected:,} rejected")
        if counts.events_matched is not None:
            events.append(f"{counts.events_matched:,} with matches")
        lines.append(f"events   {', '.join(events)}")
        reasons = counts.reject_reasons or ()
        lines += [f"rejected {n:,}: {why}" for why, n in reasons[:PRINTED_REASONS]]
        if counts.matches is not None:
            of_rules = "" if counts.rules_matched is None else f" of {counts.rules_matched:,} rules"
            per_event = counts.matches / max(1, counts.events)
            lines.append(f"matches  {counts.matches:,}{of_rules}, {per_event:,.1f} per event")
        lines.append(f"kernels  {self.kernels}")
        if self.devices:
            batches = (f"{name} ({count:,} batches)" for name, count in self.devices.items())
            lines.append(f"devices  {', '.join(batches)}")
        lines.append(
            f"time     {self.seconds:,.1f} s, {self.events_per_second:,.0f} events per second"
        )
        if counts.top_rules:
            top = ", ".join(f"{rule} ({n:,})" for rule, n in counts.top_rules[:3])
            lines.append(f"top      {top}")
        lines += [f"warning  {warning}" for warning in self.warnings[:PRINTED_WARNINGS]]
        if len(self.warnings) > PRINTED_WARNINGS:
            lines.append(f"warning  and {len(self.warnings) - PRINTED_WARNINGS:,} more")
        return lines


def count_events(matched: DataFrame, size: Column, rejected: Column) -> Counts:
    """Count events and their matches in a frame with one row per event."""
    from pyspark.sql import functions as F

    good = F.when(~rejected, size)
    groups = (
        matched.groupBy(_bucket(good).alias("bucket"))
        .agg(F.count(F.lit(1)).alias("events"), F.sum(good).alias("matches"))
        .collect()
    )
    buckets = {row.bucket: row.events for row in groups}
    rejected_events = buckets.pop(None, 0)  # a rejected event has null as its number of matches
    return Counts(
        events=sum(buckets.values()) + rejected_events,
        events_rejected=rejected_events,
        events_matched=sum(events for bucket, events in buckets.items() if bucket >= 0),
        matches=sum(row.matches or 0 for row in groups),
        matches_per_event=bars(buckets),
    )


def count_reasons(counts: Counts, rejected: DataFrame, reason: str) -> Counts:
    """Count why events were rejected in a frame of them; `reason` is the column that says it."""
    from pyspark.sql import functions as F

    from matchwood.spark.storage import count_kinds

    kinds = count_kinds(rejected, F.col(reason), REASONS) if counts.events_rejected else {}
    return replace(counts, reject_reasons=tuple(kinds.items()))


def count_rules(counts: Counts, matches: DataFrame, rules: int) -> Counts:
    """Count the matches of each rule in a frame with one row per match, which has `rule_id`."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    per_rule = matches.groupBy("rule_id").agg(F.count(F.lit(1)).alias("matches"))
    observed = Observation()
    powers = _bucket(F.col("matches"))
    sums = [F.count(F.when(powers == power, 1)).alias(str(power)) for power in range(LONGEST)]
    # The figures are observed in the job that finds the highest, so that there is only one job.
    top = (
        per_rule.observe(observed, *sums).orderBy(F.desc("matches"), "rule_id").limit(TOP).collect()
    )
    buckets = {int(power): rules for power, rules in observed.get.items() if rules}
    matched = sum(buckets.values())
    return replace(
        counts,
        rules_matched=matched,
        matches_per_rule=bars({-1: max(0, rules - matched), **buckets}),
        top_rules=tuple((row.rule_id, row.matches) for row in top),
    )


def _bucket(number: Column) -> Column:
    """The bucket of a number of matches: -1 for none, else the largest power of two in it."""
    from pyspark.sql import functions as F

    # The length of the number in bits is exact, unlike a logarithm.
    return F.when(number > 0, F.length(F.bin(number)) - 1).when(number == 0, F.lit(-1))


def bars(buckets: Mapping[int, int]) -> tuple[Bar, ...]:
    """Bars from no matches to the highest bucket, with the empty ones in between.

    >>> [(bar.label, bar.count) for bar in bars({-1: 5, 0: 2, 2: 1})]
    [('0', 5), ('1', 2), ('2–3', 0), ('4–7', 1)]
    """
    return tuple(
        Bar(0, 0, buckets.get(-1, 0))
        if power < 0
        else Bar(2**power, 2 ** (power + 1) - 1, buckets.get(power, 0))
        for power in range(-1, max(buckets, default=-2) + 1)
    )
