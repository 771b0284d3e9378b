"""A pipeline as people start it: outside its environment, and ended by Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Timer
from urllib.request import urlopen

import pyspark
import pytest

from plain_environment import without_connect

pytestmark = [pytest.mark.spark, pytest.mark.slow]
# Seconds after which a run that does not end is killed.
PATIENCE = 300

STREAM = """
[spark]
spark.master = "local[2]"
spark.log.level = "WARN"
spark.ui.enabled = true
spark.ui.port = 0
spark.driver.bindAddress = "127.0.0.1"
spark.driver.host = "127.0.0.1"
spark.sql.shuffle.partitions = 1
spark.default.parallelism = 1

[rules]
path = "rules.jsonl"

[events]
path = "events"
format = "json"
schema = "key int, age int, tier string"
keep = ["key"]

[matches]
path = "matches"
format = "parquet"

[job]
mode = "stream"
checkpoint = "state"
"""


def environment(folder: Path) -> dict[str, str]:
    """No environment is activated: the first `python3` is one that has nothing."""
    bare = folder / "bare"
    bare.mkdir()
    (bare / "python3").write_text("#!/bin/sh\necho no matchwood here >&2\nexit 9\n")
    (bare / "python3").chmod(0o755)
    kept = {name: value for name, value in without_connect().items() if name != "PYSPARK_PYTHON"}
    return kept | {
        "PATH": f"{bare}:{os.environ['PATH']}",
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
    }


def test_a_stream_is_interrupted(tmp_path: Path) -> None:
    rules = {"adults": "age >= 18", "gold": "tier = 'gold'", "odd": "tier > 5"}
    lines = [json.dumps({"id": name, "rule": rule}) for name, rule in rules.items()]
    (tmp_path / "rules.jsonl").write_text("\n".join(lines))
    (tmp_path / "events").mkdir()
    events = [json.dumps({"key": n, "age": n, "tier": "gold"}) for n in range(40)]
    (tmp_path / "events" / "some.json").write_text("\n".join([*events, "[]", "{} {}"]))
    (tmp_path / "pipeline.toml").write_text(STREAM)
    process = subprocess.Popen(
        [sys.executable, "-m", "matchwood.cli", "run", "pipeline.toml", "--verbose"],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Python and Java are one group, as in a terminal
    )
    late = Timer(PATIENCE, os.killpg, (process.pid, signal.SIGKILL))
    late.start()
    said = []
    try:
        for line in process.stderr:
            said.append(line)
            if line.startswith("open "):
                address = next(one for one in said if "Spark shows its jobs at" in one).split()[-1]
                page = urlopen(f"{address}/jobs/", timeout=60).read().decode()
            if line.startswith("start "):  # the first micro-batch has begun
                os.killpg(process.pid, signal.SIGINT)
        out = process.stdout.read()
        code = process.wait()
    finally:
        late.cancel()
        process.kill()
        process.stdout.close()
        process.stderr.close()
    err = "".join(said)
    assert code == 130, err
    assert "Traceback" not in err
    assert "\tat " not in err  # of a Java stack trace
    assert "matchwood: kernels" in page or "matchwood: open" in page  # the stages of the run
    assert "matchwood.spark.stream: batch 0: rules " in err  # which only --verbose shows
    assert "interrupted: ending after this micro-batch" in err
    assert "batch 0: 42 events, 62 matches, 2 rejected, " in err
    printed = out.splitlines()
    assert printed[0] == "rules    3 compiled, 0 rejected"
    assert printed[1] == "events   42 read, 2 rejected"
    assert "rejected 1: the line cannot be read: expected an object" in printed
    assert "matches  62 of 2 rules, 1.5 per event" in printed
    assert "warning  rules ask for 'tier' as a number, but events have it as string: " in out
    summary = json.loads((tmp_path / "matches-report" / "summary.json").read_text())
    assert (summary["interrupted"], summary["matches"]) == (True, 62)
