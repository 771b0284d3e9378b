"""An HTTP server that receives webhooks, for tests."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Receiver:
    """An HTTP server that keeps what it is sent and answers as it is told."""

    def __init__(self, address: str = "127.0.0.1", port: int = 0) -> None:
        self.requests: list[str] = []  # the method and the path of each
        self.calls: list[tuple[dict[str, str], bytes]] = []
        self.connections = 0
        self.answer: Callable[[dict[str, Any]], int] = lambda message: 204
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                receiver.connections += 1

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = receiver.answer(json.loads(body or b"null"))
                receiver.calls.append((dict(self.headers), body))
                self._answer(status)

            def do_GET(self) -> None:  # as a redirect would be followed
                self._answer(200)

            def _answer(self, status: int) -> None:
                receiver.requests.append(f"{self.command} {self.path}")
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("Location", receiver.url + "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *given: object) -> None:
                pass

        self.server = ThreadingHTTPServer((address, port), Handler)
        self.server.daemon_threads = True
        self.url = f"http://{address}:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()

    def numbers(self) -> list[int]:
        return [json.loads(body)["event"]["n"] for _, body in self.calls]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
