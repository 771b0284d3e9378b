"""Files of JSONLogic."""

import json
from pathlib import Path
from typing import Any

from matchwood.imports import ImportedRule, NotImported, read

LOGIC = {"===": [{"var": "a"}, "x"]}


def rules(path: Path, text: str, **options: Any) -> list[ImportedRule | NotImported]:
    path.write_text(text)
    return list(read("jsonlogic", path, **options))


def test_an_expression_is_named_after_its_file(tmp_path: Path) -> None:
    path = tmp_path / "adults.json"
    assert rules(path, json.dumps(LOGIC)) == [
        ImportedRule("adults", "a = 'x'", str(path), differs=("lists",))
    ]


def test_lists_and_lines(tmp_path: Path) -> None:
    listed = [
        {"id": "one", "logic": LOGIC, "title": "One", "owner": "ann"},
        {"id": "two", "rule": json.dumps(LOGIC)},
        LOGIC,
        {"id": "four"},
        {"id": "five", "logic": {"cat": ["a"]}},
    ]
    path = tmp_path / "rules.json"
    found = rules(path, json.dumps(listed))
    first = ImportedRule(
        "one", "a = 'x'", f"{path}, rule 1", "One", data={"owner": "ann"}, differs=("lists",)
    )
    assert found[0] == first
    assert [each.id for each in found] == ["one", "two", "rules-3", "four", "five"]
    assert [each.reason for each in found if isinstance(each, NotImported)] == [
        "the rule has no expression",
        "cat: the rule language has no such value",
    ]
    lines = rules(tmp_path / "rules.jsonl", "\n".join(map(json.dumps, listed)))
    assert [each.id for each in lines] == ["one", "two", "rules-3", "four", "five"]


def test_typed_rules(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    (rule,) = rules(path, json.dumps({"<": [{"var": "a"}, {"var": "b"}]}), typed=True)
    assert isinstance(rule, ImportedRule)
    assert rule.rule == "a < b or b is null and a < 0 or a is null and b > 0"


def test_an_expression_may_be_nested_too_deeply(tmp_path: Path) -> None:
    text = '{"and": [' * 3_000 + '{"var": "a"}' + "]}" * 3_000
    (refused,) = rules(tmp_path / "deep.json", text)
    assert str(refused).endswith("nested too deeply")
