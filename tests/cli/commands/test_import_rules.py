"""import: the table that it writes, what it says of the rest, and its exit codes."""

import json
import sys
from pathlib import Path

import pytest

from matchwood import Matcher
from matchwood.imports.formats import FORMATS, Format

GOOD = "adults: age >= 18\nvip: tier = 'gold'\n"
MIXED = "adults: age >= 18\nnonsense\nbad: age >\nadults: age >= 21\nvip: tier = 'gold'\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setitem(FORMATS, "lines", Format("cli.commands.named_lines", "lines of rules"))
    (tmp_path / "good.txt").write_text(GOOD)
    (tmp_path / "mixed.txt").write_text(MIXED)
    return tmp_path


def test_writes_a_table_that_other_commands_read(command, files: Path) -> None:
    code, out, err = command("import", "lines", "good.txt", "--output", "rules.jsonl")
    assert (code, out, err) == (0, "", "2 rules imported, 0 not\n")
    rows = [json.loads(line) for line in (files / "rules.jsonl").read_text().splitlines()]
    assert rows[0] == {
        "id": "adults",
        "rule": "age >= 18",
        "tags": ["imported"],
        "priority": 1,
        "source": "good.txt:1",
    }
    (files / "events.jsonl").write_text('{"age": 20, "tier": "gold"}\n')
    code, out, _ = command("match", "rules.jsonl", "events.jsonl")
    assert code == 0
    assert set(json.loads(out)["rules"]) == {"adults", "vip"}


def test_lists_what_is_not_imported(command, files: Path) -> None:
    code, out, err = command("import", "lines", "mixed.txt")
    assert code == 1
    assert [json.loads(line)["id"] for line in out.splitlines()] == ["adults", "vip"]
    assert err.splitlines() == [
        "mixed.txt:2: found no colon",
        "mixed.txt:3: rule 'bad': line 1, column 6: expected an attribute or a literal, "
        "found the end of the rule",
        "mixed.txt:4: rule 'adults': the id is that of the rule in mixed.txt:1",
        "2 rules imported, 3 not",
    ]


def test_json_counts_both(command, files: Path) -> None:
    code, out, err = command("import", "lines", "mixed.txt", "-o", "rules.jsonl", "--json")
    assert (code, err) == (1, "")
    figures = json.loads(out)
    assert (figures["file"], figures["imported"]) == ("rules.jsonl", 2)
    assert figures["not_imported"][0] == {
        "id": "",
        "source": "mixed.txt:2",
        "reason": "found no colon",
    }
    assert len(figures["not_imported"]) == 3


def test_json_without_a_file_lists_the_rest_all_the_same(command) -> None:
    code, out, err = command("import", "lines", "mixed.txt", "--json")
    assert (code, len(out.splitlines()), len(err.splitlines())) == (1, 2, 4)


def test_the_table_replaces_another_or_it_says_why_not(command, files: Path) -> None:
    (files / "rules.jsonl").write_text("before\n")
    (files / "face.txt").write_text("a: b = '\N{GRINNING FACE}'\n")
    assert command("import", "lines", "face.txt", "-o", "rules.jsonl")[0] == 0
    assert "\N{GRINNING FACE}" in (files / "rules.jsonl").read_text(encoding="utf-8")
    assert [path.name for path in files.glob("rules.jsonl*")] == ["rules.jsonl"]
    code, _, err = command("import", "lines", "face.txt", "-o", "/dev/full")
    assert (code, err) == (2, "matchwood: /dev/full: No space left on device\n")


def test_strict_writes_nothing(command, files: Path) -> None:
    (files / "rules.jsonl").write_text("before\n")
    code, out, err = command("import", "lines", "mixed.txt", "-o", "rules.jsonl", "--strict")
    assert (code, out) == (1, "")
    assert err.splitlines() == [
        "mixed.txt:2: found no colon",
        "0 rules imported, 1 not; nothing was written, because of --strict",
    ]
    assert (files / "rules.jsonl").read_text() == "before\n"
    assert command("import", "lines", "good.txt", "-o", "rules.jsonl", "--strict")[0] == 0
    assert len(Matcher({row["id"]: row["rule"] for row in rows_of(files / "rules.jsonl")})) == 2


def rows_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("import", "Missing argument"),
        ("import lines", "Missing argument"),
        ("import letters good.txt", "no such format: 'letters'; expected one of "),
        ("import lines none.txt", "none.txt: no such file or folder"),
        ("import lines good.txt --pipeline p.yml", "lines takes no options, found pipelines"),
        ("import sigma good.txt --pipeline none.yml", "no such pipeline: 'none.yml' is no file"),
        ("import lines good.txt -o no/rules.jsonl", "no/rules.jsonl: No such file or directory"),
    ],
)
def test_misuse(command, arguments: str, says: str) -> None:
    code, out, err = command(*arguments.split())
    assert (code, out) == (2, "")
    assert says in err


SIGMA = """\
title: One
logsource: {product: windows}
detection: {s: {a: x}, condition: s}
---
title: Two
logsource: {product: windows}
detection: {s: {a|contains: '44'}, condition: s}
"""
PIPELINE = "transformations: [{id: names, type: field_name_mapping, mapping: {a: A}}]\n"


def test_options_of_sigma(command, files: Path) -> None:
    (files / "sigma.yml").write_text(SIGMA)
    (files / "pipeline.yml").write_text(PIPELINE)
    code, out, err = command("import", "sigma", "sigma.yml", "--pipeline", "pipeline.yml")
    assert (code, json.loads(out)["rule"]) == (1, "A ilike 'x'")
    assert err.startswith("sigma.yml:5: rule 'Two': A: the pattern '*44*' also matches numbers")
    code, out, err = command("import", "sigma", "sigma.yml", "--text-patterns")
    assert (code, err) == (0, "2 rules imported, 0 not\n")
    assert [json.loads(line)["rule"] for line in out.splitlines()] == [
        "a ilike 'x'",
        "a ilike '%44%'",
    ]


PATTERN = '{"Rules": [{"Name": "open", "EventPattern": "{\\"a\\": [{\\"exists\\": true}]}"}]}'
MAY_DIFFER = "1 rule may differ from the original for events with "
NESTED = "a list directly in a list (nested-lists)"
NULLS = "null, which counts as missing (nulls)"


def test_says_for_which_events_rules_differ(command, files: Path) -> None:
    (files / "rules.json").write_text(PATTERN)
    _import = ("import", "eventbridge", "rules.json", "-o", "rules.jsonl")
    code, _, err = command(*_import)
    assert (code, err.splitlines()) == (
        0,
        ["1 rule imported, 0 not", MAY_DIFFER + NULLS, MAY_DIFFER + NESTED],
    )
    _, out, _ = command(*_import, "--json")
    assert json.loads(out)["differs"] == {"nulls": ["open"], "nested-lists": ["open"]}
    _, _, err = command(*_import, "--without", "nulls")
    assert err.splitlines() == ["1 rule imported, 0 not", MAY_DIFFER + NESTED]
    (files / "rules.jsonl").unlink()
    code, _, err = command(*_import, "--strict", "--without", "nulls")
    assert (code, (files / "rules.jsonl").exists()) == (1, False)
    assert err.splitlines() == [
        f"rules.json, rule 1: rule 'open': it may differ for events with {NESTED}; "
        "--without nested-lists says that there are none",
        "0 rules imported, 1 not; nothing was written, because of --strict",
    ]
    code, _, err = command(*_import, "--strict", "--without", "nulls", "--without", "nested-lists")
    assert (code, err) == (0, "1 rule imported, 0 not\n")
    code, _, err = command(*_import, "--without", "pi")
    assert (code, "--without takes nulls, " in err) == (2, True)


def test_without_pysigma(command, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("matchwood.imports.sigma")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sigma.rule", None)
    code, _, err = command("import", "sigma", "good.txt")
    assert (code, err) == (
        2,
        "matchwood: Sigma rules need pySigma: pip install 'matchwood[sigma]'\n",
    )
