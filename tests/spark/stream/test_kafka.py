"""Kafka to Kafka through a real broker: a pipeline that is killed, and whose rules change."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from threading import Timer

import pytest

from plain_environment import without_connect
from spark.spark_session import connectors
from spark.stream.kafka_broker import KafkaBroker
from spark.stream.stream_folders import FIRST, SECOND, right

pytestmark = [
    pytest.mark.spark,
    pytest.mark.connectors,
    pytest.mark.parametrize("spark", ["classic"], indirect=True),
]
# Seconds after which a run that does not end is killed.
PATIENCE = 300
VISITS = [{"key": key, "age": key % 40, "city": ("Rome", "Oslo")[key % 2]} for key in range(500)]
PIPELINE = """
[rules]
path = "{folder}/rules.jsonl"

[events]
format = "kafka"
value = "json"
select = ["value", "cast(key as string) as visit_id"]
keep = ["visit_id"]
[events.options]
"kafka.bootstrap.servers" = "{broker}"
subscribe = "visits"
startingOffsets = "earliest"
maxOffsetsPerTrigger = 100

[matches]
format = "kafka"
options = {{ "kafka.bootstrap.servers" = "{broker}", topic = "matches" }}
key = "visit_id"
headers = ["rules_version"]

[rejects]
format = "kafka"
options = {{ "kafka.bootstrap.servers" = "{broker}", topic = "rejects" }}

[job]
mode = "stream"
trigger = "availableNow"
checkpoint = "{folder}/checkpoint"
"""


@pytest.fixture
def broker(spark, tmp_path):
    folder = tmp_path / "kafka"
    folder.mkdir()
    with KafkaBroker(Path(os.environ["CONNECTORS"], "broker"), folder) as running:
        yield running


class PipelineProcess:
    """A pipeline in a process of its own, as people start it."""

    def __init__(self, folder, broker, faulty):
        self.folder = folder
        self.file = folder / "pipeline.toml"
        settings = connectors(folder, faulty) | {
            "spark.master": "local[2]",
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
        }
        written = [f"{json.dumps(name)} = {json.dumps(value)}" for name, value in settings.items()]
        text = PIPELINE.format(folder=folder, broker=broker.address)
        self.file.write_text("\n".join([text, "[spark]", *written]))

    def run(self, until=None):
        """Run it to its end, or kill it when a line begins with a text; returns its lines."""
        process = subprocess.Popen(
            [sys.executable, "-m", "matchwood.spark.job", str(self.file)],
            env=without_connect() | {"TMPDIR": str(self.folder)},
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Python and Java are one group, which is killed at once
        )
        late = Timer(PATIENCE, os.killpg, (process.pid, signal.SIGKILL))
        late.start()
        lines = []
        try:
            for line in process.stderr:
                lines.append(line)
                if until is not None and line.startswith(until):
                    os.killpg(process.pid, signal.SIGKILL)
                    return lines
        finally:
            late.cancel()
            process.stderr.close()
            ended = process.wait()
        assert (until, ended) == (None, 0), "".join(lines)
        return lines


def write_rules(folder, rules):
    lines = [json.dumps({"id": id, "rule": rule}) for id, rule in rules.items()]
    (folder / "rules.jsonl").write_text("\n".join(lines))


@pytest.mark.parametrize("faulty", [False, True])
def test_killed_between_kafka_and_kafka(spark, broker, tmp_path, faulty):
    """With the connector of this Spark, and with one whose streams die when they go on."""
    if faulty and not Path(os.environ["CONNECTORS"], "faulty").exists():
        pytest.skip("the connectors of this Spark have no such mistake")
    messages = [(str(visit["key"]), json.dumps(visit)) for visit in VISITS]
    broker.write(spark, "visits", [*messages[:450], ("broken", "{")])
    write_rules(tmp_path, FIRST)
    pipeline = PipelineProcess(tmp_path, broker, faulty)
    pipeline.run(until="batch 1:")
    write_rules(tmp_path, SECOND)
    broker.write(spark, "visits", messages[450:])
    told = pipeline.run()
    assert any("SPARK-55271" in line for line in told) == faulty, "".join(told)
    assert any(re.match(r"batch .* [\d,]+ offsets behind$", line) for line in told), "".join(told)
    found, versions = {}, {}
    for message in broker.read(spark, "matches"):
        row = json.loads(message.value)
        assert bytes(message.key) == row["visit_id"].encode()
        headers = {header.key: bytes(header.value).decode() for header in message.headers}
        assert headers == {"rules_version": row["rules_version"]}
        found.setdefault(row["visit_id"], set()).add((row["batch"], row["rule_id"]))
        versions.setdefault(row["batch"], set()).add(row["rules_version"])
    # A micro-batch may be there twice, but it is the same both times.
    assert all(len(version) == 1 for version in versions.values())
    first = next(iter(versions[0]))
    by_rules = {True: set(), False: set()}
    for visit, pairs in found.items():
        (batch,) = {batch for batch, _ in pairs}
        mine = next(iter(versions[batch])) == first
        by_rules[mine] |= {(int(visit), rule) for _, rule in pairs}
    firsts = {key for key, _ in by_rules[True]}
    seconds = {key for key, _ in by_rules[False]}
    assert not firsts & seconds
    assert len(seconds) >= 200, "the rules changed too late"
    assert by_rules[False] == {(key, rule) for key, rule in right(SECOND, VISITS) if key in seconds}
    missing = [visit for visit in VISITS if visit["key"] not in seconds]
    assert by_rules[True] == right(FIRST, missing)
    assert firsts
    rejects = [json.loads(message.value) for message in broker.read(spark, "rejects")]
    assert {row["visit_id"] for row in rejects} == {"broken"}
    assert all(row["reason"].startswith("not JSON") for row in rejects)
