"""Files of Sigma rules: documents, filters, correlations, pipelines, and what is listed."""

from pathlib import Path

import pytest

from matchwood.imports import ImportedRule, NotImported, read

LOGSOURCE = "logsource: {product: windows, category: process_creation}\n"
FULL = f"""\
title: A dumper of passwords
id: 11111111-1111-4111-8111-111111111111
status: test
level: high
description: It reads memory.
author: Ada
date: 2024-01-05
references: [https://example.org/a]
tags: [attack.credential_access, attack.t1003]
team: red
{LOGSOURCE}detection:
  selection: {{Image|endswith: '\\dump.exe'}}
  condition: selection
"""


def short(title: str, value: object) -> str:
    """The text of a rule that the field `a` has a value."""
    return f"title: {title}\n{LOGSOURCE}detection: {{s: {{a: {value}}}, condition: s}}\n"


def imported(folder: Path, **options: object) -> tuple[list[ImportedRule], list[NotImported]]:
    every = list(read("sigma", folder, **options))
    return (
        [each for each in every if isinstance(each, ImportedRule)],
        [each for each in every if isinstance(each, NotImported)],
    )


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.yml").write_text(text)


def test_what_a_rule_says_of_itself(tmp_path: Path) -> None:
    write(tmp_path, full=FULL)
    (rule,), refused = imported(tmp_path)
    assert not refused
    assert rule.row() == {
        "id": "11111111-1111-4111-8111-111111111111",
        "rule": r"Image ilike '%\\dump.exe'",
        "tags": ["attack.credential_access", "attack.t1003"],
        "priority": 4.0,
        "title": "A dumper of passwords",
        "source": str(tmp_path / "full.yml"),
        "logsource": {"category": "process_creation", "product": "windows"},
        "level": "high",
        "status": "test",
        "description": "It reads memory.",
        "author": "Ada",
        "date": "2024-01-05",
        "references": ["https://example.org/a"],
        "custom": {"team": "red"},
    }


@pytest.mark.parametrize(
    ("level", "priority"),
    [("informational", 1), ("low", 2), ("medium", 3), ("high", 4), ("critical", 5)],
)
def test_levels_are_priorities(tmp_path: Path, level: str, priority: float) -> None:
    write(tmp_path, a=short("a", "x") + f"level: {level}\n")
    (rule,), _ = imported(tmp_path)
    assert rule.priority == priority
    assert rule.data["level"] == level


def test_wrong_metadata_does_not_change_what_a_rule_means(tmp_path: Path) -> None:
    write(tmp_path, a="id: 7-a\nlevel: terrible\ndate: soon\n" + short("a", "x"))
    (rule,), refused = imported(tmp_path)
    assert not refused
    assert (rule.id, rule.rule, rule.priority) == ("7-a", "a ilike 'x'", 0)
    assert rule.data["level"] == "terrible"


def test_folders_and_documents_have_an_order(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    write(tmp_path / "b", one=short("one", 1))
    write(tmp_path, a=short("two", 2) + "---\n" + FULL + "---\n")
    (tmp_path / "c.YAML").write_text(short("three", 3))
    (tmp_path / "notes.txt").write_text("not a rule")
    rules, refused = imported(tmp_path)
    assert not refused
    assert [rule.title for rule in rules] == ["two", "A dumper of passwords", "one", "three"]
    assert [rule.source for rule in rules[:2]] == [f"{tmp_path}/a.yml:1", f"{tmp_path}/a.yml:5"]
    assert [rule.id for rule in rules[2:]] == ["one", "three"]


def test_global_documents(tmp_path: Path) -> None:
    parts = [
        "action: global\nid: 11111111-1111-4111-8111-111111111111\ntitle: Parts\n" + LOGSOURCE,
        "detection: {s: {a: x}, condition: s}\n",
        "detection: {s: {a: y}, condition: s}\n",
        "action: repeat\ndetection: {s: {b: z}}\n",
        "action: reset\n",
        short("alone", "x"),
    ]
    write(tmp_path, parts="---\n".join(parts))
    rules, refused = imported(tmp_path)
    assert not refused
    assert [rule.rule for rule in rules] == [
        "a ilike 'x'",
        "a ilike 'y'",
        "a ilike 'y' and b ilike 'z'",
        "a ilike 'x'",
    ]
    first = "11111111-1111-4111-8111-111111111111"
    assert [rule.id for rule in rules] == [first, f"{first}-2", f"{first}-3", "alone"]


def test_filters_are_applied_wherever_they_are(tmp_path: Path) -> None:
    about = "title: Not the admin\nlogsource: {product: windows}\n"
    write(
        tmp_path,
        a_filter=about + "filter: {rules: any, f: {User: admin}, condition: not f}\n",
        rule=short("one", "x"),
        other=short("two", "y").replace("windows", "linux"),
    )
    rules, refused = imported(tmp_path)
    assert not refused
    assert {rule.title: rule.rule for rule in rules} == {
        "one": "a ilike 'x' and (User ilike 'admin') is not true",
        "two": "a ilike 'y'",
    }


def test_a_filter_goes_through_the_pipeline_once_for_each_rule(tmp_path: Path) -> None:
    about = "title: Not the admin\nlogsource: {product: windows}\n"
    write(
        tmp_path,
        a=short("one", "x"),
        b=short("two", "y"),
        filter=about + "filter: {rules: any, f: {User: admin}, condition: not f}\n",
    )
    (tmp_path / "p").write_text("transformations: [{id: p, type: field_name_prefix, prefix: e.}]")
    rules, _ = imported(tmp_path, pipelines=[tmp_path / "p"])
    assert [rule.rule for rule in rules] == [
        "e.a ilike 'x' and (e.User ilike 'admin') is not true",
        "e.a ilike 'y' and (e.User ilike 'admin') is not true",
    ]


def test_correlations_are_listed_and_their_rules_imported(tmp_path: Path) -> None:
    correlation = (
        "title: Many\nname: many\ncorrelation: {type: event_count, rules: [one], group-by: [User], "
        "timespan: 5m, condition: {gte: 10}}\n"
    )
    write(tmp_path, a=correlation + "---\nname: one\n" + short("One", "x"))
    rules, refused = imported(tmp_path)
    assert [rule.id for rule in rules] == ["one"]
    assert rules[0].data["correlations"] == ["many"]
    (many,) = refused
    assert (many.id, many.source) == ("many", f"{tmp_path}/a.yml:1")
    assert many.reason.startswith("a correlation is about several events")


def test_what_cannot_be_read_is_listed_and_the_rest_imported(tmp_path: Path) -> None:
    good = short("good", "x")
    write(
        tmp_path,
        a="title: [unclosed\n",
        b="- a\n- list\n---\n" + good,
        c="title: No detection\n" + LOGSOURCE,
        d=good.replace("good", "twice").replace("a: x", "a: x, a: y"),
        e=good.replace("good", "modifier").replace("{a:", "{a|nonsense:"),
        f=good.replace("good", "number").replace("{a:", "{5:"),
        g="action: explode\ntitle: x\n",
        h="title: A filter\nlogsource: {product: windows}\nfilter: {rules: any}\n",
        i="title: Without a source\nfilter: {rules: any, f: {a: x}, condition: not f}\n",
        j="",
    )
    rules, refused = imported(tmp_path)
    assert [rule.rule for rule in rules] == ["a ilike 'x'"]
    reasons = {Path(each.source).name: each.reason for each in refused}
    assert list(reasons) == [
        *("a.yml", "b.yml:1", "c.yml", "d.yml:1"),
        *(f"{x}.yml" for x in "efghi"),
    ]
    assert "while parsing a flow sequence" in reasons["a.yml"]
    assert reasons["b.yml:1"] == "a Sigma rule is a mapping, found list"
    assert "must have a detection" in reasons["c.yml"]
    assert reasons["d.yml:1"] == "Duplicate key 'a'"
    assert reasons["e.yml"] == "Unknown modifier 'nonsense'"
    assert reasons["f.yml"].startswith("pySigma stumbles over it: AttributeError")
    assert reasons["g.yml"] == "no such action: 'explode'"
    assert reasons["i.yml"] == "Sigma filter must have a log source"
    assert reasons["h.yml"] == "Sigma filter must contain exactly one condition"


def test_several_conditions_are_one_rule(tmp_path: Path) -> None:
    text = short("a", "x").replace("condition: s", "t: {b: y}, condition: [s, t]")
    write(tmp_path, a=text)
    (rule,), _ = imported(tmp_path)
    assert rule.rule == "a ilike 'x' or b ilike 'y'"


PIPELINE = """\
name: Windows
priority: 10
vars: {admins: [root, 'adm*']}
transformations:
  - {id: names, type: field_name_mapping, mapping: {a: Event.EventData.A}}
  - {id: admins, type: value_placeholders, include: [admins]}
  - id: tor
    type: query_expression_placeholders
    include: [tor]
    expression: "{field} in list '{id}'"
  - id: known
    type: query_expression_placeholders
    include: [known]
    expression: "* ilike '%known%'"
  - id: source
    type: add_condition
    conditions: {Channel: Security}
    rule_conditions: [{type: logsource, product: windows}]
  - id: failing
    type: rule_failure
    message: Only for tests.
    rule_conditions: [{type: logsource, product: macos}]
"""


def test_pipeline(tmp_path: Path) -> None:
    rules_folder = tmp_path / "rules"
    rules_folder.mkdir()
    pipeline = tmp_path / "windows.yml"
    pipeline.write_text(PIPELINE)

    def expanded(title: str, value: str) -> str:
        return short(title, value).replace("{a:", "{a|expand:")

    write(
        rules_folder,
        a=expanded("mapped", "x"),
        b=expanded("admins", "'%admins%'").replace("windows", "linux"),
        c=expanded("tor", "'%tor%'").replace("windows", "linux"),
        k=short("keyword", "x")
        .replace("windows", "linux")
        .replace("{a: x}", "{'|expand': '%known%'}"),
        d=expanded("failing", "x").replace("windows", "macos"),
        e=expanded("unknown", "'%unknown%'").replace("windows", "linux"),
    )
    rules, refused = imported(rules_folder, pipelines=[pipeline])
    assert {rule.title: rule.rule for rule in rules} == {
        "mapped": "Channel ilike 'Security' and Event.EventData.A ilike 'x'",
        "admins": "Event.EventData.A ilike any ('root', 'adm%')",
        "keyword": "* ilike '%known%'",
        "tor": "Event.EventData.A in list 'tor'",
    }
    assert [(each.id, each.reason) for each in refused] == [
        ("failing", "Only for tests."),
        (
            "unknown",
            "Event.EventData.A: the placeholder %unknown% has no values: give a pipeline that "
            "expands it",
        ),
    ]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("none.yml", None, "no such pipeline: 'none.yml' is no file, and installed are "),
        ("bad.yml", "transformations: [{id: a, type: nonsense}]", "a pipeline cannot be read: "),
        ("odd.yml", "name: [", "a pipeline cannot be read: "),
    ],
)
def test_pipelines_that_cannot_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str | None, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=says):
        read("sigma", tmp_path, pipelines=[name])


def test_what_a_pipeline_leaves_of_a_rule(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    write(tmp_path / "rules", a=short("a", "x"), b=short("b", "x").replace("windows", "linux"))
    (tmp_path / "p.yml").write_text(
        "transformations:\n"
        "- id: dropping\n"
        "  type: drop_detection_item\n"
        "  rule_conditions: [{type: logsource, product: linux}]\n"
        "postprocessing: [{type: embed, prefix: 'search '}]\n"
    )
    rules, refused = imported(tmp_path / "rules", pipelines=[tmp_path / "p.yml"])
    assert not rules
    no_rule, dropped = (each.reason for each in refused)
    assert no_rule.startswith("line 1, column 8: expected 'and', ")
    assert dropped == "the pipeline has dropped all of its conditions"


INSTALLED = """\
from sigma.pipelines.base import Pipeline
from sigma.processing.pipeline import ProcessingItem, ProcessingPipeline
from sigma.processing.transformations import FieldMappingTransformation

__all__ = ["{name}_pipeline"]


@Pipeline
def {name}_pipeline() -> ProcessingPipeline:
    return ProcessingPipeline(items=[ProcessingItem(FieldMappingTransformation({{"a": "{name}"}}))])
"""


def test_installed_pipelines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each name stands for its own pipeline, or is refused if pySigma has another one there."""
    for name in ("alpha", "omega"):
        folder = tmp_path / "packages" / "sigma" / "pipelines" / name
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(INSTALLED.format(name=name))
    monkeypatch.syspath_prepend(tmp_path / "packages")
    (tmp_path / "rules").mkdir()
    write(tmp_path / "rules", a=short("a", "x"))
    answers = {}
    for name in ("alpha", "omega"):
        try:
            (rule,), _ = imported(tmp_path / "rules", pipelines=[name])
            answers[name] = rule.rule
        except ValueError as error:
            answers[name] = str(error).partition(":")[0]
    right = {name: f"{name} ilike 'x'" for name in answers}
    assert any(answers[name] == right[name] for name in answers)
    for name, answer in answers.items():
        assert answer == right[name] or answer.endswith(f"under the name {name!r}")
