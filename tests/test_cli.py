"""The command: what it prints, and how it exits."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import matchwood

RULES = '{"id": "adults", "rule": "age >= 18"}\n{"id": "vip", "rule": "tier = \'gold\'"}\n'
SCHEMA = '[attributes]\nkind = { hierarchy = "h" }\n[hierarchies.h]\n"dining table" = "table"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules.jsonl").write_text(RULES)
    (tmp_path / "bad.jsonl").write_text('{"id": "bad", "rule": "age >"}\n')
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "event.json").write_text('{"age": 20}')
    (tmp_path / "rule.txt").write_text("age >= 18\nand vip\n")
    (tmp_path / "pass.jsonl").write_text('{"event": {"age": 20}, "match": ["adults"]}\n')
    (tmp_path / "fail.jsonl").write_text('{"event": {"age": 2}, "match": ["adults"]}\n')
    return tmp_path


def run(folder: Path, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "matchwood.cli", *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        env={"PYTHONUTF8": "1", "NO_COLOR": "1", "PYTHONPATH": ":".join(sys.path)},
        timeout=60,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def test_version(folder: Path) -> None:
    assert run(folder, "--version") == (0, f"matchwood {matchwood.__version__}\n", "")


def test_check(folder: Path) -> None:
    code, out, err = run(folder, "check", "rules.jsonl")
    assert (code, err) == (0, "")
    assert out == "checked 2 rules: 0 errors, 0 warnings\n"
    code, out, _ = run(folder, "check", "rules.jsonl", "bad.jsonl")
    assert code == 1
    assert out.startswith("bad.jsonl:1: error: rule 'bad': column 6: expected")
    assert out.endswith("checked 3 rules: 1 error, 0 warnings\n")


def test_check_for_machines(folder: Path) -> None:
    code, out, _ = run(folder, "check", "bad.jsonl", "--json")
    report = json.loads(out)
    assert code == 1
    assert report["errors"] == 1
    assert report["findings"][0]["id"] == "bad"
    assert report["findings"][0]["rule_column"] == 6


def test_check_ignores_kinds_of_warnings(folder: Path) -> None:
    (folder / "never.jsonl").write_text('{"id": 1, "rule": "a < 1 and a > 2"}\n')
    assert run(folder, "check", "never.jsonl")[0] == 1
    code, out, _ = run(
        folder, "check", "never.jsonl", "--ignore", "equal", "--ignore", "never-true"
    )
    assert (code, out) == (0, "checked 1 rule: 0 errors, 0 warnings\n")
    assert run(folder, "check", "bad.jsonl", "--ignore", "never-true")[0] == 1


def test_test(folder: Path) -> None:
    assert run(folder, "test", "rules.jsonl", "pass.jsonl")[:2] == (0, "1 case: 0 failed\n")
    code, out, _ = run(folder, "test", "rules.jsonl", "fail.jsonl")
    assert code == 1
    assert "rule 'adults' should match and is false\n    false      age >= 18  age: 2\n" in out
    code, out, _ = run(folder, "test", "rules.jsonl", "fail.jsonl", "--json")
    assert code == 1
    assert json.loads(out)["failures"][0]["id"] == "adults"


@pytest.mark.parametrize("event", ['{"age": 20}', "@event.json", "-"])
def test_explain(folder: Path, event: str) -> None:
    code, out, _ = run(folder, "explain", "@rule.txt", event, stdin='{"age": 20}')
    assert code == 0
    assert out.splitlines()[0] == "undefined  and"
    assert "age: 20" in out


def test_explain_by_id_and_schema(folder: Path) -> None:
    code, out, _ = run(
        folder, "explain", "adults", "@event.json", "--rules", "rules.jsonl", "--json"
    )
    assert (code, json.loads(out)["truth"]) == (0, "true")
    kind = '{"kind": "dining table"}'
    rule = "isa(kind, 'table')"
    code, out, _ = run(folder, "explain", rule, kind, "--schema", "schema.toml")
    assert (code, out[:4]) == (0, "true")


@pytest.mark.slow
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
        ("test rules.jsonl none.jsonl", "none.jsonl: no such file"),
        ("explain a> {}", "the rule: line 1, column 3"),
        ("explain a nope", "the event is not JSON"),
        ("explain a [1]", "an event is a JSON object, found list"),
        ("explain a @none.json", "none.json: no such file"),
        ("explain adult {} --rules rules.jsonl", "has the id 'adult', did you mean 'adults'?"),
        ("explain isa(a,'b') {}", "needs a schema"),
    ],
)
def test_misuse_is_one_sentence(folder: Path, arguments: str, says: str) -> None:
    code, out, err = run(folder, *arguments.split())
    assert (code, out) == (2, "")
    assert says in err
