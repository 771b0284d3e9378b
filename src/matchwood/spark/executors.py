"""Whether executors can run matchwood, asked in seconds and before anything else.

Spark would find out too, but only after minutes of retries and hundreds of lines of logs, in each
of which a task cannot be read because a module is missing.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import matchwood
from matchwood.spark.session import is_connect, is_local, run_this_python

# Tasks of the check on a cluster: enough that every executor of a usual one runs some of them.
TASKS = 32
# The sessions that were checked, by application or, for Spark Connect, by session.
_checked: set[str] = set()
REMEDY = (
    "Install matchwood {version} for that Python, name another one with PYSPARK_PYTHON or "
    "spark.pyspark.python, or send what `matchwood package-env` packs with --archives "
    "(spark.archives)"
)


class UnpreparedExecutors(RuntimeError):
    """Executors cannot run matchwood; says which Python they have and what to do."""


def check_executors(spark: SparkSession) -> None:
    """Raise UnpreparedExecutors if an executor lacks matchwood; asked once per session.

    The workers of a local session run the Python of this process, unless another one is named.
    """
    session = _identity(spark)
    if session in _checked:
        return
    run_this_python(spark)
    if not _runs_this_python(spark):
        _ask(spark)
    _checked.add(session)


def _identity(spark: SparkSession) -> str:
    if is_connect(spark):
        return str(getattr(spark, "session_id", id(spark)))
    return spark.sparkContext.applicationId or ""


def _runs_this_python(spark: SparkSession) -> bool:
    """Whether the workers of a local session run the Python of this process."""
    if not is_local(spark):
        return False
    return os.path.abspath(spark.sparkContext.pythonExec) == os.path.abspath(sys.executable)


def _ask(spark: SparkSession) -> None:
    # A function of Python in its plainest form: the others need Arrow or pandas.
    ask = F.udf(_describing(), "string", useArrow=False)
    tasks = spark.range(0, TASKS, 1, TASKS).select(ask(F.col("id")).alias("told")).distinct()
    driver = f"the driver has matchwood {matchwood.__version__} and Python {_version(sys)}"
    remedy = REMEDY.format(version=matchwood.__version__)
    try:
        told = [json.loads(row.told) for row in tasks.collect()]
    except Exception as error:
        raise UnpreparedExecutors(
            f"executors cannot run Python as matchwood needs it: {_cause(error)}; {driver}. "
            f"{remedy}"
        ) from error
    lacking = [one for one in told if one["reason"] is None and not _same(one)]
    broken = [one for one in told if one["reason"] is not None]
    for one in sorted([*broken, *lacking], key=lambda one: str(one["host"])):
        found = one["reason"] or f"has matchwood {one['matchwood']}"
        raise UnpreparedExecutors(
            f"executors cannot run matchwood: on {one['host']}, {one['python']} (Python "
            f"{one['version']}) {found}; {driver}. {remedy}"
        )


def _same(one: dict[str, Any]) -> bool:
    return bool(one["matchwood"] == matchwood.__version__)


def _version(system: Any) -> str:
    return ".".join(map(str, system.version_info[:3]))


def _cause(error: BaseException) -> str:
    """The line of an error that says what went wrong."""
    lines = [line.strip() for line in str(error).splitlines()]
    telling = ("Cannot run program", "PYTHON_VERSION_MISMATCH", "Error: ", "Exception: ")
    found = (line for sign in telling for line in lines if sign in line)
    return next(found, lines[0] if lines else type(error).__name__).removeprefix("Caused by: ")


def _describing() -> Callable[[int], str]:
    """A function that says what the Python of a worker has.

    It must not refer to anything of matchwood, because it is then sent by value and runs where
    matchwood is missing.
    """

    def describe(_: int) -> str:
        import json
        import socket
        import sys
        from importlib.util import find_spec

        found = {
            "host": socket.gethostname(),
            "python": sys.executable,
            "version": ".".join(map(str, sys.version_info[:3])),
            "matchwood": None,
            "reason": None,
        }
        try:
            import matchwood

            found["matchwood"] = matchwood.__version__
            lacking = [name for name in ("numba", "pyarrow") if find_spec(name) is None]
            if lacking:
                found["reason"] = f"lacks {' and '.join(lacking)}, which it needs"
        except ImportError as error:
            found["reason"] = f"cannot import it: {error}"
        return json.dumps(found, sort_keys=True)

    return describe
