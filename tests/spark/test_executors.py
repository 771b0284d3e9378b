"""Executors that cannot run matchwood are found at once, with what they have and what to do."""

import subprocess
import sys
import time

import pytest

pytest.importorskip("pyspark")

from matchwood.spark import compile_rules, executors
from matchwood.spark.executors import UnpreparedExecutors, check_executors

pytestmark = [
    pytest.mark.spark,
    pytest.mark.parametrize("spark", ["classic"], indirect=True),
]


@pytest.fixture
def unchecked(monkeypatch):
    monkeypatch.setattr(executors, "_checked", set())


def test_a_python_without_matchwood(spark, unchecked, monkeypatch, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    bare = str(tmp_path / "bare" / "bin" / "python")
    monkeypatch.setattr(spark.sparkContext, "pythonExec", bare)
    rules = spark.createDataFrame([("a", "age > 1")], "id string, rule string")
    begun = time.monotonic()
    with pytest.raises(UnpreparedExecutors) as error:
        compile_rules(rules)
    assert time.monotonic() - begun < 60
    version = ".".join(map(str, sys.version_info[:3]))
    assert f"{bare} (Python {version})" in str(error.value)
    assert "PYSPARK_PYTHON" in str(error.value)
    assert "--archives" in str(error.value)


def test_no_python_at_all(spark, unchecked, monkeypatch):
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/nowhere/python")
    with pytest.raises(UnpreparedExecutors, match=r"Cannot run program.*/nowhere/python"):
        check_executors(spark)


def test_another_version(spark, unchecked, monkeypatch):
    monkeypatch.setattr(executors, "_runs_this_python", lambda spark: False)
    check_executors(spark)
    monkeypatch.setattr(executors, "_checked", set())
    monkeypatch.setattr("matchwood.__version__", "99.0")
    with pytest.raises(UnpreparedExecutors, match=r"the driver has matchwood 99\.0"):
        check_executors(spark)
