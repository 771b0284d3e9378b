"""The program as it is started from a shell: its version, and errors without a traceback."""

import subprocess
import sys
from pathlib import Path

import pytest

import matchwood


def run(folder: Path, *arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "matchwood.cli", *arguments],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        env={"PYTHONUTF8": "1", "NO_COLOR": "1", "PYTHONPATH": ":".join(sys.path)},
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


def test_version(tmp_path: Path) -> None:
    assert run(tmp_path, "--version") == (0, f"matchwood {matchwood.__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("check none.jsonl", "matchwood: none.jsonl: no such file\n"),
        ("check", "Missing argument 'RULES'"),
        ("explain a> {}", "matchwood: the rule: line 1, column 3"),
    ],
)
def test_misuse_has_no_traceback(tmp_path: Path, arguments: str, says: str) -> None:
    code, out, err = run(tmp_path, *arguments.split())
    assert (code, out) == (2, "")
    assert says in err
    assert "Traceback" not in err
