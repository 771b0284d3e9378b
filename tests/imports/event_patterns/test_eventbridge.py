"""Files of event patterns: their shapes, and what is said of each rule."""

import json
from pathlib import Path
from typing import Any

from matchwood.imports import ImportedRule, NotImported, read

PATTERN = {"source": ["shop"], "detail": {"state": ["paid"]}}
DIFFERS = ("nested-lists",)
TEXT = "detail.state = 'paid' and source = 'shop'"


def written(path: Path, value: Any) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def rules(path: Path) -> list[ImportedRule | NotImported]:
    return list(read("eventbridge", path))


def test_a_pattern_is_named_after_its_file(tmp_path: Path) -> None:
    path = written(tmp_path / "paid.json", PATTERN)
    assert rules(path) == [ImportedRule("paid", TEXT, str(path), differs=DIFFERS)]


def test_rules_as_the_command_line_lists_them(tmp_path: Path) -> None:
    listed = [
        {"Name": "paid", "EventPattern": json.dumps(PATTERN), "Description": "Paid orders",
         "State": "ENABLED", "EventBusName": "default"},
        {"Name": "nightly", "ScheduleExpression": "rate(1 day)", "State": "ENABLED"},
        {"Name": "off", "EventPattern": json.dumps(PATTERN), "State": "DISABLED"},
        {"Name": "odd", "EventPattern": '{"a": [{"regex": "x"}]}'},
        {"Name": "broken", "EventPattern": '{"a":'},
        {"Name": "twice", "EventPattern": '{"a": [1], "a": [2]}'},
        {"Name": "none"},
    ]  # fmt: skip
    path = written(tmp_path / "rules.json", {"Rules": listed})
    first, *others = rules(path)
    assert first == ImportedRule(
        "paid",
        TEXT,
        f"{path}, rule 1",
        "Paid orders",
        data={"State": "ENABLED", "EventBusName": "default"},
        differs=DIFFERS,
    )
    assert [(each.id, each.reason) for each in others if isinstance(each, NotImported)] == [
        ("nightly", "a rule with a schedule and no pattern matches no event"),
        ("off", "the rule is disabled, and matches nothing"),
        ("odd", "a[0]: no comparison is called 'regex'"),
        ("broken", "EventPattern: not JSON: Expecting value at line 1, column 6"),
        ("twice", "EventPattern: the key 'a' stands twice in one object"),
        ("none", "the rule has no pattern"),
    ]


def test_lines_of_rules_with_ids(tmp_path: Path) -> None:
    lines = [
        {"id": 7, "pattern": PATTERN, "tags": ["x"], "priority": 2.5, "title": "T", "team": "a"},
        PATTERN,
        "nonsense",
    ]
    path = written(tmp_path / "rules.jsonl", "\n".join(map(json.dumps, lines)) + "\n\n[1\n")
    found = rules(path)
    assert found[0] == ImportedRule(
        "7", TEXT, f"{path}:1", "T", ("x",), 2.5, {"team": "a"}, DIFFERS
    )
    assert found[1] == ImportedRule("rules-2", TEXT, f"{path}:2", differs=DIFFERS)
    assert [str(each).removeprefix(str(path)) for each in found[2:]] == [
        ":3: rule 'rules-3': expected an object, found str",
        ":5: not JSON: Expecting ',' delimiter at line 1, column 3",
    ]


def test_folders_and_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    written(tmp_path / "b" / "one.json", PATTERN)
    written(tmp_path / "deep.json", '{"a":' * 100_000)
    written(tmp_path / "infinite.json", '{"a": [Infinity]}')
    (tmp_path / "latin.json").write_bytes(b'{"\xe4": [1]}')
    written(tmp_path / "notes.txt", "no rules")
    found = [str(each).removeprefix(str(tmp_path)) for each in rules(tmp_path)[1:]]
    assert found == [
        "/deep.json: not JSON that can be read: it is nested too deeply",
        "/infinite.json: not JSON: Infinity is no number of JSON",
        "/latin.json: the file is not UTF-8",
    ]
    (missing,) = rules(tmp_path / "missing.json")
    assert "No such file" in str(missing)
