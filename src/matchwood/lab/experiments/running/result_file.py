"""Results: one line of JSON per point, with machine, versions, commit, budget and seed.

Lines are only ever appended, so that an interrupted run goes on where it was. If a point is there
twice, the last line counts.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from matchwood.lab.bench.machine import machine, versions
from matchwood.lab.bench.reporting import rounded
from matchwood.lab.experiments.experiment import Experiment, Measure
from matchwood.lab.experiments.measured import NO_MEMORY, NO_TIME, Lines, Measured, Spreads
from matchwood.lab.experiments.running.point_worker import LATE, MEASURED, OVER
from matchwood.lab.experiments.running.points import Budget, Point, point

# Why a point has no figures, by its status.
WHY = {OVER: NO_MEMORY, LATE: NO_TIME}

# The folder that results are written to.
FOLDER = Path("bench-results")


class Results:
    """The points of one file, by key."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: dict[str, dict[str, Any]] = {}
        self._broken = False  # whether the last line is incomplete
        if path.exists():
            text = path.read_text(encoding="utf-8")
            self._broken = not text.endswith("\n")
            for line in text.splitlines():
                try:
                    record = json.loads(line)
                except ValueError:
                    continue
                self.records[Point(**record["point"]).key] = record

    def __contains__(self, made: Point) -> bool:
        return made.key in self.records

    def get(self, made: Point) -> dict[str, Any] | None:
        return self.records.get(made.key)

    def add(self, made: Point, figures: Mapping[str, Any], budget: Budget) -> dict[str, Any]:
        """Append the result of a point at once."""
        record = {
            "point": asdict(made),
            "seed": made.settings.get("seed"),
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            **{name: _rounded(value) for name, value in figures.items()},
            "budget": asdict(budget),
            "versions": versions(),
            "machine": machine(),
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write("\n" * self._broken + json.dumps(record, ensure_ascii=False) + "\n")
        self._broken = False
        self.records[made.key] = record
        return record

    def lines(self, experiment: Experiment, scale: str, measure: Measure) -> Lines:
        """What was measured, by contestant and value, in the unit of the measure."""
        by_label: dict[str, dict[Any, float]] = {}
        for label, value, record in self._of(experiment, scale):
            figure = record.get(measure.name, record.get(measure.whole))
            if record["status"] == MEASURED and figure is not None:
                by_label.setdefault(label, {})[value] = figure * measure.scale
        return by_label

    def measured(self, experiment: Experiment, scale: str, measure: Measure) -> Measured:
        """All that is known of one measure, for statements to be judged by."""
        return Measured(
            values=experiment.values[scale],
            lines=self.lines(experiment, scale, measure),
            failed=self.failed(experiment, scale),
            spreads=self.spreads(experiment, scale, measure),
            full=scale == "paper",
        )

    def failed(self, experiment: Experiment, scale: str) -> dict[str, dict[Any, str]]:
        """Where contestants ran out of time or memory, and which of the two."""
        by_label: dict[str, dict[Any, str]] = {}
        for label, value, record in self._of(experiment, scale):
            if record["status"] in WHY:
                by_label.setdefault(label, {})[value] = WHY[record["status"]]
        return by_label

    def spreads(self, experiment: Experiment, scale: str, measure: Measure) -> Spreads:
        """The least and the most of repeated runs, where a point was run repeatedly."""
        by_label: dict[str, dict[Any, tuple[float, float]]] = {}
        for label, value, record in self._of(experiment, scale):
            spread = record.get(f"{measure.name}_spread")
            if record["status"] == MEASURED and spread:
                low, high = spread
                scaled = (low * measure.scale, high * measure.scale)
                by_label.setdefault(label, {})[value] = scaled
        return by_label

    def _of(self, experiment: Experiment, scale: str) -> Iterable[tuple[str, Any, dict[str, Any]]]:
        for contestant in experiment.contestants:
            for value, workload, settings in experiment.runs(scale):
                record = self.get(point(contestant, workload, settings))
                if record is not None:
                    yield contestant.label, value, record


def _rounded(value: Any) -> Any:
    """A figure, or each of a list, with as many digits as a measurement has."""
    return [rounded(each) for each in value] if isinstance(value, list) else rounded(value)
