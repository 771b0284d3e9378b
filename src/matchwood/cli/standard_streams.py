"""Standard streams that are closed, full or no longer read: one sentence, no traceback."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import IO, Any, NoReturn

# Errors of a full or failing disk, which the user can correct wherever they occur.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)


class _Remembering(io.FileIO):
    """A standard stream that remembers its failure, which a later flush would not report."""

    failure: OSError | None = None

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            self.failure = error
            raise


def open_streams() -> None:
    """Let standard streams remember their failures, and replace those that are closed.

    Writing to a closed standard output is an error; writing to a closed standard error goes
    nowhere. A closed standard input stays None, but its file descriptor is occupied too, so that
    no file is opened under it.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:  # open() takes the lowest free descriptor, which is this one
            os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)
    sys.stdout = _remembering(sys.stdout, 1)
    sys.stderr = _remembering(sys.stderr, 2)


def _remembering(stream: Any, number: int) -> Any:
    raw = _raw(stream)
    if stream is not None and (type(raw) is not io.FileIO or raw.fileno() != number):
        return stream  # it has been replaced by another stream
    if stream is not None:
        stream.flush()
    buffer = io.BufferedWriter(_Remembering(number, "w", closefd=False))
    at_once = number == 2 or buffer.isatty() or getattr(stream, "write_through", False)
    encoding = "utf-8" if stream is None else stream.encoding
    return io.TextIOWrapper(buffer, encoding, "backslashreplace", line_buffering=at_once)


def _raw(stream: Any) -> Any:
    buffer = getattr(stream, "buffer", None)
    return getattr(buffer, "raw", buffer)  # Python may run without a buffer


def failure_of(stream: Any) -> OSError | None:
    """The error that occurred on a standard stream, None if there was none."""
    failure: OSError | None = getattr(_raw(stream), "failure", None)
    return failure


def say(sentence: str) -> None:
    """Print a line on standard error, if it can be written to."""
    try:
        print(f"matchwood: {sentence}", file=sys.stderr, flush=True)
    except OSError:
        _silence(sys.stderr)


def close_output(output: IO[str]) -> None:
    """Flush a stream; an OSError if writing to it failed, now or before."""
    output.flush()
    failure = failure_of(output)
    if failure is not None:
        raise failure


def end_after(error: OSError, output: IO[str]) -> NoReturn:
    """Exit after an error of a stream or a full disk; raise any other error again."""
    failure = failure_of(output)
    if failure is not None:
        _silence(output)
    if failure_of(sys.stderr) is not None:
        _silence(sys.stderr)
    elif failure is None and not isinstance(error, BrokenPipeError):
        if error.filename is None and error.errno not in _NO_ROOM:
            raise error
        file_prefix = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        say(f"{file_prefix}{error.strerror or error}")
    elif isinstance(failure or error, BrokenPipeError):
        sys.exit(0)  # whoever read the output has stopped reading
    elif failure is not None:
        closed = failure.errno == errno.EBADF
        say("standard output is closed" if closed else f"standard output: {failure.strerror}")
    sys.exit(2)


def _silence(stream: IO[str]) -> None:
    """Discard what is still to be written: Python flushes streams once more when it exits."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
