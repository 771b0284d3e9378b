"""run: what it refuses before Spark is started, and `generate` and `run` on Spark."""

import json
from pathlib import Path

import pytest

PIPELINE = """\
[rules]
path = "rules.jsonl"
[events]
path = "events.csv"
schema = "key int, age int"
options = { header = true }
keep = ["key"]
[matches]
path = "matches.json"
"""


def test_a_mistake_in_the_file_is_misuse(command, tmp_path: Path) -> None:
    (tmp_path / "pipeline.toml").write_text(PIPELINE.replace("keep", "keeps"))
    code, out, err = command("run", "pipeline.toml")
    assert (code, out) == (2, "")
    assert err == (
        "matchwood: pipeline.toml:7: unknown key 'keeps' in [events], did you mean 'keep'?\n"
    )
    code, _, err = command("run", "none.toml")
    assert (code, err) == (2, "matchwood: none.toml: no such file\n")


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("spark", ["classic"], indirect=True)
def test_generate_and_run(spark, command, tmp_path: Path) -> None:
    """The commands use the active session, and leave it as it is."""
    (tmp_path / "rules.jsonl").write_text('{"id": "adults", "rule": "age >= 18"}\n')
    (tmp_path / "events.csv").write_text("key,age\n1,20\n2,x\n")
    # Spark resolves relative paths against the folder in which its session began.
    small = PIPELINE.replace('path = "', 'path = "${HERE}/')
    (tmp_path / "small.toml").write_text(small)
    failing = small.replace("matches.json", "others.json")
    failing = failing.replace(
        "keep =", 'select = ["key", "assert_true(key < 1) is null as age"]\nkeep ='
    )
    (tmp_path / "failing.toml").write_text(failing)
    made_in = str(tmp_path / "made")
    sizes = ("--rules", "300", "--events", "200", "--seed", "5")
    made = command("generate", "abe-gen", *sizes, "--out", made_in, "--spark", "--json")
    ran = command("run", f"{made_in}/pipeline.toml", "--json")
    strict = command("run", "small.toml", "--strict")
    again = command("run", "small.toml")
    failed = command("run", "failing.toml")
    figures = json.loads(made[1])
    assert (made[0], figures["rules"], figures["pipeline"]) == (0, 300, f"{made_in}/pipeline.toml")
    summary = json.loads(ran[1])
    assert (ran[0], summary["rules"], summary["events"]) == (0, 300, 200)
    assert summary["matches"] > 200
    assert " s  200 events" in ran[2]
    written = json.loads((tmp_path / "made/matches-report/summary.json").read_text())
    assert written["matches"] == summary["matches"]
    assert strict[0] == 1
    assert "events   2 read, 1 rejected, 1 with matches\n" in strict[1]
    assert again[0] == 2
    assert f"small.toml:9: [matches]: {tmp_path}/matches.json exists already" in again[2]
    assert failed[0] == 3
    assert "matchwood: the stage 'match' failed: " in failed[2]
    assert failed[2].endswith("'(key < 1)' is not true!\n")
