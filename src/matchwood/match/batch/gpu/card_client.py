"""A card that another process has: all processes of a machine that share it need one index there.

That process (`card_server`) is started by whoever needs it first. Clients find it by a socket in a
folder that nobody but their user can enter; its name depends on the cards that they see and on
where their matchwood is, so that what one runs is what the other runs.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from matchwood.kernels.array_types import Int64Array
from matchwood.match.batch.gpu.array_messages import (
    ConnectionEnded,
    ConnectionSilent,
    address_of,
    receive,
    send,
)
from matchwood.match.batch.gpu.card import VISIBLE_CARDS, CardError, CardMemoryError, first_line
from matchwood.match.batch.gpu.card_batches import GivenBatch
from matchwood.match.batch.gpu.card_code_tables import SegmentTables
from matchwood.match.batch.gpu.card_program import SegmentArrays, sent_arrays
from matchwood.match.batch.match_runs import MatchRuns
from matchwood.match.batch.pairs import Pairs

# Seconds that the process has to start, which includes looking for the card, and between two looks.
_START, _LOOK = 60.0, 0.05

# Seconds that it has for each part of an answer. The first batch is what takes longest: kernels are
# compiled for it, and the index may have to be made by another client.
_ANSWER = 120.0

# Arrays (selections of rules, priorities) that a connection remembers before it forgets them all.
_MOST_KEPT = 16


class SilentCardError(CardError):
    """The process that has the card is there and hangs."""


class CardConnection:
    """A connection to the process that has the card; one thread at a time uses it."""

    def __init__(self) -> None:
        try:
            self._socket, self.greeting = _connected()
        except ConnectionSilent as error:
            silent = f"no GPU is used because the process that has it was silent for {_START:g} s"
            raise SilentCardError(silent) from error
        weakref.finalize(self, self._socket.close)

    def send(self, said: Any, arrays: list[NDArray[Any]] | None = None) -> None:
        """Ask something."""
        self._socket.settimeout(_ANSWER)
        try:
            send(self._socket, said, arrays or [])
        except ConnectionEnded as error:
            raise _ended(error) from error

    def receive(self) -> tuple[Any, list[NDArray[Any]]]:
        """The next answer; a CardError if that is what went wrong on the card."""
        self._socket.settimeout(_ANSWER)
        try:
            said, arrays = receive(self._socket)
        except ConnectionEnded as error:
            raise _ended(error) from error
        if "failed" in said:
            raise (CardMemoryError if said["for_memory"] else CardError)(said["failed"])
        return said, arrays


def _ended(error: ConnectionEnded) -> CardError:
    if isinstance(error, ConnectionSilent):
        return CardError(f"the process that has the GPU did not answer for {_ANSWER:g} seconds")
    return CardError(f"the process that has the GPU has ended: {first_line(error)}")


class SharedCard:
    """The card of that process, in place of one of this process (`OwnCard`)."""

    def __init__(self) -> None:
        try:
            greeting = CardConnection().greeting
        except SilentCardError as error:  # by itself, this process would wait for the same card
            greeting = {"name": "", "problem": str(error)}
        self.name: str = greeting["name"]
        self.problem: str | None = greeting["problem"]

    def give_up(self, problem: str) -> None:
        """Do not use it any more in this process, for this reason."""
        self.problem = problem

    def segment(
        self,
        key: Callable[[], str],
        made: Callable[[int], SegmentArrays],
        tables: Callable[[], SegmentTables],
    ) -> SharedSegmentOfClient:
        """A segment; its arrays are made, for so many free bytes, if no process has copied it.

        Tables are not needed: clients encode all columns by themselves.
        """
        return SharedSegmentOfClient(key(), made)

    def zero_totals(self, rules: int) -> SharedTotals:
        return SharedTotals(rules)


class SharedSegmentOfClient:
    """A segment that another process has on its card, as long as this is there."""

    def __init__(self, key: str, made: Callable[[int], SegmentArrays]) -> None:
        self.key = key
        self._connection = CardConnection()
        self._connection.send({"ask": "open", "key": key})
        said, arrays = self._connection.receive()
        if not said["is_known"]:
            try:
                self._connection.send(*sent_arrays(made(said["free_bytes"])))
            except BaseException:
                self._connection.send(None)
                raise
            said, arrays = self._connection.receive()
        self.slices: int = said["slices"]
        (self.slice_of_rule,) = arrays

    def worker(self) -> SharedWorker:
        """What asks about one batch at a time."""
        return SharedWorker(self)


class SharedTotals:
    """A total for each rule, in the memory of this process."""

    def __init__(self, rules: int) -> None:
        self.counts: Int64Array = np.zeros(rules, np.int64)

    def copy_to_host(self) -> Int64Array:
        return self.counts


class SharedWorker:
    """A connection that asks about one batch at a time, in place of a `CardWorker`."""

    def __init__(self, segment: SharedSegmentOfClient) -> None:
        self.segment = segment
        self._connection = CardConnection()
        self._connection.send({"ask": "open", "key": segment.key})
        said, _ = self._connection.receive()
        if not said["is_known"]:  # only if that process has been replaced by another one
            self._connection.send(None)
            raise CardError("the process that had the GPU has ended")
        self._kept: dict[str, NDArray[Any]] = {}

    def pairs(self, given: GivenBatch, keep: NDArray[np.uint8]) -> Iterator[Pairs]:
        """All matches of a batch, in pieces."""
        self._ask("pairs", given, keep)
        yield from self._pairs()

    def best(
        self,
        given: GivenBatch,
        keep: NDArray[np.uint8],
        priority: NDArray[np.float64] | None,
        limit: int,
    ) -> Iterator[Pairs]:
        """Of each event the `limit` matches of highest priority, or more, slice by slice."""
        self._ask("best", given, keep, priority, limit)
        yield from self._pairs()

    def _pairs(self) -> Iterator[Pairs]:
        while True:
            said, arrays = self._connection.receive()
            if said["is_last"]:
                return
            events, rules = arrays
            yield events, rules

    def runs(self, given: GivenBatch, keep: NDArray[np.uint8]) -> Iterator[MatchRuns]:
        """All matches of a batch as runs, one slice of rules after the other."""
        self._ask("runs", given, keep)
        while True:
            said, arrays = self._connection.receive()
            if said["is_last"]:
                return
            yield MatchRuns(*arrays)

    def counts_of_events(self, given: GivenBatch, keep: NDArray[np.uint8]) -> Int64Array:
        """How many rules are true of each event of a batch."""
        self._ask("counts of events", given, keep)
        _, (counts,) = self._connection.receive()
        return counts

    def add_counts_of_rules(
        self, given: GivenBatch, keep: NDArray[np.uint8], totals: SharedTotals
    ) -> None:
        """Add to the total of each rule how many events it is true of."""
        self._ask("counts of rules", given, keep)
        _, (counts,) = self._connection.receive()
        totals.counts += counts

    def left_on_card(
        self, given: GivenBatch, keep: NDArray[np.uint8], first_rule: int
    ) -> list[tuple[Any, Any]]:
        raise CardError("another process has the GPU, so that no matches can be left there")

    def _ask(
        self,
        question: str,
        given: GivenBatch,
        keep: NDArray[np.uint8],
        priority: NDArray[np.float64] | None = None,
        limit: int = 0,
    ) -> None:
        new: dict[str, NDArray[Any]] = {}
        forgets = len(self._kept) > _MOST_KEPT
        if forgets:
            self._kept.clear()
        said = {
            "ask": question,
            "given": given[1:],
            "keep": self._named(keep, new) if len(keep) else None,
            "priority": None if priority is None else self._named(priority, new),
            "limit": limit,
            "forgets": forgets,
            "new": list(new),
        }
        self._connection.send(said, [*new.values(), *given.parts])

    def _named(self, array: NDArray[Any], new: dict[str, NDArray[Any]]) -> str:
        """The name of an array that is asked about again and again; it is sent the first time."""
        for name, known in self._kept.items():
            if known is array:
                return name
        name = hashlib.blake2b(array.tobytes(), digest_size=16).hexdigest()
        if name not in self._kept:
            new[name] = array
        self._kept[name] = array
        return name


# To find the process, and to start it


def _connected() -> tuple[socket.socket, Any]:
    """A connection to the process, which is started if nobody answers, and its greeting.

    An OSError if that is impossible, and ConnectionSilent if the process is there and hangs.
    """
    path = _path()
    answered = _answered(path)
    if answered is not None:
        return answered
    with open(path.with_suffix(".lock"), "ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        answered = _answered(path)  # another process may have started it meanwhile
        if answered is not None:
            return answered
        path.unlink(missing_ok=True)
        return _started(path)


def _answered(path: Path) -> tuple[socket.socket, Any] | None:
    """A connection to the process, and its greeting; None if none is there.

    One that hangs has not gone: it may still have the card, and nobody takes its place.
    """
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(_START)
    try:
        with address_of(path) as address:
            connection.connect(address)
        send(connection, {"ask": "card"})
        return connection, receive(connection)[0]
    except ConnectionSilent:
        connection.close()
        raise
    except (OSError, ConnectionEnded):
        connection.close()
        return None


def _started(path: Path) -> tuple[socket.socket, Any]:
    packages = str(Path(__file__).parents[4])
    errors = path.with_suffix(".errors")
    with open(errors, "wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "matchwood.match.batch.gpu.card_server", str(path)],
            env=os.environ | {"PYTHONPATH": os.pathsep.join([packages, *sys.path])},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=file,
            start_new_session=True,
            cwd="/",
        )
    threading.Thread(target=process.wait, daemon=True).start()  # so that no zombie is left
    end = time.monotonic() + _START
    while process.poll() is None and time.monotonic() < end:
        answered = _answered(path)
        if answered is not None:
            return answered
        time.sleep(_LOOK)
    said = errors.read_text(errors="replace").strip().splitlines()
    reason = said[-1] if said else "it does not answer"
    raise OSError(f"the process that has the GPU for all did not start: {reason}")


def _path() -> Path:
    """The socket of the process, in a folder that only this user can enter."""
    user = os.getuid()
    folder = Path(tempfile.gettempdir(), f"matchwood-gpu-{user}")
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != user or found.st_mode & 0o077:
        raise OSError(f"others than user {user} can enter {folder}")
    told = [os.environ.get(VISIBLE_CARDS), sys.executable, __file__]
    return folder / f"{hashlib.blake2b(repr(told).encode(), digest_size=8).hexdigest()}"
