"""Tables of conditions, whatever their format, become rules with tags, priority and data."""

import csv
import json
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from matchwood import Matcher
from matchwood.imports import ImportedRule, NotImported, read

ROWS = [
    {
        "id": "a",
        "rule": "age >= 18",
        "tags": "x; y",
        "priority": 2,
        "title": "Adults",
        "team": "red",
    },
    {"id": "b", "rule": "vip is not true", "tags": "", "priority": "", "title": "", "team": ""},
]
EXPECTED = [
    ("a", "age >= 18", ("x", "y"), 2.0, "Adults", {"team": "red"}),
    ("b", "vip is not true", (), 0.0, "", {}),
]


def facts(rule):
    return rule.id, rule.rule, rule.tags, rule.priority, rule.title, rule.data


def write_csv(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def write_jsonl(path, rows):
    rows = [{name: value or None for name, value in row.items()} for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def columns_of(rows):
    return {name: [row[name] or None for row in rows] for name in rows[0]}


def write_parquet(path, rows):
    pq.write_table(pa.table(columns_of(rows)), path)


def write_delta(path, rows):
    from deltalake import write_deltalake

    write_deltalake(path, pa.table(columns_of(rows)))


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("rules.csv", write_csv),
        ("rules.jsonl", write_jsonl),
        ("rules.parquet", write_parquet),
        ("rules", write_delta),
    ],
)
def test_tables(tmp_path, name, write):
    path = tmp_path / name
    write(path, ROWS)
    assert [facts(rule) for rule in read("sql", path)] == EXPECTED
    first = next(iter(read("sql", tmp_path)))  # a folder with the table
    assert first.source.startswith(str(path))


def test_changed_table_of_delta(tmp_path):
    from deltalake import DeltaTable, write_deltalake

    path = tmp_path / "rules"
    write_delta(path, ROWS)
    DeltaTable(path).delete("id = 'a'")
    write_deltalake(
        path, pa.table({"id": ["c"], "rule": ["x = 1"]}), mode="append", schema_mode="merge"
    )
    assert {rule.id for rule in read("sql", path)} == {"b", "c"}


def test_names_of_columns(tmp_path):
    path = tmp_path / "rules.csv"
    path.write_text("key,condition,rule,weight\n7,age > 1,old text,3\n")
    names = {"id": "key", "rule": "condition", "priority": "weight"}
    (rule,) = read("sql", path, names=names)
    assert (rule.id, rule.rule, rule.priority) == ("7", "age > 1", 3.0)
    assert rule.data == {"original_rule": "old text"}
    assert rule.row()["rule"] == "age > 1"
    with pytest.raises(ValueError, match="names are of id, rule, tags, priority, title, found x"):
        read("sql", path, names={"x": "y"})


def test_rules_in_json_form(tmp_path):
    path = tmp_path / "rules.jsonl"
    write_jsonl(path, [{"id": 1, "rule": {"attr": "a", "op": ">", "value": 1}, "data": {"n": [1]}}])
    (rule,) = read("sql", path)
    assert (rule.id, rule.rule, rule.data) == ("1", "a > 1", {"data": {"n": [1]}})


def test_data_of_all_types(tmp_path):
    path = tmp_path / "rules.parquet"
    table = {
        "id": [1],
        "rule": ["a = 1"],
        "since": [date(2026, 1, 31)],
        "limit": [Decimal("1.50")],
        "owners": [["x", "y"]],
        "blob": [b"\0"],
    }
    pq.write_table(pa.table(table), path)
    (rule,) = read("sql", path)
    assert rule.data == {"since": "2026-01-31", "limit": 1.5, "owners": ["x", "y"]}
    json.dumps(rule.row())


def test_rows_that_are_no_rules_have_their_place(tmp_path):
    path = tmp_path / "rules.csv"
    path.write_text(
        "id,rule,priority\na,age >,\n,age > 1,\nb,,\nc,age > 1,high\nd,age > 1\na,x = 1,\n"
        'e,city = "Rome",\n'
    )
    found = list(read("sql", path))
    assert all(isinstance(each, NotImported) for each in found if each.id != "a" or each.reason)
    assert [
        str(each).removeprefix(f"{path}") for each in found if isinstance(each, NotImported)
    ] == [
        ":2: rule 'a': line 1, column 6: expected an attribute or a literal, "
        "found the end of the rule",
        ":3: expected a string or an integer as 'id', found nothing",
        ":4: rule 'b': expected a condition as 'rule', found nothing",
        ":5: rule 'c': a priority is a number, found 'high'",
        ":6: expected 3 fields, found 2: d,age > 1",
        f":7: rule 'a': the id is that of the rule in {path}:2",
        ":8: rule 'e': line 1, column 8: double quotes are not used: write a string in single "
        "quotes ('text') and a name in backquotes (`name`)",
    ]


def test_files_that_cannot_be_read(tmp_path):
    path = tmp_path / "rules.xlsx"
    path.write_text("")
    (found,) = read("sql", path)
    assert str(found) == f"{path}: expected a .jsonl, .csv or .parquet file"


def test_dialects(tmp_path):
    path = tmp_path / "rules.jsonl"
    write_jsonl(
        path, [{"id": "a", "rule": 'CITY == "Rome"'}, {"id": "b", "rule": "a = 'x' || 'y'"}]
    )
    rule, refused = read("sql", path, dialect="spark", columns="city string, a string")
    assert isinstance(rule, ImportedRule)
    assert rule.rule == "city = 'Rome'"
    assert refused.reason.startswith("column 5: '||' cannot be said")
    with pytest.raises(ValueError, match="no such dialect: 'oracle'"):
        read("sql", path, dialect="oracle")
    with pytest.raises(ValueError, match="give the dialect"):
        read("sql", path, columns="a int")


def test_imported_rules_match(tmp_path):
    path = tmp_path / "rules.jsonl"
    write_jsonl(path, [{"id": "a", "rule": "coalesce(age, 0) < 5"}])
    rules = read("sql", path, dialect="spark", columns="age int")
    matcher = Matcher({rule.id: rule.rule for rule in rules})
    assert [matcher.match(event) for event in ({"age": 7}, {"age": 3}, {})] == [[], ["a"], ["a"]]
