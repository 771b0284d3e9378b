"""The data that rules carry, from the columns of tables."""

import json
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from matchwood.tables import BadRow, read_rules
from matchwood.tables.rule_data import data_of_columns, data_text


def data_in(path):
    return [row if isinstance(row, BadRow) else json.loads(row.data or "null")
            for row in read_rules(path)]  # fmt: skip


def test_json_lines(tmp_path):
    rows = [
        {"id": "a", "rule": "x = 1", "title": "A", "level": 3, "none": None},
        {"id": "b", "rule": "x = 1", "title": "B", "data": {"owner": "ann"}},
        {"id": "c", "rule": "x = 1", "data": [1, 2]},
        {"id": "d", "rule": "x = 1", "tags": ["t"]},
        {"id": "e", "rule": "x = 1", "title": "E", "data": 5},
    ]
    path = tmp_path / "rules.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    *good, bad = data_in(path)
    assert good == [{"title": "A", "level": 3}, {"title": "B", "owner": "ann"}, [1, 2], None]
    assert bad.reason == "rule 'e': 'data' is an object where there are further columns ('title')"


def test_csv(tmp_path):
    path = tmp_path / "rules.csv"
    path.write_text('id,rule,title,data\na,x = 1,A,"{""n"": 1}"\nb,x = 1,,\nc,x = 1\nd,y,D,{\n')
    *good, bad = data_in(path)
    assert good == [{"title": "A", "n": 1}, None, None]
    assert bad.reason.startswith("rule 'd': its data is not JSON")


def test_parquet(tmp_path):
    table = pa.table({
        "id": [1, 2],
        "rule": ["x = 1", "x = 2"],
        "since": [date(2026, 1, 31), None],
        "share": [Decimal("0.10"), None],
        "owner": [{"name": "ann", "level": None}, None],
        "weight": [float("nan"), 0.5],
    })  # fmt: skip
    pq.write_table(table, tmp_path / "rules.parquet")
    assert data_in(tmp_path / "rules.parquet") == [
        {"since": "2026-01-31", "share": "0.10", "owner": {"name": "ann"}},
        {"weight": 0.5},
    ]


@pytest.mark.parametrize("data", [float("nan"), {1, 2}, b"x", "\ud800", "x" * (1 << 20)])
def test_what_is_no_data(data):
    with pytest.raises((ValueError, TypeError), match="the data of a rule"):
        data_text(data)


def test_names_that_are_known_are_no_data():
    assert data_of_columns({"id": 1, "rule": "x"}, ("id", "rule")) is None
