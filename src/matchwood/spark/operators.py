"""Operators on executors: a module that they import, which is looked for before a job starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession

TASKS = 32  # enough that every executor of a usual cluster has one of them
_seen: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()


class MissingOperators(ValueError):
    """Executors cannot import the module with the operators; says why, and what to do."""


def check_operators(spark: SparkSession, module: str | None) -> None:
    """See to it that executors have a module with operators, once a session.

    A MissingOperators where one of them lacks it.
    """
    if module is None:
        return
    known = _seen.setdefault(spark, set())
    if module in known:
        return
    tasks = spark.range(0, TASKS, 1, TASKS)
    found = tasks.mapInArrow(_looking(module), "host string, reason string").distinct().collect()
    lacking = {row.host: row.reason for row in found if row.reason is not None}
    if lacking:
        host, reason = sorted(lacking.items())[0]
        raise MissingOperators(
            f"operators: {len(lacking)} of {len({row.host for row in found})} hosts cannot load "
            f"{module!r}; {host}: {reason}. Install it where executors run, or send it with "
            "addPyFile or --py-files"
        )
    known.add(module)


def _looking(module: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A task that tries to load the operators, and says what came of it."""

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
