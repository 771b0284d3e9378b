"""On a cluster of processes nothing depends on the driver's paths, and an executor may die."""

import json
import signal
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from matcher.expected import expected
from spark.cases import RIGHT
from spark.cluster import Cluster, Driver, wait

pytestmark = [pytest.mark.spark, pytest.mark.long]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    pytest.importorskip("pyspark")
    with Cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


FIRST = {"adults": "age >= 18", "romans": "city = 'Rome'"}
SECOND = {"adults": "age >= 21", "all": "key >= 0"}


def test_stream(cluster, tmp_path):
    """Before the others, whose application holds all cores of the cluster."""
    folder = tmp_path / "stream"
    people = [{"key": n, "age": n % 40, "city": ("Rome", "Oslo")[n % 2]} for n in range(300)]
    (folder / "events").mkdir(parents=True)
    for name, rules in (("first", FIRST), ("second", SECOND)):
        (folder / name).mkdir()
        lines = [json.dumps({"id": rule_id, "rule": rule}) for rule_id, rule in rules.items()]
        (folder / name / "rules.json").write_text("\n".join(lines))
    for number, name in enumerate(("first-0", "first-1", "second-0")):
        some = people[100 * number : 100 * (number + 1)]
        (folder / "events" / f"{name}.json").write_text("\n".join(map(json.dumps, some)))
    with Driver(cluster, tmp_path, "stream") as running:
        rows = running.result(folder)
        running.finish()
    right = expected(FIRST, people[:200])
    right |= {(200 + place, rule) for place, rule in expected(SECOND, people[200:])}
    assert pairs(row[2:] for row in rows) == right
    versions = {batch: version for batch, version, _, _ in rows}
    assert len({tuple(row[:2]) for row in rows}) == len(versions) == 3
    assert len(set(versions.values())) == 2


@pytest.fixture(scope="module")
def driver(cluster, tmp_path_factory):
    """One application for all jobs but streams: its driver and executors take long to start."""
    shared = tmp_path_factory.mktemp("shared")
    (shared / "batch").mkdir()
    (shared / "killed" / "begun").mkdir(parents=True)
    (shared / "killed" / "rules.json").write_text(json.dumps(RANGES))
    with Driver(cluster, shared, "batch", "killed") as running:
        running.shared = shared
        yield running


RANGES = [(n, f"age between {n} and {n + 9} and city != {n % 7}") for n in range(0, 97, 3)]


def pairs(rows):
    found = Counter(tuple(row) for row in rows)
    assert max(found.values()) == 1, "a match is there twice"
    return set(found)


def test_batch(cluster, driver):
    told = driver.result(driver.shared / "batch")
    for way, rows in told["found"].items():
        assert pairs(rows) == RIGHT, way
    assert len(told["found"]) == 4
    assert len(set(told["versions"])) == 1
    # The tasks ran below both workers, and kept their files there.
    assert len(told["executors"]) == 2
    of_workers = {str(cluster.folder / f"worker-{number}") for number in range(2)}
    for folders in told["executors"]:
        below = {
            worker for worker in of_workers for one in folders if Path(one).is_relative_to(worker)
        }
        assert len(below) == 1, folders
        of_workers -= below
    assert all("driver-batch" in one for one in told["driver"])


def test_an_executor_is_killed(cluster, driver):
    """After it has matched some events of its task, and has files that others need."""
    folder = driver.shared / "killed"
    begun = folder / "begun"
    # One core each: two tasks that have begun are one on each executor.
    assert wait(lambda: len(list(begun.iterdir())) == 2), driver.log.read_text()[-3000:]
    first, _ = cluster.executors()
    first.send_signal(signal.SIGKILL)
    first.wait(10)
    (folder / "go").touch()
    version = driver.result(folder)
    ran = Counter(path.name.split("-")[1] for path in begun.iterdir())
    assert max(ran.values()) > 1, "no task was run again"
    table = pq.read_table(folder / "matches")
    assert set(table["rules_version"].to_pylist()) == {version}
    kinds = [{"age": age, "city": city} for age in range(97) for city in range(7)]
    by_kind = {}
    for place, rule in expected(dict(RANGES), kinds):
        by_kind.setdefault(divmod(place, 7), []).append(rule)
    right = {(k, r) for k in range(48_000) for r in by_kind.get((k % 97, k % 7), ())}
    columns = (table[name].to_pylist() for name in ("key", "rule_id"))
    assert pairs(zip(*columns, strict=True)) == right
