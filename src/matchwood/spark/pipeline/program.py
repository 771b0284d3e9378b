"""The program that spark-submit starts: a pipeline file in, a log and a summary out."""

from __future__ import annotations

import sys

from matchwood.spark.pipeline.pipeline_file import PipelineError
from matchwood.spark.pipeline.pipeline_run import INTERRUPTED, RunError, run


def main(arguments: list[str] | None = None) -> int:
    """`python -m matchwood.spark.job pipeline.toml`, and what spark-submit runs."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if len(arguments) != 1:
        print("usage: job pipeline.toml", file=sys.stderr)
        return 2
    try:
        summary = run(arguments[0], progress=log_line, told=_log)
    except PipelineError as error:
        _log(f"matchwood: {error}")
        return 2
    except RunError as error:
        _log(f"matchwood: {error}")
        return 3
    except KeyboardInterrupt:
        _log("matchwood: interrupted")
        return INTERRUPTED
    print("\n".join(summary.sentences()))
    return INTERRUPTED if summary.interrupted else 0


def log_line(stage: str, done: str | None) -> None:
    """Print progress as lines of a log."""
    if done is not None:
        _log(f"{stage}: {done}" if done else f"{stage}: done")


def _log(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
