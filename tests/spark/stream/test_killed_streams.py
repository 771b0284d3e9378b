"""A stream that is killed anywhere and started again neither loses nor repeats a match."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Timer

import pytest

from matchwood.spark.stream.durable_log import DurableLog
from spark.spark_session import needs_iceberg
from spark.stream.stream_folders import (
    FIRST,
    PEOPLE,
    SECOND,
    StreamFolders,
    pairs,
    right,
    versions_of,
)

pytestmark = pytest.mark.spark
PROCESS = Path(__file__).parent / "stream_process.py"
THIRD = {"teens": "age between 13 and 19", "all": "true"}
# Seconds after which a stream that does not reach its point is killed.
PATIENCE = 300


def run(kind, folder, point="", *sink):
    """Start the stream in a process, and kill it when it has reached the point."""
    mine = ("SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_CONNECT", "PYSPARK_REMOTE")
    environment = {name: it for name, it in os.environ.items() if not name.startswith(mine)}
    rest = Path(folder, "rest")  # what is killed does not clean up
    rest.mkdir(exist_ok=True)
    environment |= {"TMPDIR": str(rest), "SPARK_LOCAL_DIRS": str(rest)}
    process = subprocess.Popen(
        [sys.executable, str(PROCESS), kind, str(folder), point, *sink],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
        start_new_session=True,  # Python and Java are one group, which is killed at once
    )
    late = Timer(PATIENCE, os.killpg, (process.pid, signal.SIGKILL))
    late.start()
    try:
        said = process.stdout.readline().strip()
    finally:
        late.cancel()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
    assert said == ("reached" if point else "done")


@pytest.fixture
def place(spark, tmp_path):
    made = StreamFolders(spark, tmp_path)
    made.set_rules(FIRST)
    for low in range(0, 60, 15):
        made.add(*PEOPLE[low : low + 15])
    return made


def complete(place):
    return max((row.batch for row in place.rows()), default=None)


@pytest.mark.parametrize("spark", ["classic"], indirect=True)
def test_killed_between_and_inside_micro_batches(place, pytestconfig):
    """Every start takes seconds, so only one of the five moments is tried without `--long`."""
    folder = place.folder
    every = pytestconfig.getoption("--long")
    if every:
        run("classic", folder, "batch 1: rules")  # the version is in the checkpoint
        place.set_rules(SECOND)  # which is used, although the rules change
        assert complete(place) == 0
        run("classic", folder, "batch 1: written")
        assert (folder / "sink" / "batch=1" / "_SUCCESS").exists()
        assert complete(place) == 0
    run("classic", folder, "batch 1: committed")  # by the sink, and not by Spark
    place.set_rules(SECOND)
    assert complete(place) == 1
    assert not (folder / "checkpoint" / "commits" / "1").exists()
    if every:
        run("classic", folder, "file checkpoint/matchwood/rules/1/pieces")  # rules are compiled
        assert complete(place) == 1
        run("classic", folder, "file checkpoint/commits/2")  # between micro-batches
        assert complete(place) in (2, 3)
        place.set_rules(THIRD)
    place.run()  # in the session of the test, which runs already
    rows = place.rows()
    assert set(versions_of(rows)) == {0, 1, 2, 3}
    assert all(len(found) == 1 for found in versions_of(rows).values())
    expect = right(FIRST, PEOPLE[:30])
    if every:
        expect |= right(SECOND, PEOPLE[30:45]) | right(THIRD, PEOPLE[45:])
    else:
        expect |= right(SECOND, PEOPLE[30:])
    assert pairs(rows) == expect


@pytest.mark.long
@pytest.mark.parametrize("spark", ["connect"], indirect=True)
def test_killed_with_its_server(place):
    run("connect", place.folder, "file sink/batch=1/_temporary")  # tasks are writing
    place.set_rules(SECOND)
    assert complete(place) in (0, 1, 2)
    note = DurableLog(f"{place.checkpoint}/matchwood/versions").newest(place.spark)
    run("connect", place.folder)
    rows = place.rows()
    cut = 15 * (note["number"] + 1)  # micro-batches whose version was in the checkpoint
    assert cut >= 30
    assert pairs(rows) == right(FIRST, PEOPLE[:cut]) | right(SECOND, PEOPLE[cut:])


@pytest.mark.connectors
@pytest.mark.parametrize("spark", ["classic"], indirect=True)
@pytest.mark.parametrize("form", ["delta", "iceberg"])
def test_tables_have_each_match_once(place, form):
    """The table has committed a micro-batch, and Spark has not."""
    folder = place.folder
    if form == "delta":
        where, sink = f"{folder}/lake", {"format": "delta", "path": f"{folder}/lake"}
    else:
        needs_iceberg(place.spark)
        where, sink = f"{folder}/warehouse/ice/lake", {"table": "ice.lake", "path": None}
    run("classic", folder, "batch 1: committed", json.dumps(sink))
    assert not (folder / "checkpoint" / "commits" / "1").exists()
    before = place.spark.read.format(form).load(where).collect()
    assert {row.batch for row in before} == {0, 1}
    place.set_rules(SECOND)
    run("classic", folder, "", json.dumps(sink))
    rows = place.spark.read.format(form).load(where).collect()
    assert pairs(rows) == right(FIRST, PEOPLE[:30]) | right(SECOND, PEOPLE[30:])
    assert all(len(found) == 1 for found in versions_of(rows).values())
