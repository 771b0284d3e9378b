"""What is counted, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Figures(Collector):
    """How much there is, asked for when somebody looks."""

    def __init__(self, figures: Callable[[], dict[str, int]]) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        for name, value in self._figures().items():
            text = name.replace("_", " ")
            yield GaugeMetricFamily(f"matchwood_{name}", f"now: {text}", value=value)


class Metrics:
    """The metrics of one service."""

    def __init__(self, figures: Callable[[], dict[str, int]]) -> None:
        self._registry = registry = CollectorRegistry()
        registry.register(Figures(figures))
        self.requests = Counter(
            "matchwood_requests",
            "Requests that were answered",
            ("method", "route", "status"),
            registry=registry,
        )
        self.seconds = Histogram(
            "matchwood_request_seconds",
            "Seconds until a request was answered",
            ("method", "route"),
            buckets=SECONDS,
            registry=registry,
        )
        self.events = Counter(
            "matchwood_events_accepted", "Events that were accepted", registry=registry
        )
        self.matches = Counter(
            "matchwood_matches", "Subscriptions that events matched", registry=registry
        )
        self.delivered = Counter(
            "matchwood_deliveries", "Events that were sent", ("way",), registry=registry
        )
        self.webhook_calls = Counter(
            "matchwood_webhook_calls", "Calls of webhooks", ("result",), registry=registry
        )
        self.dead_letters = Counter(
            "matchwood_dead_letters", "Events that webhooks would not take", registry=registry
        )
        self.dropped = Counter(
            "matchwood_deliveries_dropped",
            "Deliveries given up because they were not fetched in time",
            registry=registry,
        )

    def page(self) -> bytes:
        return generate_latest(self._registry)
