"""Half-sent requests are given up in time, and no address takes all connections."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from matchwood.client import Client
from matchwood.service.http.connections import HEAD_BYTES
from service.delivery.test_webhooks import until
from service.serving import Served, free_port, served, settings_in

LIMITS = {"header_seconds": 0.5, "body_seconds": 0.5}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(settings_in(tmp_path_factory.mktemp("guarded"), limits=LIMITS)) as running:
        yield running


def connect(service: Served) -> socket.socket:
    parts = urlsplit(service.url)
    connection = socket.create_connection((parts.hostname, parts.port), timeout=10)
    return connection


def answer(connection: socket.socket) -> bytes:
    """All that comes until the service closes the connection."""
    received = b""
    try:
        while part := connection.recv(65_536):
            received += part
    except ConnectionError:
        pass
    return received


HALF = {
    "nothing": b"",
    "half a line": b"GET /heal",
    "half the headers": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-",
    "half a body": b'POST /events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"a"',
    "no body": b"POST /events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
    "half a chunk": b"POST /events HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
    b"\r\n5\r\n{",
}


def test_half_sent_requests_end(guarded: Served, caplog) -> None:
    connections = {name: connect(guarded) for name in HALF}
    for name, connection in connections.items():
        connection.sendall(HALF[name])
    began = time.monotonic()
    for name, connection in connections.items():
        received = answer(connection)
        assert received.startswith(b"HTTP/1.1 408 "), (name, received)
        assert b"urn:matchwood:problem:request-timeout" in received
        connection.close()
    assert time.monotonic() - began < 8
    assert "did not arrive in time" in caplog.text
    figures = guarded.http.get("/metrics").text
    assert 'matchwood_connections_closed_total{reason="headers"} 3.0' in figures
    assert 'matchwood_connections_closed_total{reason="body"} 3.0' in figures
    until(lambda: "matchwood_connections 1.0" in guarded.http.get("/metrics").text)


CHUNKED = b"POST /events HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
ENDLESS = {
    "a header": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ", b"a"),
    "headers": (b"GET /healthz HTTP/1.1\r\n", b"X: a\r\n"),
    "a path": (b"GET /", b"a"),
    "a trailer": (CHUNKED + b"2\r\n{}\r\n0\r\nX: ", b"a"),
    "an extension of a chunk": (CHUNKED + b"2;", b"a"),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_headers_without_an_end_are_refused(guarded: Served, name: str) -> None:
    begun, repeated = ENDLESS[name]
    with connect(guarded) as connection:
        connection.sendall(begun)
        sent = 0
        with contextlib.suppress(ConnectionError):
            while sent < 64 << 20:  # far more than the operating system buffers
                connection.sendall(repeated * (16_384 // len(repeated)))
                sent += 16_384
        assert sent < 64 << 20
    until(lambda: "matchwood_connections 1.0" in guarded.http.get("/metrics").text)


def test_long_headers_are_told_why(guarded: Served) -> None:
    with connect(guarded) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nX: " + b"a" * HEAD_BYTES)
        received = answer(connection)
    assert received.startswith(b"HTTP/1.1 431 ")
    assert b"urn:matchwood:problem:headers-too-large" in received


def _drip(connection: socket.socket) -> None:
    for number in range(200):
        connection.sendall(f"X-{number}: 1\r\n".encode())
        time.sleep(0.05)


def test_drops_of_a_request_do_not_extend_its_time(guarded: Served) -> None:
    with connect(guarded) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
        with pytest.raises(ConnectionError):
            _drip(connection)


def test_a_connection_that_is_kept_open_has_time_limits_too(guarded: Served) -> None:
    with connect(guarded) as connection:
        for _ in range(2):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            time.sleep(0.7)  # idle connections may wait longer
            assert connection.recv(65_536).startswith(b"HTTP/1.1 200 ")
        connection.sendall(b"\r\n")  # which is no request yet
        assert answer(connection).startswith(b"HTTP/1.1 408 ")


def test_slow_bodies_that_arrive_are_accepted(guarded: Served) -> None:
    body = b'[{"a": "' + b"x" * 60_000 + b'"}]'
    with connect(guarded) as connection:
        head = f"POST /events HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode())
        for low in range(0, len(body), 10_000):
            connection.sendall(body[low : low + 10_000])
            time.sleep(0.15)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 202 ")


def test_an_address_takes_only_its_share(tmp_path, caplog) -> None:
    limits = {"connections": 20, "connections_per_address": 5, "header_seconds": 60}
    with served(settings_in(tmp_path, limits=limits)) as running:
        running.http.close()
        taken = [connect(running) for _ in range(5)]
        with connect(running) as refused:
            received = answer(refused)
            assert received.startswith(b"HTTP/1.1 429 ")
            assert b"too-many-connections" in received
        parts = urlsplit(running.url)
        elsewhere = ("127.0.0.2", 0)  # another address of this machine
        with socket.create_connection(
            (parts.hostname, parts.port), 10, source_address=elsewhere
        ) as other:
            other.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert answer(other).startswith(b"HTTP/1.1 200 ")
        for connection in taken:
            connection.close()
        until(lambda: httpx.get(f"{running.url}/healthz").status_code == 200)
    assert "its address has too many" in caplog.text


def test_those_that_wait_longest_make_room(tmp_path) -> None:
    limits = {"connections": 6, "connections_per_address": 99, "header_seconds": 60}
    with served(settings_in(tmp_path, limits=limits)) as running:
        running.http.close()
        taken = [connect(running) for _ in range(6)]
        time.sleep(0.2)
        assert httpx.get(f"{running.url}/healthz").status_code == 200
        assert answer(taken[0]) == b""  # it was closed
        taken[1].settimeout(0.2)
        with pytest.raises(TimeoutError):  # it is still open
            taken[1].recv(1)
        for connection in taken:
            connection.close()


def forbidden(connection: socket.socket) -> bool:
    """Whether the next answer is 403; it is read to its end, in however many pieces it comes."""
    received = b""
    while not received.endswith(b"}"):
        received += connection.recv(65_536)
    return received.startswith(b"HTTP/1.1 403 ")


EARLY = b"GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://other\r\nContent-Length: 9\r\n\r\n"


def test_requests_that_were_answered_before_they_arrived_make_room(tmp_path) -> None:
    """Nobody watched over these connections any more: they stayed open for ever."""
    limits = {"connections": 6, "connections_per_address": 99, "header_seconds": 0.5}
    with served(settings_in(tmp_path, limits=limits)) as running:
        running.http.close()
        taken = [connect(running) for _ in range(6)]
        for connection in taken:
            connection.sendall(EARLY)
            assert forbidden(connection)
            connection.sendall(b"x" * 9)
        time.sleep(0.7)  # longer than headers may take: none have begun
        assert httpx.get(f"{running.url}/healthz").status_code == 200
        assert answer(taken[0]) == b""
        taken[1].sendall(b"\r\n")  # which is no request, and must not keep it open
        assert answer(taken[1]).startswith(b"HTTP/1.1 408 ")
        taken[2].sendall(EARLY)
        assert forbidden(taken[2])
        for connection in taken:
            connection.close()


def wait_for_service(client: Client) -> None:
    """However busy the machine is."""
    for _ in range(5):
        with contextlib.suppress(httpx.ConnectError):
            return client.wait_until_ready(300)
    return client.wait_until_ready(300)


@pytest.mark.slow
def test_many_half_sent_requests_shut_nobody_out(tmp_path) -> None:
    """At a limit of 512 open files, 600 connections made every later one wait for ever."""
    port = free_port()
    command = f"ulimit -n 512; exec '{sys.executable}' -m matchwood.cli serve --port {port}"
    process = subprocess.Popen(
        ["bash", "-c", command],
        env={**os.environ, "MATCHWOOD_DATA": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
    )
    url = f"http://127.0.0.1:{port}"
    taken: list[socket.socket] = []
    try:
        with Client(url) as client:
            wait_for_service(client)
        for _ in range(600):
            connection = socket.socket()
            connection.setblocking(False)
            connection.connect_ex(("127.0.0.1", port))
            taken.append(connection)
        elsewhere = ("127.0.0.2", 0)  # another address of this machine
        with socket.create_connection(("127.0.0.1", port), 10, source_address=elsewhere) as other:
            other.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert answer(other).startswith(b"HTTP/1.1 200 ")
    finally:
        for connection in taken:
            connection.close()
        process.terminate()
        _, log = process.communicate(timeout=60)
    lines = [json.loads(line) for line in log.splitlines()]
    limited = next(line for line in lines if line["message"] == "connections are limited")
    assert (limited["files"], limited["connections"], limited["per_address"]) == (512, 128, 64)
    assert any("its address has too many" in line["message"] for line in lines)
