"""Standard streams that are closed, full or no longer read: a sentence instead of a traceback."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import IO, Any, NoReturn

# What a person can put right, wherever it is met
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)


class _Remembering(io.FileIO):
    """A standard stream that remembers what went wrong with it: afterwards no flush would tell."""

    failure: OSError | None = None

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            self.failure = error
            raise


def open_streams() -> None:
    """Have standard streams remember their failures, and put something in the place of closed ones.

    What is written to a standard output that is closed is an error, and goes nowhere for standard
    error. Standard input stays None; but its number is taken as well, so that no file is opened
    under it.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:  # the lowest number that is free is the one that is given
            os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)
    sys.stdout = _remembering(sys.stdout, 1)
    sys.stderr = _remembering(sys.stderr, 2)


def _remembering(stream: Any, number: int) -> Any:
    raw = _raw(stream)
    if stream is not None and (type(raw) is not io.FileIO or raw.fileno() != number):
        return stream  # somebody has put another in its place
    if stream is not None:
        stream.flush()
    buffer = io.BufferedWriter(_Remembering(number, "w", closefd=False))
    at_once = number == 2 or buffer.isatty() or getattr(stream, "write_through", False)
    encoding = "utf-8" if stream is None else stream.encoding
    return io.TextIOWrapper(buffer, encoding, "backslashreplace", line_buffering=at_once)


def _raw(stream: Any) -> Any:
    buffer = getattr(stream, "buffer", None)
    return getattr(buffer, "raw", buffer)  # there is no buffer where Python is told so


def failure_of(stream: Any) -> OSError | None:
    """What went wrong with a standard stream."""
    failure: OSError | None = getattr(_raw(stream), "failure", None)
    return failure


def say(sentence: str) -> None:
    """A line on standard error, if anything can be said there."""
    try:
        print(f"matchwood: {sentence}", file=sys.stderr, flush=True)
    except OSError:
        _silence(sys.stderr)


def close_output(output: IO[str]) -> None:
    """Pass on what was written; an OSError where that failed, now or before."""
    output.flush()
    failure = failure_of(output)
    if failure is not None:
        raise failure


def end_after(error: OSError, output: IO[str]) -> NoReturn:
    """Exit after an error of a stream or a full disk; others are raised again."""
    failure = failure_of(output)
    if failure is not None:
        _silence(output)
    if failure_of(sys.stderr) is not None:
        _silence(sys.stderr)
    elif failure is None and not isinstance(error, BrokenPipeError):
        if error.filename is None and error.errno not in _NO_ROOM:
            raise error
        place = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        say(f"{place}{error.strerror or error}")
    elif isinstance(failure or error, BrokenPipeError):
        sys.exit(0)  # the reader of our output has seen enough
    elif failure is not None:
        closed = failure.errno == errno.EBADF
        say("standard output is closed" if closed else f"standard output: {failure.strerror}")
    sys.exit(2)


def _silence(stream: IO[str]) -> None:
    """Have nothing more be written: Python flushes streams once more when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
