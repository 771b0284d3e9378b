"""The bodies of requests as they arrive: limited in size, and unfolded if they are compressed.

The limit counts twice: for the bytes that arrive, and for those that they unfold to. A body is
unfolded in pieces, and no further than the limit, so that a small one cannot fill the memory.
All bodies that are in memory at the same time have a limit, too.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import NamedTuple

from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive

from matchwood.service.limits import ByteShare
from matchwood.service.problems import RequestProblem

# The bytes around the data of each encoding, as zlib names them.
WINDOWS = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
# Bytes that are unfolded at a time.
PIECE_BYTES = 256 << 10


class BodyLimit(NamedTuple):
    """The most bytes that a body may have."""

    size: int
    has_key: bool = True  # whether the request has a key, without which its body has to be small

    def problem(self) -> RequestProblem:
        """The problem of a body that is larger."""
        if self.has_key:
            detail = f"a body may have at most {self.size:,} bytes"
            return RequestProblem("body-too-large", detail, limit=self.size)
        detail = f"a body of more than {self.size:,} bytes has to be sent with a key"
        return RequestProblem("unauthenticated", detail, limit=self.size)


def declared_problem(headers: Mapping[str, str], limit: BodyLimit) -> RequestProblem | None:
    """What is wrong with a body as far as its headers say."""
    declared = headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit.size:
        return limit.problem()
    encoding = _encoding(headers)
    if encoding and encoding not in WINDOWS:
        detail = f"a body may be encoded as gzip or deflate, found {encoding!r:.100}"
        return RequestProblem("unsupported-media-type", detail)
    return None


async def whole_body(receive: Receive) -> bytes:
    """All of a body."""
    message = await receive()
    parts: list[bytes] = []
    while message["type"] == "http.request":
        part: bytes = message.get("body", b"")
        if not message.get("more_body", False):
            return b"".join([*parts, part]) if parts else part
        parts.append(part)
        message = await receive()
    raise ClientDisconnect


def limited(
    receive: Receive, headers: Mapping[str, str], limit: BodyLimit, share: ByteShare | None
) -> Receive:
    """Pass on the parts of a body, unfolded, until they are over the limit.

    `share` counts those that stay in memory until the request is answered.
    """
    encoding = _encoding(headers)
    if not encoding:
        return _counted(receive, limit, share)
    unfolded = UnfoldedBody(_counted(receive, limit, None), encoding, limit).receive
    return unfolded if share is None else _counted(unfolded, limit, share)


def _counted(receive: Receive, limit: BodyLimit, share: ByteShare | None) -> Receive:
    size = 0

    async def counted() -> Message:
        nonlocal size
        message = await receive()
        part = len(message.get("body", b""))
        size += part
        if size > limit.size:
            raise limit.problem()
        if share is not None:
            share.add(part)
        return message

    return counted


def _encoding(headers: Mapping[str, str]) -> str:
    encoding = headers.get("content-encoding", "").strip().lower()
    return "" if encoding == "identity" else encoding


class UnfoldedBody:
    """A compressed body, of which each call of `receive` unfolds a piece."""

    def __init__(self, receive: Receive, encoding: str, limit: BodyLimit) -> None:
        self._receive = receive
        self._encoding = encoding
        self._limit = limit
        self._unfolding = zlib.decompressobj(WINDOWS[encoding])
        self._folded = b""  # what has arrived and is not unfolded yet
        self._more = True  # whether more may arrive
        self._arrived = False  # whether there is a body at all
        self._ended = False  # whether the last part was passed on
        self._size = 0

    async def receive(self) -> Message:
        if self._ended:
            return await self._receive()
        while not self._folded and self._more:
            message = await self._receive()
            if message["type"] != "http.request":
                return message
            self._folded = message.get("body", b"")
            self._more = message.get("more_body", False)
        self._arrived = self._arrived or bool(self._folded)
        piece = self._unfold()
        self._ended = not self._more and not self._folded
        if self._ended and self._arrived and not self._unfolding.eof:
            raise RequestProblem("bad-request", f"the body is not complete as {self._encoding}")
        return {"type": "http.request", "body": piece, "more_body": not self._ended}

    def _unfold(self) -> bytes:
        try:
            piece = self._unfolding.decompress(self._folded, PIECE_BYTES)
        except zlib.error as error:
            detail = f"the body cannot be read as {self._encoding}: {error}"
            raise RequestProblem("bad-request", detail) from None
        self._folded = self._unfolding.unconsumed_tail
        if self._unfolding.unused_data:
            raise RequestProblem("bad-request", f"something follows the {self._encoding} data")
        self._size += len(piece)
        if self._size > self._limit.size:
            raise self._limit.problem()
        return piece
