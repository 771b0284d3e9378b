"""A process that has a card for all processes of a machine that ask for it: one index for them all.

Each connection is one worker of a client. It opens one segment, which whoever needs it first has
copied, and asks about one batch after the other. A segment is freed when nobody has it open any
more, and the process ends some time after the last connection did. See `card_client`.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from matchwood.match.batch.gpu.array_messages import (
    ConnectionEnded,
    address_of,
    receive,
    send,
)
from matchwood.match.batch.gpu.card import (
    CardMemoryError,
    card_name,
    card_problem,
    error_of_card,
    free_bytes,
)
from matchwood.match.batch.gpu.card_batches import GivenBatch
from matchwood.match.batch.gpu.card_program import received_arrays

if TYPE_CHECKING:
    from matchwood.match.batch.gpu.card_sweep import CardSegment, CardWorker

# Seconds without a connection after which the process ends.
IDLE_SECONDS = 30.0

# Seconds between two looks at whether there are connections.
_LOOK = 0.5

# What is said, and arrays.
Answer = tuple[Any, list[NDArray[Any]]]

# What keeps every rule.
_ALL = np.empty(0, np.uint8)


class SharedSegment:
    """A segment on the card, and workers of it that nobody uses."""

    def __init__(self, segment: CardSegment) -> None:
        self.segment = segment
        self.free: list[CardWorker] = []  # append and pop are atomic: threads share it
        self.arrays: weakref.WeakValueDictionary[str, NDArray[Any]] = weakref.WeakValueDictionary()

    def worker(self) -> CardWorker:
        try:
            return self.free.pop()
        except IndexError:
            return self.segment.worker()


class CardServer:
    """Segments on a card, for whoever connects to a socket."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._copying: dict[str, threading.Lock] = {}
        self._segments: weakref.WeakValueDictionary[str, SharedSegment] = (
            weakref.WeakValueDictionary()
        )
        self._connections = 0
        self._failed = False
        self._listener = socket.socket(socket.AF_UNIX)
        with address_of(path) as address:
            self._listener.bind(address)
        self._listener.listen(128)
        self._listener.settimeout(_LOOK)

    def serve(self, idle_seconds: float = IDLE_SECONDS) -> None:
        """Answer until nobody has been connected for so long, or the card has failed."""
        last_used = time.monotonic()
        while not self._failed and time.monotonic() - last_used < idle_seconds:
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                connection = None
            with self._lock:
                if connection is not None:
                    self._connections += 1
                if self._connections:
                    last_used = time.monotonic()
            if connection is not None:
                connection.settimeout(None)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()
        self._path.unlink(missing_ok=True)  # first, so that the next process has a path of its own
        self._listener.close()
        while self._connections:  # whoever is connected is told what has failed
            time.sleep(_LOOK)

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection:
                _Client(self, connection).serve()
        except ConnectionEnded:
            pass
        finally:
            with self._lock:
                self._connections -= 1

    def opened(self, key: str, client: _Client) -> SharedSegment:
        """The segment with a key; the client copies it if nobody else has."""
        with self._lock:
            copying = self._copying.setdefault(key, threading.Lock())
        with copying:
            shared = self._segments.get(key)
            if shared is None:
                shared = self._segments[key] = client.copied()
        return shared

    def fail(self) -> None:
        """Let no more clients in: after an error, a card answers no process that saw it."""
        self._failed = True


class _Client:
    """One connection; whoever is at its other end asks, and waits for the answer."""

    def __init__(self, server: CardServer, connection: socket.socket) -> None:
        self._server = server
        self._connection = connection
        self._shared: SharedSegment | None = None
        self._kept: dict[str, NDArray[Any]] = {}

    def serve(self) -> None:
        """Answer until the connection ends."""
        while True:
            said, arrays = receive(self._connection)
            try:
                for answer, given in self._answers(said, arrays):
                    send(self._connection, answer, given)
            except ConnectionEnded:
                raise
            except Exception as error:  # whatever a driver says: the client has its processor
                failed = error_of_card(error)
                is_memory = isinstance(failed, CardMemoryError)
                if not is_memory:
                    self._server.fail()
                elif self._shared is not None:
                    self._shared.free.clear()
                send(self._connection, {"failed": str(failed), "for_memory": is_memory})

    def copied(self) -> SharedSegment:
        """The segment that the client makes and sends now."""
        from matchwood.match.batch.gpu.card_sweep import CardSegment

        send(self._connection, {"is_known": False, "free_bytes": free_bytes()})
        said, arrays = receive(self._connection)
        if said is None:
            raise ConnectionEnded("the client could not make the program of its segment")
        return SharedSegment(CardSegment(received_arrays(said, arrays)))

    def _answers(self, said: Any, arrays: list[NDArray[Any]]) -> Iterator[Answer]:
        asked = said["ask"]
        if asked == "card":
            problem = card_problem()
            name = card_name() if problem is None else ""
            yield {"problem": problem, "name": name, "process": os.getpid()}, []
        elif asked == "open":
            self._shared = self._server.opened(said["key"], self)
            segment = self._shared.segment
            said = {"is_known": True, "slices": segment.slices}
            yield said, [segment.slice_of_rule]
        else:
            if said["forgets"]:
                self._kept.clear()
            for digest, array in zip(said["new"], arrays, strict=False):
                self._keep(digest, array)
            yield from self._matched(asked, said, arrays[len(said["new"]) :])

    def _keep(self, digest: str, array: NDArray[Any]) -> None:
        """Remember an array that later questions name; all connections have the same one."""
        assert self._shared is not None, "a segment was opened"
        self._kept[digest] = self._shared.arrays.setdefault(digest, array)

    def _matched(self, asked: str, said: Any, parts: list[NDArray[Any]]) -> Iterator[Answer]:
        """Answers about a batch."""
        assert self._shared is not None, "a segment was opened"
        given = GivenBatch(parts, *said["given"])
        keep = self._kept[said["keep"]] if said["keep"] else _ALL
        worker = self._shared.worker()
        if asked == "pairs":
            for pairs in worker.pairs(given, keep):
                yield {"is_last": False}, list(pairs)
                del pairs
            last: Answer = {"is_last": True}, []
        elif asked == "runs":
            for runs in worker.runs(given, keep):
                yield {"is_last": False}, list(runs)
                del runs
            last = {"is_last": True}, []
        elif asked == "best":
            priority = self._kept[said["priority"]] if said["priority"] else None
            for pairs in worker.best(given, keep, priority, said["limit"]):
                yield {"is_last": False}, list(pairs)
            last = {"is_last": True}, []
        elif asked == "counts of events":
            last = {}, [worker.counts_of_events(given, keep)]
        else:
            from numba import cuda

            rules = len(self._shared.segment.slice_of_rule)
            totals = cuda.to_device(np.zeros(max(1, rules), np.int64))
            worker.add_counts_of_rules(given, keep, totals)
            last = {}, [totals.copy_to_host()[:rules]]
        self._shared.free.append(worker)
        yield last


def main() -> None:
    CardServer(Path(sys.argv[1])).serve()


if __name__ == "__main__":
    main()
