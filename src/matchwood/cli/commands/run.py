"""`matchwood run`: run a pipeline file on Spark."""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from matchwood.cli.arguments import AsJson
from matchwood.cli.entry_point import app, misuse
from matchwood.cli.spark_session import session, spark_module

# The exit code if a run fails on Spark.
FAILED = 3


@app.command()
def run(
    pipeline: Annotated[Path, typer.Argument(metavar="PIPELINE", help="A pipeline file: .toml.")],
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if a rule or an event was rejected.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show also what matchwood and Spark log.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a pipeline file on Spark.

    The file names a table of rules, a table or stream of events, and where matches go.
    """
    from matchwood.spark.pipeline.pipeline_file import Pipeline, PipelineError

    try:
        read = Pipeline.read(pipeline)  # so that mistakes in the file are found before Spark starts
    except PipelineError as error:
        misuse(str(error))
    runs = spark_module("matchwood.spark.pipeline.pipeline_run")
    try:
        summary = _run(runs, read, verbose)
    except KeyboardInterrupt:
        print("matchwood: interrupted", file=sys.stderr)
        raise typer.Exit(runs.INTERRUPTED) from None
    print(summary.to_json().rstrip() if as_json else "\n".join(summary.sentences()))
    if summary.interrupted:
        raise typer.Exit(runs.INTERRUPTED)
    rejected = summary.rules_rejected + (summary.counts.events_rejected or 0)
    raise typer.Exit(1 if strict and rejected else 0)


def _run(runs: Any, read: Any, verbose: bool) -> Any:
    """The summary of a run; mistakes in the file are misuse."""
    from matchwood.spark.pipeline.pipeline_file import PipelineError

    with session(runs.session_for, read) as spark:
        if verbose:
            log_everything(spark)
        try:
            with Stages() as stages:
                summary = runs.run(read, spark, progress=stages.report, told=stages.tell)
        except PipelineError as error:
            misuse(str(error))
        except runs.RunError as error:
            print(f"matchwood: {error}", file=sys.stderr)
            raise typer.Exit(FAILED) from None
    return summary


def log_everything(spark: Any) -> None:
    """Let matchwood log what it does, and Spark its warnings, on standard error."""
    import logging

    from matchwood.spark.session import is_connect

    logging.basicConfig(format="%(asctime)s %(name)s: %(message)s")
    logging.getLogger("matchwood").setLevel(logging.INFO)
    if not is_connect(spark):
        spark.sparkContext.setLogLevel("WARN")


class Stages:
    """Shows the stages of a run on standard error, those that are done and the present one."""

    def __init__(self) -> None:
        self._status: Any = None
        self._begun = 0.0
        self._person = sys.stderr.isatty()

    def __enter__(self) -> Stages:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def report(self, stage: str, done: str | None) -> None:
        """Show that a stage begins, or what it did once it is done."""
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

    def tell(self, line: str) -> None:
        """Print a line about what the present stage does."""
        if self._status is not None:
            self._status.console.print(line, markup=False, highlight=False)
        else:
            print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None
