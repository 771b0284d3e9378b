"""Standard streams that are closed, full or no longer read: one sentence, and an exit code."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")

EXPLAIN = "explain 'a > 1' '{\"a\": 2}'"
MATCH = "match rules.jsonl events.jsonl"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("streams")
    (made / "rules.jsonl").write_text('{"id": 1, "rule": "a >= 0"}\n')
    (made / "events.jsonl").write_text("".join(f'{{"a": {n}}}\n' for n in range(20_000)))
    return made


def shell(folder: Path, arguments: str, buffered: bool = True) -> tuple[int, str, str]:
    """`matchwood …` in a shell, with what is redirected: its exit code, output and errors."""
    command = f"{shlex.quote(sys.executable)} -m matchwood.cli {arguments}"
    environment = {**os.environ, "PYTHONUNBUFFERED": "" if buffered else "1"}
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, encoding="utf-8"
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("arguments", [EXPLAIN, "--help"])
def test_output_that_cannot_be_written_is_an_error(folder, arguments, buffered):
    full = "matchwood: standard output: No space left on device\n"
    assert shell(folder, f"{arguments} > /dev/full", buffered) == (2, "", full)
    closed = "matchwood: standard output is closed\n"
    assert shell(folder, f"{arguments} >&-", buffered) == (2, "", closed)


@pytest.mark.parametrize("arguments", ["check rules.jsonl --json", "--version", "bench list"])
def test_every_command_says_so(folder, arguments):
    code, _, errors = shell(folder, f"{arguments} > /dev/full")
    assert (code, errors) == (2, "matchwood: standard output: No space left on device\n")


@pytest.mark.slow
def test_matches_that_cannot_be_written(folder):
    for where in ("--output /dev/full", "--output /dev/full --format parquet"):
        code, out, errors = shell(folder, f"{MATCH} {where}")
        assert (code, out) == (2, "")
        assert errors.startswith("matchwood: /dev/full: ")
        assert errors.count("\n") == 1
    before = sorted(folder.iterdir())
    code, _, errors = shell(folder, f"{MATCH} --rejects rejects.jsonl > /dev/full")
    assert (code, errors) == (2, "matchwood: standard output: No space left on device\n")
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("arguments", ["match rules.jsonl -", "explain 'a > 1' -", "publish -"])
def test_input_that_is_closed(folder, arguments):
    expected = (2, "", "matchwood: standard input is closed\n")
    assert shell(folder, f"{arguments} <&-") == expected


@pytest.mark.slow
def test_who_has_seen_enough_is_told_nothing(folder):
    code, out, errors = shell(folder, f"{MATCH} | head -1; exit ${{PIPESTATUS[0]}}")
    assert (code, out, errors) == (0, '{"event": 0, "rules": [1]}\n', "")
    assert shell(folder, "--help | true; exit ${PIPESTATUS[0]}")[::2] == (0, "")


@pytest.mark.slow
def test_without_standard_error_a_command_does_its_work(folder):
    assert shell(folder, f"{EXPLAIN} 2>&-")[0] == 0
    assert shell(folder, f"{MATCH} --output all.jsonl <&- >&- 2>&-") == (0, "", "")
    assert len((folder / "all.jsonl").read_text().splitlines()) == 20_000
    (folder / "all.jsonl").unlink()
    assert shell(folder, "match nowhere.jsonl events.jsonl 2> /dev/full") == (2, "", "")
