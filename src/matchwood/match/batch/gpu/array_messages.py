"""Messages of JSON and arrays, between processes of one machine that trust each other.

8 bytes  the length of what follows up to the arrays
JSON     [what is said, [[type, elements] of each array]]
arrays   one after the other, as they are in memory
"""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LENGTH = struct.Struct("<Q")


class ConnectionEnded(Exception):
    """The other process has ended, or has closed the connection."""


class ConnectionSilent(ConnectionEnded):
    """The other process has done nothing for as many seconds as the socket waits."""


@contextmanager
def address_of(path: Path) -> Iterator[str]:
    """A path by which a socket can be bound or found: the system takes no more than 107 bytes,
    and temporary folders, such as those of executors, may have longer names."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def send(connection: socket.socket, said: Any, arrays: Sequence[NDArray[Any]] = ()) -> None:
    """Send something that JSON can hold, and flat arrays."""
    described = [[array.dtype.str, array.size] for array in arrays]
    header = json.dumps([said, described], separators=(",", ":")).encode()
    try:
        connection.sendall(_LENGTH.pack(len(header)) + header)
        for array in arrays:
            if array.size:
                connection.sendall(np.ascontiguousarray(array).view(np.uint8).data)
    except OSError as error:
        raise _lost(error) from error


def receive(connection: socket.socket) -> tuple[Any, list[NDArray[Any]]]:
    """What the other process has sent.

    >>> one, other = socket.socketpair()
    >>> send(one, {"rules": 2}, [np.arange(3, dtype=np.int32), np.empty(0)])
    >>> receive(other)
    ({'rules': 2}, [array([0, 1, 2], dtype=int32), array([], dtype=float64)])
    >>> one.close()
    >>> receive(other)
    Traceback (most recent call last):
    matchwood.match.batch.gpu.array_messages.ConnectionEnded: the connection was closed
    >>> other.close()
    """
    (length,) = _LENGTH.unpack(_read(connection, _LENGTH.size).tobytes())
    said, described = json.loads(_read(connection, length).tobytes())
    return said, [
        _read(connection, size * np.dtype(kind).itemsize).view(kind) for kind, size in described
    ]


def _read(connection: socket.socket, size: int) -> NDArray[np.uint8]:
    data = np.empty(size, np.uint8)
    left = data.data
    while len(left):
        try:
            count = connection.recv_into(left)
        except OSError as error:
            raise _lost(error) from error
        if not count:
            raise ConnectionEnded("the connection was closed")
        left = left[count:]
    return data


def _lost(error: OSError) -> ConnectionEnded:
    kind = ConnectionSilent if isinstance(error, TimeoutError) else ConnectionEnded
    return kind(str(error))
