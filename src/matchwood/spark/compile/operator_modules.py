"""Operators on executors: whether they can import the module, checked before a job starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession

# Tasks of the check: enough that every executor of a usual cluster runs one of them.
TASKS = 32
# The modules that each session has checked.
_checked: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()


class MissingOperators(ValueError):
    """Executors cannot import the module with the operators; says why and what to do."""


def check_operators(spark: SparkSession, module: str | None) -> None:
    """Raise MissingOperators if an executor cannot import a module; asked once per session."""
    if module is None:
        return
    known = _checked.setdefault(spark, set())
    if module in known:
        return
    tasks = spark.range(0, TASKS, 1, TASKS)
    rows = tasks.mapInArrow(_importing(module), "host string, reason string").distinct().collect()
    lacking = {row.host: row.reason for row in rows if row.reason is not None}
    if lacking:
        host, reason = sorted(lacking.items())[0]
        raise MissingOperators(
            f"operators: {len(lacking)} of {len({row.host for row in rows})} hosts cannot load "
            f"{module!r}; {host}: {reason}. Install it where executors run, or send it with "
            "addPyFile or --py-files"
        )
    known.add(module)


def _importing(module: str) -> Callable[[Any], Iterator[Any]]:
    """A task that tries to import the operators and reports why it could not."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import socket

        import pyarrow as pa

        for _ in batches:
            reason = None
            try:
                from matchwood.operators import load

                load(module)
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
            columns = {"host": [socket.gethostname()], "reason": pa.array([reason], pa.string())}
            yield pa.RecordBatch.from_pydict(columns)

    return run
