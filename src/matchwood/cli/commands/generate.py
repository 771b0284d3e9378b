"""`matchwood generate`: generate the rules and events of a workload."""

from __future__ import annotations

import re
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from matchwood.cli.arguments import AsJson
from matchwood.cli.entry_point import app, dumps, misuse, print_json
from matchwood.cli.spark_session import session, spark_module

WORKLOADS = ("audiences", "abe-gen", "fontoura", "ads")

# The format that has one file per table, and no pipeline file.
LINES = "jsonl"

# All formats that can be written.
WRITTEN_FORMATS = ("parquet", "json", "csv", LINES)

# Events that are made at a time.
EVENTS_AT_ONCE = 100_000


@app.command()
def generate(
    workload: Annotated[
        str, typer.Argument(metavar="WORKLOAD", help="audiences, abe-gen, fontoura or ads.")
    ],
    out: Annotated[str, typer.Option(metavar="DIR", help="The folder for the tables.")],
    rules: Annotated[int, typer.Option(min=1, metavar="N", help="Number of rules.")] = 100_000,
    events: Annotated[int, typer.Option(min=0, metavar="N", help="Number of events.")] = 200_000,
    kind: Annotated[
        str,
        typer.Option(
            "--format", metavar="NAME", help="parquet, json, csv, or jsonl: one file per table."
        ),
    ] = "parquet",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random generator.")] = 1,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")] = False,
    with_spark: Annotated[
        bool, typer.Option("--spark", help="Let Spark write the tables, on all its cores.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Generate the rules and events of a workload.

    Tables of a local folder have a pipeline file beside them, which matches them on Spark.
    """
    if workload not in WORKLOADS:
        misuse(f"no workload {workload!r}: expected one of {', '.join(WORKLOADS)}")
    if kind not in WRITTEN_FORMATS:
        misuse(f"no format {kind!r}: expected {', '.join(WRITTEN_FORMATS)}")
    local = is_local(out)
    folder = Path(out)
    names = ("rules.jsonl", "events.jsonl") if kind == LINES else ("rules", "events")
    existing = [name for name in (*names, "pipeline.toml") if (folder / name).exists()]
    if local and existing and not overwrite:
        misuse(f"{folder / existing[0]} is there already: --overwrite replaces it")
    begun = perf_counter()
    if kind == LINES:
        if not local or with_spark:
            misuse(f"{LINES} is written without Spark, to a local folder: choose another format")
        paths = write_lines(workload, folder, rules, events, seed)
        next_command = f"matchwood match {paths['rules']} {paths['events']}"
        figures: dict[str, Any] = {"rules": rules, "events": events, "paths": paths}
    else:
        make = on_spark if with_spark or not local else here
        figures = {"rules": rules, "events": events}
        figures["paths"] = make(workload, out, rules, events, kind, seed, overwrite)
        next_command = ""
        if local:
            from matchwood.lab.workloads.spark_tables import write_pipeline

            figures["pipeline"] = str(write_pipeline(workload, kind, folder))
            next_command = f"matchwood run {figures['pipeline']}"
    seconds = perf_counter() - begun
    if as_json:
        print_json({**figures, "seconds": round(seconds, 3)})
        return
    print(f"{rules:,} rules and {events:,} events in {seconds:.1f} s")
    if next_command:
        print(next_command)


def here(
    workload: str, out: str, rules: int, events: int, kind: str, seed: int, overwrite: bool
) -> dict[str, str]:
    """Write the tables from this process; their paths."""
    from matchwood.lab.workloads.table_files import write_tables

    return write_tables(
        workload,
        Path(out).resolve(),
        rules=rules,
        events=events,
        format=kind,
        seed=seed,
        overwrite=overwrite,
    )


def on_spark(
    workload: str, out: str, rules: int, events: int, kind: str, seed: int, overwrite: bool
) -> dict[str, str]:
    """Let Spark write the tables; their paths."""
    make = spark_module("matchwood.lab.workloads.spark_tables")
    sessions = spark_module("matchwood.spark.session")
    with session(sessions.session_for_work) as spark:
        paths: dict[str, str] = make.generate(
            spark,
            workload,
            str(Path(out).resolve()) if is_local(out) else out,
            rules=rules,
            events=events,
            format=kind,
            seed=seed,
            mode="overwrite" if overwrite else "error",
        )
    return paths


def is_local(out: str) -> bool:
    """Whether a path is one of this machine, and not a URL."""
    return re.match(r"[A-Za-z][\w+.-]+:", out) is None


def write_lines(name: str, folder: Path, rules: int, events: int, seed: int) -> dict[str, str]:
    """Write rules and events as JSON lines, piece by piece; the paths of the files."""
    from matchwood.lab.workloads.catalogue import rule_ids
    from matchwood.lab.workloads.catalogue import workload as workload_of

    made = workload_of(name, rules=rules, seed=seed)
    folder.mkdir(parents=True, exist_ok=True)
    paths = {table: folder / f"{table}.jsonl" for table in ("rules", "events")}
    with paths["rules"].open("w", encoding="utf-8") as file:
        pairs = zip(rule_ids(name, 0, rules), made.texts(), strict=True)
        file.writelines(dumps({"id": i, "rule": rule}) + "\n" for i, rule in pairs)
    with paths["events"].open("w", encoding="utf-8") as file:
        for start in range(0, events, EVENTS_AT_ONCE):
            piece = made.events(min(EVENTS_AT_ONCE, events - start), start=start)
            file.writelines(dumps(event) + "\n" for event in piece)
    return {table: str(path) for table, path in paths.items()}
