"""Metrics for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

# Upper bounds of the latency histogram's buckets, in seconds.
LATENCY_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class CurrentFigures(Collector):
    """Gauges that are read from the service each time the metrics are scraped."""

    def __init__(self, figures: Callable[[], dict[str, float]]) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        for name, value in self._figures().items():
            text = name.replace("_", " ")
            yield GaugeMetricFamily(f"matchwood_{name}", f"Current value of: {text}", value=value)


class Metrics:
    """All metrics of one service."""

    def __init__(self, figures: Callable[[], dict[str, float]]) -> None:
        self._registry = registry = CollectorRegistry()
        registry.register(CurrentFigures(figures))
        self.requests = Counter(
            "matchwood_requests",
            "Requests answered",
            ("method", "route", "status"),
            registry=registry,
        )
        self.seconds = Histogram(
            "matchwood_request_seconds",
            "Seconds taken to answer a request",
            ("method", "route"),
            buckets=LATENCY_BUCKETS,
            registry=registry,
        )
        # The counter and the histogram of each kind of request: to find them takes longer than to
        # count.
        self._counted: dict[tuple[str, str, int], tuple[Counter, Histogram | None]] = {}
        self.events = Counter("matchwood_events_accepted", "Events accepted", registry=registry)
        self.matches = Counter(
            "matchwood_matches", "Matches of events with subscriptions", registry=registry
        )
        self.delivered = Counter(
            "matchwood_deliveries", "Events delivered to subscribers", ("way",), registry=registry
        )
        self.webhook_calls = Counter(
            "matchwood_webhook_calls", "Calls to webhooks", ("result",), registry=registry
        )
        self.dead_letters = Counter(
            "matchwood_dead_letters", "Events that webhooks did not accept", registry=registry
        )
        self.dropped = Counter(
            "matchwood_deliveries_dropped",
            "Deliveries dropped because they were not fetched in time",
            registry=registry,
        )

        self.slow_readers = Counter(
            "matchwood_slow_readers",
            "Connections that were ended because their reader took nothing",
            registry=registry,
        )

        self.connections = Gauge(
            "matchwood_connections", "Open connections of clients", registry=registry
        )
        self.connections_limit = Gauge(
            "matchwood_connections_limit", "The most open connections", registry=registry
        )
        self.connections_closed = Counter(
            "matchwood_connections_closed",
            "Connections that were refused, or closed because a request did not arrive in time "
            "or an answer was not taken",
            ("reason",),
            registry=registry,
        )

    def note_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered, and how long it took unless it was a stream."""
        counted = self._counted.get((method, route, status))
        if counted is None:
            count = self.requests.labels(method, route, str(status))
            timed = None if route.endswith("/stream") else self.seconds.labels(method, route)
            counted = self._counted[method, route, status] = count, timed
        count, timed = counted
        count.inc()
        if timed is not None:
            timed.observe(seconds)

    def page(self) -> bytes:
        return generate_latest(self._registry)
