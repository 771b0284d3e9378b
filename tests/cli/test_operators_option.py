"""`--operators`, which many commands take, and what is said of a module that cannot be used."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

MODULE = """
from matchwood import operator

@operator("near")
def near(event, city, other):
    return {city, other} <= {"Rome", "Ostia"}
"""
RULES = [
    {"id": "local", "rule": "near(city, 'Rome') and age > 17"},
    {"id": "adults", "rule": "age >= 18"},
]
OTHER = {"id": "other", "rule": "nearby(city, 'Rome')"}
EVENTS = [{"city": "Ostia", "age": 20}, {"city": "Paris", "age": 30}]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "places_of_test.py").write_text(MODULE)
    (tmp_path / "empty_of_test.py").write_text("x = 1\n")
    (tmp_path / "broken_of_test.py").write_text("x = undefined_name\n")
    (tmp_path / "rules.jsonl").write_text("".join(json.dumps(row) + "\n" for row in RULES))
    all_rules = [*RULES, OTHER]
    (tmp_path / "other.jsonl").write_text("".join(json.dumps(row) + "\n" for row in all_rules))
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in EVENTS))
    case = {"event": EVENTS[0], "match": ["local"]}
    (tmp_path / "cases.jsonl").write_text(json.dumps(case) + "\n")
    before = list(sys.path)
    yield tmp_path
    sys.path[:] = before
    for name in ("places_of_test", "empty_of_test", "broken_of_test"):
        sys.modules.pop(name, None)


OPERATORS = ("--operators", "places_of_test")


def test_match_and_build(command) -> None:
    code, out, _ = command("match", "rules.jsonl", "events.jsonl", *OPERATORS)
    found = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [set(one["rules"]) for one in found] == [{"local", "adults"}, {"adults"}]
    assert command("build", "rules.jsonl", "rules.mw", *OPERATORS)[0] == 0
    assert command("match", "rules.mw", "events.jsonl", *OPERATORS)[1] == out
    assert command("stats", "rules.mw", *OPERATORS)[0] == 0


def test_a_rule_that_calls_another_is_bad(command) -> None:
    code, out, errors = command("match", "other.jsonl", "events.jsonl", *OPERATORS)
    assert code == 1
    assert len(out.splitlines()) == 2
    assert "other.jsonl:3: error: rule 'other': no operator is registered as 'nearby'" in errors
    code, out, _ = command("check", "other.jsonl", *OPERATORS)
    assert code == 1
    assert "other.jsonl:3: error: rule 'other': no operator is registered as 'nearby'" in out
    assert out.endswith("checked 3 rules: 1 error, 0 warnings\n")
    assert command("check", "other.jsonl")[0] == 0  # where nothing is said of operators


def test_without_operators_a_rule_with_calls_is_bad(command) -> None:
    code, out, errors = command("match", "rules.jsonl", "events.jsonl")
    assert code == 1
    assert "no operator is registered as 'near'" in errors
    assert [json.loads(line)["rules"] for line in out.splitlines()] == [["adults"]] * 2


def test_cases_and_explanations(command) -> None:
    assert command("test", "rules.jsonl", "cases.jsonl", *OPERATORS)[0] == 0
    assert command("test", "rules.jsonl", "cases.jsonl")[0] == 1
    event = json.dumps(EVENTS[1])
    code, out, _ = command("explain", "local", event, "--rules", "rules.jsonl", *OPERATORS)
    assert code == 0
    assert out.startswith("false      and\nfalse      ├─ near(city, 'Rome')")


def test_operators_for_places_are_always_there(command) -> None:
    rule = "within_box(lat, lon, 0, 0, 10, 10)"
    code, out, _ = command("explain", rule, '{"lat": 5, "lon": 5}')
    assert (code, out[:4]) == (0, "true")


@pytest.mark.parametrize(
    ("module", "says"),
    [
        ("nowhere_of_test", "there is no module 'nowhere_of_test' where this runs"),
        ("empty_of_test", "the module 'empty_of_test' has none made by @operator"),
        ("broken_of_test", "'broken_of_test' cannot be imported: NameError: name 'undefined_name'"),
    ],
)
@pytest.mark.parametrize(
    "arguments", ["match rules.jsonl events.jsonl", "check rules.jsonl", "build rules.jsonl r.mw"]
)
def test_what_cannot_be_imported_is_said(command, arguments: str, module: str, says: str) -> None:
    code, out, errors = command(*arguments.split(), "--operators", module)
    assert (code, out) == (2, "")
    assert errors.startswith("matchwood: operators: ")
    assert says in errors
    assert errors.count("\n") == 1


@pytest.mark.slow
def test_a_module_is_found_where_the_command_runs(folder: Path) -> None:
    program = "import sys; sys.path[:] = [p for p in sys.path if p]; import matchwood.cli as c; "
    arguments = ["matchwood", "check", "rules.jsonl", *OPERATORS]
    program += f"sys.argv = {arguments!r}; c.main()"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, encoding="utf-8"
    )
    assert (done.returncode, done.stderr) == (0, "")
