"""The command that makes workloads on Spark: generate."""

from __future__ import annotations

import re
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from matchwood.cli.program import AsJson, app, misuse, print_json
from matchwood.cli.running import session, spark_module

WORKLOADS = ("audiences", "abe-gen")
FORMATS = ("parquet", "json", "csv")


@app.command()
def generate(
    workload: Annotated[str, typer.Argument(metavar="WORKLOAD", help="audiences or abe-gen.")],
    out: Annotated[str, typer.Option(metavar="DIR", help="The folder that the tables go to.")],
    rules: Annotated[int, typer.Option(min=1, metavar="N", help="Rules to make.")] = 100_000,
    events: Annotated[int, typer.Option(min=0, metavar="N", help="Events to make.")] = 200_000,
    kind: Annotated[
        str, typer.Option("--format", metavar="NAME", help="parquet, json or csv.")
    ] = "parquet",
    seed: Annotated[int, typer.Option(min=0, help="Another seed, other rules and events.")] = 1,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make rules and events of a workload on Spark, and a pipeline file that matches them."""
    if workload not in WORKLOADS:
        misuse(f"no workload {workload!r}: expected {' or '.join(WORKLOADS)}")
    if kind not in FORMATS:
        misuse(f"no format {kind!r}: expected {', '.join(FORMATS)}")
    local = re.match(r"[A-Za-z][\w+.-]+:", out) is None
    folder = Path(out)
    there = [name for name in ("rules", "events", "pipeline.toml") if (folder / name).exists()]
    if local and there and not overwrite:
        misuse(f"{folder / there[0]} is there already: --overwrite replaces it")
    make = spark_module("matchwood.spark.generate")
    sessions = spark_module("matchwood.spark.run")
    begun = perf_counter()
    with session(sessions.session_for_work) as spark:
        paths = make.generate(
            spark,
            workload,
            str(folder.resolve()) if local else out,
            rules=rules,
            events=events,
            format=kind,
            seed=seed,
            mode="overwrite" if overwrite else "error",
        )
    figures = {"rules": rules, "events": events, "paths": paths}
    if local:
        figures["pipeline"] = str(make.write_pipeline(workload, kind, folder))
    seconds = perf_counter() - begun
    if as_json:
        print_json({**figures, "seconds": round(seconds, 3)})
        return
    print(f"{rules:,} rules and {events:,} events in {seconds:.1f} s")
    if local:
        print(f"matchwood run {figures['pipeline']}")
