"""Results: one line of JSON per point, with machine, versions and seed.

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

from matchwood.lab.bench.machine import machine
from matchwood.lab.bench.reporting import rounded
from matchwood.lab.experiments.claims import Lines, Over
from matchwood.lab.experiments.experiment import Experiment, Measure
from matchwood.lab.experiments.running.point_worker import LATE, MEASURED, OVER
from matchwood.lab.experiments.running.points import Point, point

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

    def add(self, made: Point, figures: Mapping[str, Any]) -> dict[str, Any]:
        """Append the result of a point at once."""
        record = {
            "point": asdict(made),
            "seed": made.settings.get("seed"),
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            **{name: rounded(value) for name, value in figures.items()},
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

    def over(self, experiment: Experiment, scale: str) -> Over:
        """Where contestants were over their budget of memory or time."""
        by_label: dict[str, list[Any]] = {}
        for label, value, record in self._of(experiment, scale):
            if record["status"] in (OVER, LATE):
                by_label.setdefault(label, []).append(value)
        return by_label

    def _of(self, experiment: Experiment, scale: str) -> Iterable[tuple[str, Any, dict[str, Any]]]:
        for contestant in experiment.contestants:
            for value, workload, settings in experiment.runs(scale):
                record = self.get(point(contestant, workload, settings))
                if record is not None:
                    yield contestant.label, value, record
