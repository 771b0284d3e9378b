"""The command that runs a pipeline on Spark: run."""

from __future__ import annotations

import sys
from pathlib import Path
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
    started = not has_session()
    with Stages() as stages:
        try:
            spark = runs.session_for(read)
            summary = runs.run(read, spark, progress=stages.told)
        except PipelineError as error:
            stages.close()
            misuse(str(error))
        except runs.RunError as error:
            stages.close()
            print(f"matchwood: {error}", file=sys.stderr)
            raise typer.Exit(FAILED) from None
        finally:
            if started:
                stop(locals().get("spark"))
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


def has_session() -> bool:
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession() is not None


def stop(spark: SparkSession | None) -> None:
    """End the session that a command has started."""
    if spark is not None:
        spark.stop()


class Stages:
    """The stages of a run on standard error: what is being done, and what was."""

    def __init__(self) -> None:
        self._status: Any = None
        self._person = sys.stderr.isatty()

    def __enter__(self) -> Stages:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def told(self, stage: str, done: str | None) -> None:
        self.close()
        if done is not None:
            print(f"{stage:<16}{done}".rstrip(), file=sys.stderr, flush=True)
        elif self._person:
            from rich.console import Console

            self._status = Console(stderr=True).status(f"{stage} …")
            self._status.start()

    def close(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None
