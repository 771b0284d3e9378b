"""PySpark for the commands that run on it: its modules, and a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from matchwood.cli.entry_point import misuse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def spark_module(name: str) -> Any:
    """Import a module that needs PySpark, or say how to install it."""
    from importlib import import_module

    try:
        import pyspark  # noqa: F401
    except ImportError:
        misuse("this needs PySpark: use the platform's, or pip install 'matchwood[spark]'")
    return import_module(name)


@contextmanager
def session(start: Callable[..., SparkSession], *arguments: Any) -> Iterator[SparkSession]:
    """A Spark session for a command; one that the command started ends with it."""
    from pyspark.sql import SparkSession

    was_there = SparkSession.getActiveSession() is not None
    spark = start(*arguments)
    try:
        yield spark
    finally:
        if not was_there:
            spark.stop()
