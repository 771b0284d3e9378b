"""How many events came and went per second, over the last hour, for the page of operators."""

from __future__ import annotations

import time
from collections import deque
from typing import NamedTuple

from prometheus_client import Counter

from matchwood.service.metrics import Metrics

# Seconds between two samples.
SAMPLE_SECONDS = 5.0
# Samples that are kept: those of an hour.
SAMPLES = 720


class RateSample(NamedTuple):
    """What happened per second, up to a moment."""

    at: float  # Unix time
    events: float
    matches: float
    deliveries: float
    webhook_calls: float
    dead_letters: float


class RateHistory:
    """Looks at the counters of the metrics now and then. Clocks that jump change nothing."""

    def __init__(self, metrics: Metrics) -> None:
        self._counters = (
            metrics.events,
            metrics.matches,
            metrics.delivered,
            metrics.webhook_calls,
            metrics.dead_letters,
        )
        self.samples: deque[RateSample] = deque(maxlen=SAMPLES)
        self._before = self._totals()
        self._since = time.monotonic()

    async def take(self) -> None:
        """Add a sample: the rates since the last one."""
        totals, now = self._totals(), time.monotonic()
        seconds = max(now - self._since, 1e-3)
        rates = (
            (after - before) / seconds for after, before in zip(totals, self._before, strict=True)
        )
        self.samples.append(RateSample(time.time(), *rates))
        self._before, self._since = totals, now

    def _totals(self) -> list[float]:
        return [_total(counter) for counter in self._counters]


def _total(counter: Counter) -> float:
    """The sum over all labels."""
    samples = (sample for metric in counter.collect() for sample in metric.samples)
    return sum(sample.value for sample in samples if sample.name.endswith("_total"))
