"""run: what it refuses before Spark is started, and `generate` and `run` on Spark."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from plain_environment import without_connect

PIPELINE = """\
[rules]
path = "rules.jsonl"
[events]
path = "events.csv"
schema = "key int, age int"
options = { header = true }
keep = ["key"]
[matches]
path = "matches.json"
"""


def test_a_mistake_in_the_file_is_misuse(command, tmp_path: Path) -> None:
    (tmp_path / "pipeline.toml").write_text(PIPELINE.replace("keep", "keeps"))
    code, out, err = command("run", "pipeline.toml")
    assert (code, out) == (2, "")
    assert err == (
        "matchwood: pipeline.toml:7: unknown key 'keeps' in [events], did you mean 'keep'?\n"
    )
    code, _, err = command("run", "none.toml")
    assert (code, err) == (2, "matchwood: none.toml: no such file\n")


# Several commands on one session: starting Spark takes longer than all of them.
COMMANDS = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from matchwood.cli import main
from matchwood.spark.session import session_for_work

spark = session_for_work()
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["matchwood", *arguments]
    code, out, err = 0, io.StringIO(), io.StringIO()
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as done:
        code = done.code or 0
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
spark.stop()
"""


def commands(folder: Path, *given: tuple[str, ...]) -> list[tuple[int, str, str]]:
    """Commands in a process of their own: exit code, output and errors of each."""
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, json.dumps(given)],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        env=without_connect(),
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


@pytest.mark.spark
@pytest.mark.slow
def test_generate_and_run(tmp_path: Path) -> None:
    (tmp_path / "rules.jsonl").write_text('{"id": "adults", "rule": "age >= 18"}\n')
    (tmp_path / "events.csv").write_text("key,age\n1,20\n2,x\n")
    (tmp_path / "small.toml").write_text(PIPELINE)
    failing = PIPELINE.replace("matches.json", "others.json")
    failing = failing.replace(
        "keep =", 'select = ["key", "assert_true(key < 1) is null as age"]\nkeep ='
    )
    (tmp_path / "failing.toml").write_text(failing)
    sizes = ("--rules", "300", "--events", "200", "--seed", "5")
    made, ran, strict, again, failed = commands(
        tmp_path,
        ("generate", "abe-gen", *sizes, "--out", "made", "--spark", "--json"),
        ("run", "made/pipeline.toml", "--json"),
        ("run", "small.toml", "--strict"),
        ("run", "small.toml"),
        ("run", "failing.toml"),
    )
    figures = json.loads(made[1])
    assert (made[0], figures["rules"], figures["pipeline"]) == (0, 300, "made/pipeline.toml")
    summary = json.loads(ran[1])
    assert (ran[0], summary["rules"], summary["events"]) == (0, 300, 200)
    assert summary["matches"] > 200
    assert " s  200 events" in ran[2]
    written = json.loads((tmp_path / "made/matches-report/summary.json").read_text())
    assert written["matches"] == summary["matches"]
    assert strict[0] == 1
    assert "events   2 read, 1 rejected, 1 with matches\n" in strict[1]
    assert again[0] == 2
    assert "small.toml:9: [matches]: matches.json exists already" in again[2]
    assert failed[0] == 3
    assert "matchwood: the stage 'match' failed: " in failed[2]
    assert failed[2].endswith("'(key < 1)' is not true!\n")
