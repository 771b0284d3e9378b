"""Sessions, classic and Connect, and files that travel with them."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame, SparkSession

_shipped: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()
_served: dict[str, set[str]] = {}  # of classic sessions, by what they are in the JVM


def is_connect(spark: SparkSession) -> bool:
    """Whether a session talks to a Connect server: no SparkContext, RDD or JVM to reach."""
    return ".connect." in type(spark).__module__


def session_of(frame: DataFrame) -> SparkSession:
    """The session that a DataFrame belongs to."""
    return frame.sparkSession


def version_of(spark: SparkSession) -> tuple[int, int]:
    """(4, 3) of Spark 4.3.0: what the server is, whatever the client."""
    major, minor, *_ = spark.version.split(".")
    return int(major), int(minor)


def local_session(
    cores: int | str = "*", settings: Mapping[str, str] | None = None
) -> SparkSession:
    """A local session where none exists; one that exists is used as it is."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("matchwood").master(f"local[{cores}]")
    builder = builder.config("spark.ui.enabled", "false")
    for name, value in (settings or {}).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def ship(spark: SparkSession, file: str | os.PathLike[str]) -> str:
    """Send a file to every executor, once a session; the name to ask SparkFiles for.

    A name stands for one content for ever: it cannot be used again for another.
    """
    path = Path(file)
    known = _known(spark)
    if path.name in known:
        return path.name
    if is_connect(spark):
        spark.addArtifacts(str(path), file=True)  # uploads it
    elif version_of(spark) >= (4, 0):
        spark.addArtifacts(str(_lasting(path)), file=True)
    else:
        spark.sparkContext.addFile(str(_lasting(path)))
    known.add(path.name)
    return path.name


def _known(spark: SparkSession) -> set[str]:
    """The names that a session has; a stream sees a new object of its session each micro-batch."""
    if is_connect(spark):
        return _shipped.setdefault(spark, set())
    if version_of(spark) >= (4, 0):
        return _served.setdefault(str(spark._jsparkSession.sessionUUID()), set())
    return _served.setdefault(spark.sparkContext.applicationId or "", set())  # of all its sessions


def _lasting(path: Path) -> Path:
    """The same file at a place that lasts as long as the process.

    Executors of a classic session fetch it from the driver when they first need it, and an
    executor that starts later does too.
    """
    place = Path(_lasting_folder(), path.name)
    if not place.exists():
        try:
            os.link(path, place)
        except OSError:
            shutil.copyfile(path, place)
    return place


_folder: str | None = None


def _lasting_folder() -> str:
    global _folder
    if _folder is None:
        _folder = tempfile.mkdtemp(prefix="matchwood-")
        atexit.register(shutil.rmtree, _folder, ignore_errors=True)
    return _folder
