"""stats: what it shows of rules and of files that `build` wrote."""

import json
from pathlib import Path

import pytest

from cli.commands.people import write_files


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Path:
    write_files(tmp_path)
    return tmp_path


def test_stats(command) -> None:
    command("build", "rules.jsonl", "rules.mw")
    shown = {name: command("stats", name) for name in ("rules.jsonl", "rules.mw")}
    assert shown["rules.jsonl"] == shown["rules.mw"]
    assert shown["rules.mw"][1].split()[:2] == ["rules", "3"]
    code, out, _ = command("stats", "rules.mw", "--json")
    assert (code, json.loads(out)["rules"]) == (0, 3)
    assert command("stats", "bad.jsonl")[0] == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("stats none.mw", "none.mw: no such file"),
        ("stats events.parquet", "expected a column 'id'"),
    ],
)
def test_misuse_is_one_sentence(command, arguments: str, says: str) -> None:
    code, out, err = command(*arguments.split())
    assert (code, out) == (2, "")
    assert says in err
    assert not list(Path().glob("*.tmp-*"))
