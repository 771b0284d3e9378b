"""Work on many pieces in several threads, with results as they come.

Threads hand results over one by one, and wait if the caller is slow to take them, so that only a
few exist at any time. Pieces are taken from their iterator in the thread of the caller: a database
cursor, for example, may be used by one thread only.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

_Piece = TypeVar("_Piece")
_Result = TypeVar("_Result")

# Pieces that wait for each thread, and results of it that wait to be read.
_PIECES_AHEAD = 2
_RESULTS_AHEAD = 1


class _Message(NamedTuple):
    """What a thread says of the piece of a number: a result, that it failed, or that it is done."""

    number: int
    results: tuple[object, ...] = ()
    error: BaseException | None = None
    is_last: bool = False


def in_threads(
    pieces: Iterable[_Piece], work: Callable[[_Piece], Iterable[_Result]], threads: int
) -> Iterator[tuple[int, _Result]]:
    """(number of the piece, result) of all pieces; those of one piece in their order.

    >>> sorted(in_threads([3, 1], range, threads=2))
    [(0, 0), (0, 1), (0, 2), (1, 0)]
    """
    workers = _Workers(work, threads)
    try:
        yield from workers.results_of(iter(pieces))
    finally:
        workers.end()


class _Workers(Generic[_Piece, _Result]):
    def __init__(self, work: Callable[[_Piece], Iterable[_Result]], threads: int) -> None:
        self._work = work
        self._pieces: queue.SimpleQueue[tuple[int, _Piece] | None] = queue.SimpleQueue()
        # A message takes the room of one that was read. Both queues are Python's simple ones, which
        # hold its lock for a moment only; one with a bound would hold it ten times as long.
        self._messages: queue.SimpleQueue[_Message] = queue.SimpleQueue()
        self._room: queue.SimpleQueue[None] = queue.SimpleQueue()
        for _ in range(_RESULTS_AHEAD * threads):
            self._room.put(None)
        self._is_ended = False
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def results_of(self, pieces: Iterator[_Piece]) -> Iterator[tuple[int, _Result]]:
        given = done = 0
        are_more = True
        while are_more or done < given:
            while are_more and given - done < _PIECES_AHEAD * len(self._threads):
                try:
                    self._pieces.put((given, next(pieces)))
                    given += 1
                except StopIteration:
                    are_more = False
            if done == given:
                return
            message = self._messages.get()
            self._room.put(None)
            if message.error is not None:
                raise message.error
            done += message.is_last
            for result in message.results:
                yield message.number, result  # type: ignore[misc]

    def end(self) -> None:
        """Let all threads come to an end, whatever they are doing, and wait for them."""
        self._is_ended = True
        for _ in self._threads:
            self._pieces.put(None)
            self._room.put(None)
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while (given := self._pieces.get()) is not None and not self._is_ended:
            number, piece = given
            try:
                for result in self._work(piece):
                    if not self._say(_Message(number, (result,))):
                        return
                    del result  # or else its memory could not be used again
                self._say(_Message(number, is_last=True))
            except BaseException as error:  # it is raised in the thread of the caller
                self._say(_Message(number, error=error))

    def _say(self, message: _Message) -> bool:
        """Hand a message over; False if nobody wants it any more."""
        if not self._is_ended:
            self._room.get()
        if self._is_ended:
            return False
        self._messages.put(message)
        return True
