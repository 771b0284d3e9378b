"""Sessions, classic or of Spark Connect, and the files that are shipped to their executors."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame, SparkSession

# Settings of every session that is started here, unless the caller sets them. A server of Spark
# Connect that runs already has its own, and warns of each that cannot be changed.
DEFAULT_SETTINGS = {"spark.ui.showConsoleProgress": "false"}
# Settings that say where Spark is.
LOCATION_SETTINGS = {"spark.master", "spark.remote"}
# Variables of the environment that say where Spark is; spark-submit sets the first one.
LOCATION_VARIABLES = {"PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "MASTER"}

# The names of the files that each session of Spark Connect has been sent.
_sent: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()
# The names of the files that each classic session serves, by the identity of the session in Java.
_served: dict[str, set[str]] = {}


def is_connect(spark: SparkSession) -> bool:
    """Whether a session is of Spark Connect, and so has no SparkContext, RDD or JVM."""
    return ".connect." in type(spark).__module__


def is_local(spark: SparkSession) -> bool:
    """Whether the executors of a classic session are threads of the driver."""
    return not is_connect(spark) and re.match(r"local(\[|$)", _master(spark)) is not None


def _master(spark: SparkSession) -> str:
    return spark.sparkContext.master or ""


def session_of(frame: DataFrame) -> SparkSession:
    """The session that a DataFrame belongs to."""
    return frame.sparkSession


def version_of(spark: SparkSession) -> tuple[int, int]:
    """The version of the server, such as (4, 3) for Spark 4.3.0, whatever the client is."""
    major, minor, *_ = spark.version.split(".")
    return int(major), int(minor)


def local_session(
    cores: int | str = "*", settings: Mapping[str, str] | None = None
) -> SparkSession:
    """The active session as it is, or a new local one."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    chosen = {"spark.ui.enabled": "false", **(settings or {}), "spark.master": f"local[{cores}]"}
    return _started({"spark.app.name": "matchwood", **chosen})


def session_for_work(settings: Mapping[str, str] | None = None) -> SparkSession:
    """The active session, or that of spark-submit or a Connect server, or a new local one."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    chosen = {**_defaults(settings or {}), **(settings or {})}
    if LOCATION_SETTINGS & set(chosen) or LOCATION_VARIABLES & set(os.environ):
        spark = _started(chosen)
    else:
        spark = local_session(settings=chosen)
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # whose configuration of logs stays
    if not submitted and is_local(spark):
        spark.sparkContext.setLogLevel(chosen.get("spark.log.level", "ERROR"))
    return spark


def _defaults(settings: Mapping[str, str]) -> Mapping[str, str]:
    """The settings that nobody has to give.

    >>> _defaults({"spark.remote": "sc://server:15002"})
    {}
    """
    remote = settings.get("spark.remote", os.environ.get("SPARK_REMOTE", ""))
    return {} if remote.startswith("sc://") else DEFAULT_SETTINGS


def _started(settings: Mapping[str, str]) -> SparkSession:
    """A new session, whose workers run the Python that they should."""
    _choose_python(settings)
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _choose_python(settings: Mapping[str, str]) -> None:
    """Let the workers of a local session run this Python, unless another one is named.

    Else Spark starts the `python3` of the PATH, which has no matchwood unless its environment
    happens to be activated. On a cluster the path of this Python may mean nothing, so Spark's own
    choice stays there; `executors` checks it.
    """
    named = settings.get("spark.pyspark.python")
    if named is not None:  # which Spark itself heeds only if spark-submit is told
        os.environ["PYSPARK_PYTHON"] = named
        return
    places = [settings.get(name) for name in ("spark.remote", "spark.master")]
    places += [os.environ.get(name) for name in ("SPARK_REMOTE", "MASTER")]
    place = next((place for place in places if place), "")
    if place.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


@contextmanager
def described(spark: SparkSession, text: str, group: str | None = None) -> Iterator[None]:
    """Say what the jobs that start meanwhile are for, where Spark lists them, and of what group.

    Without a group they are of the one that they would be of anyway. Spark Connect lists no jobs.
    """
    if is_connect(spark):
        yield
        return
    told = {"spark.job.description": text} | ({} if group is None else {"spark.jobGroup.id": group})
    context: Any = spark.sparkContext
    before = {name: context.getLocalProperty(name) for name in told}
    try:
        for name, value in told.items():
            context.setLocalProperty(name, value)
        yield
    finally:
        for name, value in before.items():
            context.setLocalProperty(name, value)


def run_this_python(spark: SparkSession) -> None:
    """Let the workers of a local session run this Python too, unless another one is named.

    It is for sessions that were started elsewhere: spark-submit with PYSPARK_DRIVER_PYTHON alone,
    or a program of its own.
    """
    if is_local(spark) and "PYSPARK_PYTHON" not in os.environ:
        context: Any = spark.sparkContext
        if context.getConf().get("spark.pyspark.python") is None:
            context.pythonExec = sys.executable


def ship(spark: SparkSession, file: str | os.PathLike[str]) -> str:
    """Send a file to every executor, once per session; returns the name to ask SparkFiles for.

    A name always stands for the same content: it cannot be used again for another file.
    """
    path = Path(file)
    known = _names_of(spark)
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


def is_shipped(spark: SparkSession, name: str) -> bool:
    """Whether a file with this name was sent to the executors of a session."""
    return name in _names_of(spark)


def _names_of(spark: SparkSession) -> set[str]:
    """The names of the files that a session has.

    Each micro-batch of a stream sees its session as a new Python object, so classic sessions are
    told apart by their identity in Java.
    """
    if is_connect(spark):
        return _sent.setdefault(spark, set())
    if version_of(spark) >= (4, 0):
        return _served.setdefault(str(spark._jsparkSession.sessionUUID()), set())
    # In Spark 3 all sessions of an application share their files.
    return _served.setdefault(spark.sparkContext.applicationId or "", set())


def _lasting(path: Path) -> Path:
    """The same file in a folder that lasts as long as the process.

    Executors of a classic session fetch a file from the driver when they first need it, which may
    be much later: an executor that starts later fetches it too.
    """
    lasting = Path(_lasting_folder(), path.name)
    if not lasting.exists():
        try:
            os.link(path, lasting)
        except OSError:
            shutil.copyfile(path, lasting)
    return lasting


_folder: str | None = None


def _lasting_folder() -> str:
    global _folder
    if _folder is None:
        _folder = tempfile.mkdtemp(prefix="matchwood-")
        atexit.register(shutil.rmtree, _folder, ignore_errors=True)
    return _folder
