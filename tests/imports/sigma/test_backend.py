"""matchwood as a target of pySigma, in Python and in the command `sigma`."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from sigma.collection import SigmaCollection
from sigma.exceptions import SigmaFeatureNotSupportedByBackendError
from sigma.plugins import InstalledSigmaPlugins

from matchwood.imports.sigma import MatchwoodBackend

RULES = """\
title: One
id: 11111111-1111-4111-8111-111111111111
level: low
logsource: {product: windows}
detection: {s: {a: x}, t: {b: y}, condition: [s, not t]}
---
title: Two
logsource: {product: windows}
detection: {s: {a|contains: '44'}, condition: s}
"""
CORRELATION = """\
---
title: Many
correlation: {type: event_count, rules: [11111111-1111-4111-8111-111111111111],
  group-by: [User], timespan: 5m, condition: {gte: 10}, generate: true}
"""


def test_pysigma_finds_the_backend() -> None:
    assert InstalledSigmaPlugins.autodiscover().backends["matchwood"] is MatchwoodBackend


def test_convert() -> None:
    rules = SigmaCollection.from_yaml(RULES)
    with pytest.raises(SigmaFeatureNotSupportedByBackendError, match="also matches numbers"):
        MatchwoodBackend().convert(rules)
    assert MatchwoodBackend(text_patterns=True).convert(rules) == [
        "a ilike 'x'",
        "(b ilike 'y') is not true",
        "a ilike '%44%'",
    ]


def test_errors_are_collected() -> None:
    backend = MatchwoodBackend(collect_errors=True)
    assert len(backend.convert(SigmaCollection.from_yaml(RULES + CORRELATION))) == 2
    assert [(rule.title, str(error)[:40]) for rule, error in backend.errors] == [
        ("Two", "a: the pattern '*44*' also matches numbe"),
        ("Many", "a correlation is about several events, a"),
    ]


def test_table_of_rules() -> None:
    text = MatchwoodBackend(text_patterns=True).convert(SigmaCollection.from_yaml(RULES), "jsonl")
    one, two = map(json.loads, text.splitlines())
    assert (one["title"], one["priority"]) == ("One", 2.0)
    assert one["rule"] == "a ilike 'x' or (b ilike 'y') is not true"
    assert (two["id"], two["rule"]) == ("Two", "a ilike '%44%'")


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sigma.cli.convert import convert

    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.yml").write_text(RULES)
    pipeline = "name: p\ntransformations: [{id: m, type: field_name_mapping, mapping: {a: A}}]\n"
    (tmp_path / "pipeline.yml").write_text(pipeline)
    arguments = ["-t", "matchwood", "-p", "pipeline.yml", "-f", "jsonl", "rules.yml"]
    failed = CliRunner().invoke(convert, arguments)
    assert failed.exit_code == 1
    assert "also matches numbers as text" in failed.output
    done = CliRunner().invoke(convert, ["-O", "text_patterns=true", "-o", "r.jsonl", *arguments])
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert [row["rule"] for row in rows] == [
        "A ilike 'x' or (b ilike 'y') is not true",
        "A ilike '%44%'",
    ]
