"""The figures of a stream for Prometheus, over HTTP, as text."""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# The address if only a port is given: figures are for this machine only.
LOOPBACK = "127.0.0.1"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# Each figure: what it is for Prometheus, and what it says.
COUNTERS = {
    "micro_batches": "micro-batches that are complete",
    "events": "events that were read",
    "matches": "matches that were written; absent where they are not counted",
    "rejected_events": "events that cannot be read; absent where they are not counted",
}
GAUGES = {
    "micro_batch": "number of the last micro-batch",
    "micro_batch_seconds": "seconds that the last micro-batch took",
    "micro_batch_end_seconds": "when the last micro-batch was complete, in seconds since 1970",
    "behind": "what is not read yet, in the unit of the source",
    "rules": "1, with the version of the rules of the last micro-batch",
}


def address_of(text: str) -> tuple[str, int]:
    """The host and port of "HOST:PORT" or "PORT".

    >>> address_of("9400"), address_of("0.0.0.0:9400"), address_of("[::1]:9400")
    (('127.0.0.1', 9400), ('0.0.0.0', 9400), ('::1', 9400))
    """
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65_535:
        raise ValueError(f"expected HOST:PORT or PORT, found {text!r}")
    return host.strip("[]") or LOOPBACK, int(port)


class StreamMetrics:
    """Counts what micro-batches tell, and prints it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._totals: dict[str, float] = {}
        self._last: dict[str, tuple[float, dict[str, str]]] = {}

    def count(self, **amounts: float | None) -> None:
        """Add to counters; None is not known."""
        with self._lock:
            for name, amount in amounts.items():
                if amount is not None:
                    self._totals[name] = self._totals.get(name, 0) + amount

    def note(self, name: str, value: float, **labels: str) -> None:
        """Set a gauge."""
        with self._lock:
            self._last[name] = value, labels

    def text(self) -> str:
        """All figures, as Prometheus reads them."""
        with self._lock:
            totals, last = dict(self._totals), dict(self._last)
        lines = []
        for name, told in COUNTERS.items():
            if name in totals:
                lines += self._figure(f"{name}_total", "counter", told, totals[name], {})
        for name, told in GAUGES.items():
            if name in last:
                lines += self._figure(name, "gauge", told, *last[name])
        return "".join(f"{line}\n" for line in lines)

    def _figure(
        self, name: str, kind: str, told: str, value: float, labels: Mapping[str, str]
    ) -> list[str]:
        all_labels = {"pipeline": self._name, **labels}
        inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in all_labels.items())
        full = f"matchwood_stream_{name}"
        return [f"# HELP {full} {told}", f"# TYPE {full} {kind}", f"{full}{{{inside}}} {value!r}"]


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class MetricsServer:
    """Answers `GET /metrics` with the text of some figures until it is closed."""

    def __init__(self, metrics: StreamMetrics, address: tuple[str, int]) -> None:
        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                known = self.path.partition("?")[0] == "/metrics"
                body = metrics.text().encode() if known else b"GET /metrics\n"
                self.send_response(200 if known else 404)
                self.send_header("Content-Type", CONTENT_TYPE)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Requests are not logged."""

        class Server(ThreadingHTTPServer):
            address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET

        self._server = Server(address, Answer)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        host, port = self._server.server_address[:2]
        shown = f"[{host!s}]" if ":" in str(host) else str(host)
        return f"http://{shown}:{port}/metrics"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
