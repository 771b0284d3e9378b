"""Matches are written with the right ids, whatever happens to the index in between."""

import io
import json

import pyarrow.parquet as pq
import pytest

from matchwood import Matcher
from matchwood.cli.match_output import JsonOutput, ParquetOutput, RuleFacts

RULES = {"c": "a = 1 and b = 2", "a": "b = 2", "d": "a = 1 or c = 3", "b": "a = 1"}
EVENT = {"a": 1}


def pending() -> Matcher:
    """Rules as they are while kernels are being compiled: not in an index yet."""
    matcher = Matcher()
    for rule_id, rule in RULES.items():
        matcher.add(rule_id, rule, tags=[rule_id])
    assert matcher.stats().pending == len(RULES)
    return matcher


def write_while_rules_are_built(matcher: Matcher, output: JsonOutput | ParquetOutput) -> None:
    for name in ("before", "after"):
        output.write([name], list(matcher.match_batches([EVENT])))
        matcher.compact()


@pytest.mark.parametrize("names", [(), ("tags",)])
def test_rules_may_be_built_between_chunks(names, tmp_path):
    right = set(pending().match(EVENT))
    assert right == {"b", "d"}
    matcher, written = pending(), io.StringIO()
    facts = RuleFacts(names)
    facts.of(matcher)
    write_while_rules_are_built(matcher, JsonOutput(written, facts))
    for line in written.getvalue().splitlines():
        found = json.loads(line)["rules"]
        ids = {rule["id"] for rule in found} if names else set(found)
        assert ids == right
        assert not names or all(rule["tags"] == [rule["id"]] for rule in found)
    matcher = pending()
    facts = RuleFacts(names)
    facts.of(matcher)
    output = ParquetOutput(tmp_path / "matches.parquet", facts)
    write_while_rules_are_built(matcher, output)
    output.close()
    rows = pq.read_table(tmp_path / "matches.parquet").to_pylist()
    assert sorted((row["event"], row["rule_id"]) for row in rows) == sorted(
        (name, rule_id) for name in ("before", "after") for rule_id in right
    )
    assert not names or all(row["tags"] == [row["rule_id"]] for row in rows)
