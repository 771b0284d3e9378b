"""Tables that this process writes have the rows of the workload, in any format."""

import csv
import json

import pyarrow.parquet as pq
import pytest

from matchwood.lab.workloads import table_files as module
from matchwood.lab.workloads.catalogue import WORKLOADS
from matchwood.lab.workloads.table_files import write_tables


@pytest.fixture(autouse=True)
def small_files(monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 700)  # not a multiple of the workloads' own blocks
    monkeypatch.setattr(module, "ROWS_PER_FILE", 1000)


def rows_of(folder, format):
    rows = []
    for path in sorted(folder.iterdir()):
        assert path.suffix == f".{format}"
        if format == "parquet":
            rows += pq.read_table(path, use_threads=False).to_pylist()
        elif format == "json":
            rows += map(json.loads, path.read_text(encoding="utf-8").splitlines())
        else:
            with path.open(encoding="utf-8", newline="") as file:
                rows += csv.DictReader(file)
    return rows


@pytest.mark.parametrize("format", ["parquet", "json", "csv"])
@pytest.mark.parametrize("workload", ["audiences", "abe-gen"])
def test_rows_are_those_of_the_workload(tmp_path, workload, format):
    paths = write_tables(workload, tmp_path, rules=30, events=2100, format=format, seed=5)
    assert paths == {name: str(tmp_path / name) for name in ("rules", "events")}
    made = WORKLOADS[workload](rules=30, seed=5)
    assert [row["rule"] for row in rows_of(tmp_path / "rules", format)] == made.texts()
    rows = rows_of(tmp_path / "events", format)
    assert [int(row.pop("key")) for row in rows] == list(range(2100))
    if format == "csv":
        rows = [json.loads(row["attributes"]) for row in rows]
    elif workload == "abe-gen":
        rows = [dict(row["attributes"]) for row in rows]
    found = [{name: value for name, value in row.items() if value is not None} for row in rows]
    assert found == made.events(2100)


def test_tables_are_not_mixed_with_others(tmp_path):
    write_tables("abe-gen", tmp_path, rules=5, events=2100)
    with pytest.raises(FileExistsError):
        write_tables("abe-gen", tmp_path, rules=5, events=0)
    write_tables("abe-gen", tmp_path, rules=5, events=0, overwrite=True)
    assert rows_of(tmp_path / "events", "parquet") == []
    assert len(list((tmp_path / "events").iterdir())) == 1
