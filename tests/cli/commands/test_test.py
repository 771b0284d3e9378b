"""test: what it prints of cases, and how it exits."""

import json
from pathlib import Path

import pytest

RULES = '{"id": "adults", "rule": "age >= 18"}\n{"id": "vip", "rule": "tier = \'gold\'"}\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules.jsonl").write_text(RULES)
    (tmp_path / "pass.jsonl").write_text('{"event": {"age": 20}, "match": ["adults"]}\n')
    (tmp_path / "fail.jsonl").write_text('{"event": {"age": 2}, "match": ["adults"]}\n')
    return tmp_path


def test_test(command, folder: Path) -> None:
    assert command("test", "rules.jsonl", "pass.jsonl")[:2] == (0, "1 case: 0 failed\n")
    code, out, _ = command("test", "rules.jsonl", "fail.jsonl")
    assert code == 1
    assert "rule 'adults' should match and is false\n    false      age >= 18  age: 2\n" in out
    code, out, _ = command("test", "rules.jsonl", "fail.jsonl", "--json")
    assert code == 1
    assert json.loads(out)["failures"][0]["id"] == "adults"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("test rules.jsonl none.jsonl", "none.jsonl: no such file"),
    ],
)
def test_misuse_is_one_sentence(command, arguments: str, says: str) -> None:
    code, out, err = command(*arguments.split())
    assert (code, out) == (2, "")
    assert says in err
