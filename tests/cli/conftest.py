"""The command in this process: starting Python and loading kernels takes longer than most tests."""

import gc
import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from matchwood.cli import main

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Command]:
    """Run `matchwood …` in tmp_path: its exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    threshold = gc.get_threshold()

    def run(*arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["matchwood", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        try:
            main()
        except SystemExit as done:
            code = int(done.code or 0)
        else:
            code = 0
        return code, *capsys.readouterr()

    yield run
    gc.set_threshold(*threshold)
