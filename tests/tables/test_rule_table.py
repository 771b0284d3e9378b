"""Rules in files: every format, and rows that cannot be read."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from matchwood.tables import BadRow, RuleRow, TableError, read_rules

ROWS = [
    {"id": "a", "rule": "x = 1", "tags": ["eu", "us"], "priority": 2.5},
    {"id": "b", "rule": "y = 2", "tags": None, "priority": None},
]


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_every_format_has_the_same_rules(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"rules.{suffix}"
    if suffix == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    elif suffix == "csv":
        path.write_text("id,rule,tags,priority\na,x = 1,eu;us,2.5\nb,y = 2,,\n")
    else:
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    first, second = read_rules(path)
    assert isinstance(first, RuleRow)
    assert isinstance(second, RuleRow)
    assert first[2:] == ("a", "x = 1", ("eu", "us"), 2.5, "")
    assert second[2:] == ("b", "y = 2", (), 0.0, "")


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("5", "found int"),
        ('{"rule": "a"}', "no id"),
        ('{"id": true, "rule": "a"}', "the id is a string or an integer, found bool"),
        ('{"id": "x"}', "no rule"),
        ('{"id": "x", "rule": "a", "tags": 5}', "tags are a list of strings"),
        ('{"id": "x", "rule": "a", "priority": "high"}', "a priority is a number"),
    ],
)
def test_bad_rows(tmp_path: Path, row: str, reason: str) -> None:
    (tmp_path / "rules.jsonl").write_text(row + '\n{"id": "y", "rule": "a"}\n')
    bad, good = read_rules(tmp_path / "rules.jsonl")
    assert isinstance(bad, BadRow)
    assert (bad.line, reason in bad.reason) == (1, True)
    assert isinstance(good, RuleRow)


def test_a_column_is_missing(tmp_path: Path) -> None:
    (tmp_path / "rules.csv").write_text("id,text\na,x = 1\n")
    with pytest.raises(TableError, match="expected a column 'rule', found id, text"):
        list(read_rules(tmp_path / "rules.csv"))
