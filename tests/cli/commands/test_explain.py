"""explain: rules and events from arguments, files and standard input."""

import json
from pathlib import Path

import pytest

RULES = '{"id": "adults", "rule": "age >= 18"}\n{"id": "vip", "rule": "tier = \'gold\'"}\n'
SCHEMA = '[attributes]\nkind = { hierarchy = "h" }\n[hierarchies.h]\n"dining table" = "table"\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules.jsonl").write_text(RULES)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "event.json").write_text('{"age": 20}')
    (tmp_path / "rule.txt").write_text("age >= 18\nand vip\n")
    return tmp_path


@pytest.mark.parametrize("event", ['{"age": 20}', "@event.json", "-"])
def test_explain(command, folder: Path, event: str) -> None:
    code, out, _ = command("explain", "@rule.txt", event, stdin=b'{"age": 20}')
    assert code == 0
    assert out.splitlines()[0] == "undefined  and"
    assert "age: 20" in out


def test_explain_by_id_and_schema(command, folder: Path) -> None:
    code, out, _ = command("explain", "adults", "@event.json", "--rules", "rules.jsonl", "--json")
    assert (code, json.loads(out)["truth"]) == (0, "true")
    kind = '{"kind": "dining table"}'
    rule = "isa(kind, 'table')"
    code, out, _ = command("explain", rule, kind, "--schema", "schema.toml")
    assert (code, out[:4]) == (0, "true")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("explain a> {}", "the rule: line 1, column 3"),
        ("explain a nope", "the event is not JSON"),
        ("explain a [1]", "an event is a JSON object, found list"),
        ("explain a @none.json", "none.json: no such file"),
        ("explain adult {} --rules rules.jsonl", "has the id 'adult', did you mean 'adults'?"),
        ("explain isa(a,'b') {}", "needs a schema"),
    ],
)
def test_misuse_is_one_sentence(command, arguments: str, says: str) -> None:
    code, out, err = command(*arguments.split())
    assert (code, out) == (2, "")
    assert says in err


def test_explain_with_lists(command, folder: Path) -> None:
    (folder / "tor.txt").write_text("1.2.3.4\n\n5.6.7.8\n")
    (folder / "ports.jsonl").write_text('22\n"ssh"\n')
    rule = "ip in list 'tor' and port in list 'ports'"
    lists = ("--list", "tor=tor.txt", "--list", "ports=ports.jsonl")
    code, out, _ = command("explain", rule, '{"ip": "5.6.7.8", "port": 22}', *lists)
    assert (code, out[:4]) == (0, "true")
    code, _, err = command("explain", rule, "{}", *lists[:2])
    assert code == 2
    assert "no list is named 'ports'" in err


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        ("tor", "expected NAME=FILE, found 'tor'"),
        ("tor=nowhere.txt", "nowhere.txt: no such file"),
        ("tor=bad.jsonl", "bad.jsonl:2: this is not JSON"),
        ("tor=nulls.jsonl", "nulls.jsonl"),
    ],
)
def test_bad_lists(command, folder: Path, argument: str, says: str) -> None:
    (folder / "bad.jsonl").write_text("1\n{\n")
    (folder / "nulls.jsonl").write_text("null\n")
    code, _, err = command("explain", "ip in list 'tor'", "{}", "--list", argument)
    assert code == 2
    assert says in err
