"""The command that runs a pipeline on Spark: run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matchwood.cli.program import AsJson, app, misuse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FAILED = 3


@app.command()
def run(
    pipeline: Annotated[
        Path, typer.Argument(metavar="PIPELINE", help="Where rules, events and matches are: .toml.")
    ],
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if a rule or an event was rejected.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Match a table of rules with a table or stream of events on Spark, as a pipeline file says."""
    from matchwood.spark.pipeline import Pipeline, PipelineError

    try:
        read = Pipeline.read(pipeline)  # a mistake in the file is said before Spark is started
    except PipelineError as error:
        misuse(str(error))
    runs = spark_module("matchwood.spark.run")
    with session(runs.session_for, read) as spark:
        try:
            with Stages() as stages:
                summary = runs.run(read, spark, progress=stages.told)
        except PipelineError as error:
            misuse(str(error))
        except runs.RunError as error:
            print(f"matchwood: {error}", file=sys.stderr)
            raise typer.Exit(FAILED) from None
    print(summary.to_json().rstrip() if as_json else "\n".join(summary.sentences()))
    rejected = summary.rules_rejected + summary.counts.events_rejected
    raise typer.Exit(1 if strict and rejected else 0)


def spark_module(name: str) -> Any:
    """A module that needs PySpark, or a sentence about how to get it."""
    from importlib import import_module

    try:
        import pyspark  # noqa: F401
    except ImportError:
        misuse("this needs PySpark: use the platform's, or pip install 'matchwood[spark]'")
    return import_module(name)


@contextmanager
def session(start: Callable[..., SparkSession], *given: Any) -> Iterator[SparkSession]:
    """A session for a command; one that it has started ends with it."""
    from pyspark.sql import SparkSession

    was_there = SparkSession.getActiveSession() is not None
    spark = start(*given)
    try:
        yield spark
    finally:
        if not was_there:
            spark.stop()


class Stages:
    """The stages of a run on standard error: what is being done, and what was."""

    def __init__(self) -> None:
        self._status: Any = None
        self._begun = 0.0
        self._person = sys.stderr.isatty()

    def __enter__(self) -> Stages:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def told(self, stage: str, done: str | None) -> None:
        self.close()
        if done is not None:
            seconds = f"{perf_counter() - self._begun:.1f} s"
            print(f"{stage:<15}{seconds:>8}  {done}".rstrip(), file=sys.stderr, flush=True)
            return
        self._begun = perf_counter()
        if self._person:
            from rich.console import Console

            self._status = Console(stderr=True).status(f"{stage} …")
            self._status.start()

    def close(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None
