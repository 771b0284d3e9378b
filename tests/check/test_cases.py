"""Cases: what comes out otherwise is shown with the reason, and what is no case is named."""

import json
from pathlib import Path

import pytest

from matchwood.check import CaseReport, run_cases


def run(folder: Path, *cases: object) -> CaseReport:
    (folder / "rules.csv").write_text("id,rule\nadults,age >= 18\nvip,tier = 'gold'\nbad,age >\n")
    (folder / "cases.jsonl").write_text(
        "\n".join(c if isinstance(c, str) else json.dumps(c) for c in cases)
    )
    return run_cases(folder / "rules.csv", folder / "cases.jsonl")


def test_pass(tmp_path: Path) -> None:
    report = run(
        tmp_path,
        {"event": {"age": 18}, "match": ["adults"], "not": ["vip"]},
        {"event": {"age": 17}, "not": ["adults"]},
    )
    assert report.failures == []
    assert [f.id for f in report.bad_rules] == ["bad"]
    assert not report.passed
    assert report.summary() == "2 cases: 0 failed; 1 rule could not be read"


def test_failures_are_explained(tmp_path: Path) -> None:
    report = run(
        tmp_path,
        {"event": {"age": 17}, "match": ["adults"], "name": "seventeen"},
        {"event": {"tier": "gold"}, "not": ["vip", "adults"]},
        {"event": {}, "match": ["adults"]},
    )
    assert [failure.reason for failure in report.failures] == [
        "rule 'adults' should match and is false",
        "rule 'vip' should not match and is true",
        "rule 'adults' should match and is undefined",
    ]
    assert str(report.failures[0]).endswith(
        "cases.jsonl:1: case 'seventeen': rule 'adults' should match and is false\n"
        "    false      age >= 18  age: 17"
    )
    assert json.dumps(report.to_json())


@pytest.mark.parametrize(
    ("case", "says"),
    [
        ("nope", "not JSON"),
        ([1], "a case is an object, found list"),
        ({"match": ["vip"]}, "expected an object as 'event'"),
        ({"event": {}}, "expected ids as 'match' or 'not'"),
        ({"event": {}, "match": "vip"}, "expected a list of ids as 'match'"),
        ({"event": {}, "match": [], "matches": []}, "found 'matches'"),
        ({"event": {}, "match": ["vipp"]}, "has the id 'vipp', did you mean 'vip'?"),
        ({"event": {}, "match": ["bad"]}, "no rule that can be read has the id 'bad'"),
        ({"event": {"a": {"b": 1}, "a.b": 1}, "match": ["vip"]}, "spells it two ways"),
    ],
)
def test_what_is_no_case(tmp_path: Path, case: object, says: str) -> None:
    report = run(tmp_path, case)
    assert report.failed == 1
    assert says in str(report.failures[0])
