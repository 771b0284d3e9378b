"""The data of rules stays with them, and is given back with matches."""

import copy
import random

import pandas as pd
import pyarrow as pa
import pytest

from matchwood import Matcher


def filled(count=60):
    source = random.Random(5)
    matcher = Matcher()
    about = {}
    for number in range(count):
        data = source.choice([None, {"n": number}, [number], f"é{number}", 0, False])
        priority = source.choice([0, number])
        tags = source.sample(["x", "y"], source.randint(0, 2))
        matcher.add(number, f"a >= {number}", tags=tags, priority=priority, data=data)
        about[number] = (data, priority, sorted(tags))
    return matcher, about


def of(matcher, number):
    details = matcher.details(number)
    return details.data, details.priority, sorted(details.tags)


def test_merges_copies_files_and_updates_keep_it(tmp_path):
    matcher, about = filled()
    assert {n: of(matcher, n) for n in matcher} == about
    matcher.compact()
    assert {n: of(matcher, n) for n in matcher} == about
    matcher.update({100: "a > 5"})
    matcher.add(3, "a > 5", data={"new": 1})
    del matcher[4], about[4]
    about |= {3: ({"new": 1}, 0, []), 100: (None, 0, [])}
    matcher.compact()
    assert {n: of(matcher, n) for n in matcher} == about
    assert {n: of(copy.copy(matcher), n) for n in matcher} == about
    matcher.save(tmp_path / "rules.mw")
    loaded = Matcher.load(tmp_path / "rules.mw")
    assert {n: of(loaded, n) for n in loaded} == about
    other = Matcher(loaded)
    assert {n: of(other, n) for n in other} == about
    other.update(dict.fromkeys(range(200, 300), "a < 0"))
    other.compact()
    assert {n: of(other, n) for n in about} == about


def test_tables_have_further_columns():
    rows = {"id": ["a", "b"], "rule": ["x = 1", "x = 2"], "owner": ["ann", None], "n": [1, 2]}
    for table in (pa.table(rows), pd.DataFrame(rows)):
        matcher = Matcher(table)
        assert [matcher.details(i).data for i in "ab"] == [{"owner": "ann", "n": 1}, {"n": 2}]


@pytest.mark.parametrize("built", [True, False])
def test_columns_about_rules_go_with_matches(built):
    matcher, _ = filled(30)
    if built:
        matcher.compact()
    names = ["data", "priority", "tags", "rule"]
    events = [{"a": n} for n in range(0, 30, 7)]
    table = matcher.match_batch(events, rule_columns=names)
    assert table.column_names == ["event", "rule_id", *names]
    assert table.num_rows == sum(n + 1 for n in range(0, 30, 7))
    for row in table.to_pylist():
        details = matcher.details(row["rule_id"])
        assert (row["data"] or "") == details.data_text
        found = (row["priority"], row["tags"], row["rule"])
        assert found == (details.priority, sorted(details.tags), f"a >= {row['rule_id']}")
    batches = list(matcher.match_batches(events, rule_columns=["rule"]))
    assert sum(batch.num_rows for batch in batches) == table.num_rows
    assert batches[0].schema.names == ["event", "rule_id", "rule"]
    assert matcher.match_batch([{"b": 1}], rule_columns=names).num_rows == 0


def test_other_columns_are_refused():
    with pytest.raises(ValueError, match="expected rule, tags, priority, data, found 'owner'"):
        Matcher({1: "a"}).match_batch([], rule_columns=["owner"])
    with pytest.raises(TypeError, match="a list of names"):
        Matcher({1: "a"}).match_batch([], rule_columns="rule")


def test_bad_data_changes_nothing():
    matcher = Matcher()
    with pytest.raises(TypeError, match="any JSON"):
        matcher.add("a", "x = 1", data={1, 2})
    assert not matcher
