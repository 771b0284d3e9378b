"""Connections to webhooks: kept, replaced when they were closed, and wary of strange answers."""

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest

from matchwood.service.delivery import addresses
from matchwood.service.delivery.webhook_connections import (
    ANSWER_BYTES,
    CallFailed,
    WebhookConnections,
)

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
Answering = Callable[[int, int], bytes | None]


class Raw:
    """A server that answers the n-th call of its c-th connection with bytes; None closes it."""

    def __init__(self, answering: Answering) -> None:
        self._answering = answering
        self.connections = 0
        self.requests: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        connection, call = self.connections, 0
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                self.requests.append(head + await reader.readexactly(length))
                call += 1
                answer = self._answering(connection, call)
                if answer is None:
                    return
                writer.write(answer)
                if b"close" in answer.lower() or b"HTTP/1.0" in answer:
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def run(
    answering: Answering,
    work: Callable[[WebhookConnections, str], Awaitable[None]],
    most: int = 8,
) -> Raw:
    raw = Raw(answering)

    async def main() -> None:
        server = await asyncio.start_server(raw.serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        connections = WebhookConnections(private=True, most=most)
        try:
            async with asyncio.timeout(20):
                await work(connections, f"http://127.0.0.1:{port}/in?a=1#part")
        finally:
            connections.close()
            server.close()

    asyncio.run(main())
    return raw


async def post(connections: WebhookConnections, url: str) -> int:
    return await connections.post(url, {"Webhook-Id": "s1-1"}, b'{"a":1}')


def test_one_connection_serves_many_calls() -> None:
    async def work(connections: WebhookConnections, url: str) -> None:
        for _ in range(20):
            assert await post(connections, url) == 200

    raw = run(lambda connection, call: OK, work)
    assert (raw.connections, len(raw.requests)) == (1, 20)
    head, _, body = raw.requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /in?a=1 HTTP/1.1\r\nHost: 127.0.0.1:")
    assert body == b'{"a":1}'


def test_connections_to_many_receivers_make_room_for_each_other() -> None:
    async def work(connections: WebhookConnections, url: str) -> None:
        one, other = url, url.replace("127.0.0.1", "localhost")
        for expected in (one, other, one):
            assert await post(connections, expected) == 200
        assert len(connections._kept) == 1
        assert await post(connections, one) == 200  # over the connection of the call before

    assert run(lambda connection, call: OK, work, most=1).connections == 3


def test_a_name_that_takes_long_to_look_up_delays_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only the lookup is replaced: no name server here is slow."""
    looked_up = threading.Event()

    def resolved(host: str, port: int) -> list[str]:
        if host == "slow.example.org":
            assert looked_up.wait(20)
        return ["127.0.0.1"]

    async def work(connections: WebhookConnections, url: str) -> None:
        slow = [post(connections, url.replace("127.0.0.1", "slow.example.org")) for _ in range(7)]
        waiting = asyncio.gather(*slow)
        await asyncio.sleep(0)
        assert await post(connections, url.replace("127.0.0.1", "quick.example.org")) == 200
        assert await asyncio.to_thread(lambda: not looked_up.is_set())  # other work goes on, too
        looked_up.set()
        assert await waiting == [200] * 7

    monkeypatch.setattr(addresses, "resolved", resolved)
    run(lambda connection, call: OK, work)


def test_a_kept_connection_that_was_closed_is_replaced() -> None:
    async def work(connections: WebhookConnections, url: str) -> None:
        assert await post(connections, url) == 200
        assert await post(connections, url) == 200  # the first connection does not answer this
        assert await post(connections, url) == 200

    raw = run(lambda connection, call: None if (connection, call) == (1, 2) else OK, work)
    assert (raw.connections, len(raw.requests)) == (2, 4)


def test_a_receiver_that_only_closes_is_called_once() -> None:
    async def work(connections: WebhookConnections, url: str) -> None:
        with pytest.raises(CallFailed, match="without an answer"):
            await post(connections, url)

    assert run(lambda connection, call: None, work).connections == 1


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n" + OK, 200),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", 200),
        (b"HTTP/1.1 500 No\r\nConnection: close\r\n\r\nuntil the end", 500),
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", 200),
        (b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n", 302),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n" + b"x" * (ANSWER_BYTES + 1), 200),
    ],
)
def test_the_status_of_any_answer_is_read(answer: bytes, status: int) -> None:
    async def work(connections: WebhookConnections, url: str) -> None:
        for _ in range(3):
            assert await post(connections, url) == status

    run(lambda connection, call: answer, work)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"SSH-2.0-OpenSSH\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * (2 * ANSWER_BYTES), "the head of the answer"),
        (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: close", "in the middle"),
    ],
)
def test_what_is_no_answer_is_refused(answer: bytes, said: str) -> None:
    async def work(connections: WebhookConnections, url: str) -> None:
        with pytest.raises(CallFailed, match=said):
            await post(connections, url)

    run(lambda connection, call: answer, work)


def test_bytes_that_nobody_asked_for_end_a_connection() -> None:
    async def work(connections: WebhookConnections, url: str) -> None:
        assert await post(connections, url) == 200
        await asyncio.sleep(0.05)
        assert await post(connections, url) == 200

    raw = run(lambda connection, call: OK + b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", work)
    assert raw.connections == 2


def test_a_call_that_is_given_up_leaves_no_connection() -> None:
    async def work(connections: WebhookConnections, url: str) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await post(connections, url)
        assert await post(connections, url) == 200

    raw = run(lambda connection, call: b"" if connection == 1 else OK, work)
    assert raw.connections == 2
