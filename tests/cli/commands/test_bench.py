"""bench: experiments are listed, run and shown."""

import json
from pathlib import Path

import pytest

from matchwood.cli.commands.bench import Points
from matchwood.lab.experiments.experiment import ENGINE
from matchwood.lab.experiments.running.measuring import Bench
from matchwood.lab.experiments.running.points import Budget, point


def test_list(command):
    code, out, _ = command("bench", "list")
    assert code == 0
    (line,) = [line for line in out.splitlines() if line.startswith("atree-table4 ")]
    assert line.split(None, 1)[1] == (
        "Ji, Jacobsen 2021, Table 4: All algorithms on advertisements"
    )
    listed = json.loads(command("bench", "list", "--json")[1])
    assert len(listed) == len(out.splitlines())
    assert {"name", "measures", "contestants", "values"} <= listed[0].keys()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "atree-fig99"), "no experiment 'atree-fig99': matchwood bench list names them"),
        (("run", "--scale", "huge"), "no scale 'huge': expected small or paper"),
        (
            ("report",),
            "bench-results/small.jsonl: no results; matchwood bench run --scale small makes them",
        ),
        (
            ("run", "fontoura-fig7", "--value", "9"),
            "no value '9' at scale small: expected some of 1, 2, 3, 4",
        ),
    ],
)
def test_misuse(command, arguments, message):
    code, out, err = command("bench", *arguments)
    assert (code, out, err) == (2, "", f"matchwood: {message}\n")


@pytest.mark.slow
def test_run_and_report(command, tmp_path: Path):
    run = ("bench", "run", "fontoura-fig7", "--output", "r.jsonl", "--gib", "1", "--events", "30")
    code, out, err = command(*run, "--value", "1", "--json")
    figures = json.loads(out)
    assert (code, figures["experiments"]) == (0, ["fontoura-fig7"]), err
    assert sum(figures["points"].values()) == 4
    assert "1 of 4: engine on fontoura (rules 20, depth 1): " in err
    records = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text("utf-8").splitlines()]
    assert {record["events"] for record in records} == {30}
    code, out, _ = command(*run, "--value", "1")
    assert code == 0
    assert "4 there already" in out
    code, out, _ = command("bench", "report", "--output", "r.jsonl", "--json")
    told = json.loads(out)
    assert (code, told["page"]) == (0, "r.html")
    assert "Size of a rule in disjunctive normal form" in (tmp_path / "r.html").read_text("utf-8")
    assert {each["other"] for each in told["engine against each"]} >= {"Interval ID"}


def test_every_kind_of_point_is_told(capsys):
    budget = Budget(seconds=60, gib=2, events=2)
    calls = {"rules": 40, "predicates": 20}
    for workload, settings in (("overlapping", calls), ("dexin", {"rules": 10})):
        made = point(ENGINE, workload, settings)
        record = {"status": "measured", **Bench().measure(made, budget)}
        Points().report(1, 2, made, record)
    with_calls, without = capsys.readouterr().err.splitlines()
    assert with_calls.startswith("1 of 2: engine on overlapping (rules 40, predicates 20): ")
    assert with_calls.endswith(" ms per event")
    assert " predicates evaluated, " in with_calls
    assert " bytes, " in without
