"""A server of Spark Connect whose Python process is slow to start, as on a busy machine."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from spark.stream.stream_folders import FIRST, PEOPLE, StreamFolders, pairs, right

pytestmark = [pytest.mark.spark, pytest.mark.long]
PROCESS = Path(__file__).parent / "stream_process.py"
# Runs Python, and the process of `foreachBatch` later than Spark waits for it, but only once.
SLOW_PYTHON = """#!/bin/bash
if [[ "$*" == *foreach_batch_worker* ]] && mkdir "{folder}/started" 2>/dev/null; then
    sleep 13
fi
exec "{python}" "$@"
"""


@pytest.mark.parametrize("spark", ["classic"], indirect=True)
def test_a_slow_process_is_started_again(spark, tmp_path):
    place = StreamFolders(spark, tmp_path)
    place.set_rules(FIRST)
    place.add(*PEOPLE)
    slow = tmp_path / "slow python"
    slow.write_text(SLOW_PYTHON.format(folder=tmp_path, python=sys.executable))
    slow.chmod(0o755)
    ended = subprocess.run(
        [sys.executable, str(PROCESS), "connect", str(tmp_path), ""],
        env=os.environ | {"PYSPARK_PYTHON": str(slow)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "done" in ended.stdout, ended.stderr[-2000:]
    assert (tmp_path / "started").exists()
    assert pairs(place.rows()) == right(FIRST, PEOPLE)
