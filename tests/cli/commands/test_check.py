"""check: what it prints, and how it exits."""

import json
from pathlib import Path

import pytest

RULES = '{"id": "adults", "rule": "age >= 18"}\n{"id": "vip", "rule": "tier = \'gold\'"}\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules.jsonl").write_text(RULES)
    (tmp_path / "bad.jsonl").write_text('{"id": "bad", "rule": "age >"}\n')
    (tmp_path / "rule.txt").write_text("age >= 18\nand vip\n")
    return tmp_path


def test_check(command, folder: Path) -> None:
    code, out, err = command("check", "rules.jsonl")
    assert (code, err) == (0, "")
    assert out == "checked 2 rules: 0 errors, 0 warnings\n"
    code, out, _ = command("check", "rules.jsonl", "bad.jsonl")
    assert code == 1
    assert out.startswith("bad.jsonl:1: error: rule 'bad': column 6: expected")
    assert out.endswith("checked 3 rules: 1 error, 0 warnings\n")


def test_check_for_machines(command, folder: Path) -> None:
    code, out, _ = command("check", "bad.jsonl", "--json")
    report = json.loads(out)
    assert code == 1
    assert report["errors"] == 1
    assert report["findings"][0]["id"] == "bad"
    assert report["findings"][0]["rule_column"] == 6


def test_check_ignores_kinds_of_warnings(command, folder: Path) -> None:
    (folder / "never.jsonl").write_text('{"id": 1, "rule": "a < 1 and a > 2"}\n')
    assert command("check", "never.jsonl")[0] == 1
    code, out, _ = command("check", "never.jsonl", "--ignore", "equal", "--ignore", "never-true")
    assert (code, out) == (0, "checked 1 rule: 0 errors, 0 warnings\n")
    assert command("check", "bad.jsonl", "--ignore", "never-true")[0] == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("check none.jsonl", "none.jsonl: no such file"),
        ("check rule.txt", "rule.txt: expected a .jsonl, .csv or .parquet file"),
        ("check rules.jsonl --events none.jsonl", "none.jsonl: no such file"),
        ("check rules.jsonl --schema none.toml", "none.toml: no such file"),
        ("check rules.jsonl --schema rules.jsonl", "a schema is a .toml or .json file"),
        ("check rules.jsonl --dialect hive", "no dialect 'hive': expected spark"),
        ("check rules.jsonl --ignore malformed", "no kind of warning 'malformed': expected"),
        ("check", "Missing argument 'RULES'"),
        ("check --what rules.jsonl", "No such option"),
    ],
)
def test_misuse_is_one_sentence(command, arguments: str, says: str) -> None:
    code, out, err = command(*arguments.split())
    assert (code, out) == (2, "")
    assert says in err


def test_check_and_test_and_match_with_lists(command, tmp_path: Path) -> None:
    (tmp_path / "rules.csv").write_text("id,rule\nexit,ip in list 'tor'\n")
    (tmp_path / "tor.txt").write_text("1.2.3.4\n")
    (tmp_path / "events.jsonl").write_text('{"ip": "1.2.3.4"}\n{"ip": "1.2.3.5"}\n')
    (tmp_path / "cases.jsonl").write_text('{"event": {"ip": "1.2.3.4"}, "match": ["exit"]}\n')
    lists = ("--list", "tor=tor.txt")
    assert command("check", "rules.csv")[0] == 0
    assert command("check", "rules.csv", "--events", "events.jsonl", *lists)[0] == 0
    code, out, _ = command("check", "rules.csv", "--list", "other=tor.txt")
    assert code == 1
    assert "no list is named 'tor'; there are 'other'" in out
    assert command("test", "rules.csv", "cases.jsonl", *lists)[0] == 0
    code, out, err = command("match", "rules.csv", "events.jsonl", *lists)
    assert code == 0, err
    assert out.count('"exit"') == 1
    code, _, err = command("match", "rules.csv", "events.jsonl")
    assert code == 1
    assert "no list is named 'tor'; there are none" in err
