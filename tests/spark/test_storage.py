"""What Kafka is sent of rows: tested without a broker, by the frame that is written."""

import json

import pytest

pytest.importorskip("pyspark")

from matchwood.spark.endpoints import Sink
from matchwood.spark.storage import exists, messages, was_stopped

pytestmark = pytest.mark.spark


def test_messages_have_a_key_and_headers(spark):
    columns = "key binary, value binary, visit int, rule_id string, rules_version string"
    rows = [(b"k1", b"\x00\xff", 7, "adults", "v1"), (None, None, None, "adults", "v1")]
    frame = spark.createDataFrame(rows, columns)
    sent = messages(frame, Sink(format="kafka")).collect()
    assert [bytes(row.key) if row.key else None for row in sent] == [b"k1", None]
    # Nothing of the row is lost, even if it has a column that Kafka gives a meaning to.
    assert json.loads(sent[0].value) == {
        **{"key": "k1", "value": "AP8=", "visit": 7},
        **{"rule_id": "adults", "rules_version": "v1"},
    }
    sink = Sink(format="kafka", key="visit", headers=("rules_version", "key"))
    sent = messages(frame, sink).collect()
    assert bytes(sent[0].key) == b"7"
    assert [(header.key, bytes(header.value)) for header in sent[0].headers] == [
        ("rules_version", b"v1"),
        ("key", b"k1"),
    ]
    assert json.loads(sent[0].value)["key"] == "k1"  # and not base 64, whatever the key is now


def test_a_time_out_of_a_store_is_no_stop():
    assert was_stopped(Exception("[SPARK_JOB_CANCELLED] Job 3 cancelled"))
    assert was_stopped(Exception("java.nio.channels.ClosedByInterruptException"))
    interrupted = "java.io.InterruptedIOException\n  Caused by: java.lang.InterruptedException"
    assert was_stopped(Exception(interrupted))
    assert was_stopped(Exception("java.io.InterruptedIOException: Interrupted while waiting"))
    for said in ("connect timed out", "timeout", "rules: Read Timeout", "time-out of 5 s"):
        assert not was_stopped(Exception(f"java.io.InterruptedIOException: {said}"))


def test_whether_a_path_exists(spark, tmp_path):
    assert exists(spark, str(tmp_path))
    assert exists(spark, f"file://{tmp_path}")
    assert not exists(spark, str(tmp_path / "none"))
