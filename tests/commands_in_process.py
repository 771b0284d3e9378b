"""Commands of `matchwood` in the process of the tests.

A process of its own starts Python and loads kernels, which takes longer than most commands do.
"""

import gc
import io
import re
import shlex
import sys

import pytest

from matchwood.cli import main

# What only a shell understands, outside of quotes.
SHELL = re.compile(r"[|<>&;$*?`~#]")
QUOTED = re.compile(r"'[^']*'|\"[^\"$`]*\"")
# What a page writes after a command of which not everything is shown.
HIDDEN = {" 2>/dev/null": {"err"}, " >/dev/null 2>&1": {"out", "err"}}


def run_command(arguments, stdin=b""):
    """Run `matchwood …`: its exit code, and what it wrote to both streams, as it was written.

    The second is a list of pairs of a stream, `out` or `err`, and a text.
    """
    written = []
    threshold = gc.get_threshold()
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(sys, "argv", ["matchwood", *arguments])
        changed.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        for name in ("out", "err"):
            changed.setattr(sys, f"std{name}", _Stream(name, written))
        try:
            main()
            code = 0
        except SystemExit as done:
            code = int(done.code or 0)
        finally:
            gc.set_threshold(*threshold)
    return code, written


class _Stream(io.TextIOWrapper):
    """A stream of text that notes what is written to it, and when."""

    def __init__(self, name, written):
        super().__init__(_Bytes(name, written), encoding="utf-8", write_through=True)


class _Bytes(io.BytesIO):
    def __init__(self, name, written):
        super().__init__()
        self._name, self._written = name, written

    def write(self, data):
        self._written.append((self._name, bytes(data).decode()))
        return len(data)


def words_of(line):
    """The arguments of a line that needs no shell, and which streams it hides; None for others."""
    hidden = set()
    for ending, streams in HIDDEN.items():
        if line.endswith(ending):
            line, hidden = line.removesuffix(ending), streams
    line = line.replace("\\\n", " ")
    if not line.startswith("matchwood ") or SHELL.search(QUOTED.sub("", line)) or "\\" in line:
        return None
    return shlex.split(line)[1:], hidden


def run_line(line):
    """The exit code and output of a line of a shell; None if it needs a shell."""
    found = words_of(line)
    if found is None:
        return None
    words, hidden = found
    # Modules of operators are imported once per process, and Spark resolves paths against the
    # folder in which its session began.
    if "--operators" in words or words[0] in ("run", "generate"):
        return None
    code, written = run_command(words)
    return code, "".join(text for name, text in written if name not in hidden)
