"""generate without Spark: what it refuses, and what it writes."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from matchwood.lab.workloads.catalogue import WORKLOADS


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("abe",), "no workload 'abe': expected one of audiences, abe-gen, fontoura, ads"),
        (("abe-gen", "--format", "xml"), "no format 'xml': expected parquet, json, csv, jsonl"),
        (("abe-gen",), "out/rules is there already: --overwrite replaces it"),
    ],
)
def test_generate_refuses(command, tmp_path: Path, arguments, message: str) -> None:
    (tmp_path / "out" / "rules").mkdir(parents=True)
    code, out, err = command("generate", *arguments, "--out", "out")
    assert (code, out, err) == (2, "", f"matchwood: {message}\n")


def lines_of(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("workload", ["audiences", "abe-gen", "fontoura", "ads"])
def test_generate_without_spark(command, tmp_path: Path, workload: str) -> None:
    arguments = (workload, "--format", "jsonl", "--rules", "30", "--events", "20", "--out", "made")
    code, out, err = command("generate", *arguments, "--seed", "3")
    assert (code, err) == (0, "")
    assert out.splitlines()[1] == "matchwood match made/rules.jsonl made/events.jsonl"
    rules = lines_of(tmp_path / "made/rules.jsonl")
    made = WORKLOADS[workload](rules=30, seed=3)
    assert [rule["rule"] for rule in rules] == made.texts()
    events = lines_of(tmp_path / "made/events.jsonl")
    assert events == made.events(20)
    code, _, err = command("generate", *arguments)
    assert (code, err) == (
        2,
        "matchwood: made/rules.jsonl is there already: --overwrite replaces it\n",
    )
    code, out, _ = command("generate", *arguments, "--overwrite", "--json")
    assert json.loads(out)["paths"]["rules"] == "made/rules.jsonl"


def test_tables_need_no_spark_either(command, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)  # as if it were not installed
    arguments = ("audiences", "--rules", "30", "--events", "20", "--out", "made")
    code, out, err = command("generate", *arguments)
    assert (code, err) == (0, "")
    assert out.splitlines()[1] == "matchwood run made/pipeline.toml"
    assert 'keep = ["key"]' in (tmp_path / "made/pipeline.toml").read_text()
    code, _, err = command("generate", *arguments, "--overwrite", "--spark")
    assert code == 2
    assert "this needs PySpark" in err
    code, _, err = command("generate", *arguments, "--overwrite", "--spark", "--format", "jsonl")
    assert (code, "jsonl is written without Spark" in err) == (2, True)
