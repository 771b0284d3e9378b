"""The command that makes workloads: generate."""

from __future__ import annotations

import re
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from matchwood.cli.program import AsJson, app, dumps, misuse, print_json
from matchwood.cli.running import session, spark_module

WORKLOADS = ("audiences", "abe-gen", "fontoura", "ads")
PLAIN = "jsonl"  # made in this process, without Spark
FORMATS = ("parquet", "json", "csv", PLAIN)
PIECE = 100_000


@app.command()
def generate(
    workload: Annotated[
        str, typer.Argument(metavar="WORKLOAD", help="audiences, abe-gen, fontoura or ads.")
    ],
    out: Annotated[str, typer.Option(metavar="DIR", help="The folder that the tables go to.")],
    rules: Annotated[int, typer.Option(min=1, metavar="N", help="Rules to make.")] = 100_000,
    events: Annotated[int, typer.Option(min=0, metavar="N", help="Events to make.")] = 200_000,
    kind: Annotated[
        str,
        typer.Option(
            "--format", metavar="NAME", help="parquet, json or csv on Spark; jsonl without it."
        ),
    ] = "parquet",
    seed: Annotated[int, typer.Option(min=0, help="Another seed, other rules and events.")] = 1,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make rules and events of a workload, and on Spark a pipeline file that matches them."""
    if workload not in WORKLOADS:
        misuse(f"no workload {workload!r}: expected one of {', '.join(WORKLOADS)}")
    if kind not in FORMATS:
        misuse(f"no format {kind!r}: expected {', '.join(FORMATS)}")
    local = re.match(r"[A-Za-z][\w+.-]+:", out) is None
    folder = Path(out)
    names = ("rules.jsonl", "events.jsonl") if kind == PLAIN else ("rules", "events")
    there = [name for name in (*names, "pipeline.toml") if (folder / name).exists()]
    if local and there and not overwrite:
        misuse(f"{folder / there[0]} is there already: --overwrite replaces it")
    begun = perf_counter()
    if kind == PLAIN:
        if not local:
            misuse(f"{out} is no folder of this machine: {PLAIN} is written without Spark")
        paths = write_lines(workload, folder, rules, events, seed)
        then = f"matchwood match {paths['rules']} {paths['events']}"
        figures = {"rules": rules, "events": events, "paths": paths}
    else:
        figures = on_spark(workload, out, local, rules, events, kind, seed, overwrite)
        then = f"matchwood run {figures['pipeline']}" if local else ""
    seconds = perf_counter() - begun
    if as_json:
        print_json({**figures, "seconds": round(seconds, 3)})
        return
    print(f"{rules:,} rules and {events:,} events in {seconds:.1f} s")
    if then:
        print(then)


def on_spark(
    workload: str,
    out: str,
    local: bool,
    rules: int,
    events: int,
    kind: str,
    seed: int,
    overwrite: bool,
) -> dict[str, Any]:
    """Tables that Spark writes, and where; locally with a pipeline file beside them."""
    make = spark_module("matchwood.spark.generate")
    sessions = spark_module("matchwood.spark.run")
    with session(sessions.session_for_work) as spark:
        paths = make.generate(
            spark,
            workload,
            str(Path(out).resolve()) if local else out,
            rules=rules,
            events=events,
            format=kind,
            seed=seed,
            mode="overwrite" if overwrite else "error",
        )
    figures = {"rules": rules, "events": events, "paths": paths}
    if local:
        figures["pipeline"] = str(make.write_pipeline(workload, kind, Path(out)))
    return figures


def write_lines(name: str, folder: Path, rules: int, events: int, seed: int) -> dict[str, str]:
    """Rules and events as JSON lines, a piece at a time; their paths."""
    from matchwood.workloads.catalogue import rule_ids
    from matchwood.workloads.catalogue import workload as workload_of

    made = workload_of(name, rules=rules, seed=seed)
    folder.mkdir(parents=True, exist_ok=True)
    paths = {table: folder / f"{table}.jsonl" for table in ("rules", "events")}
    with paths["rules"].open("w", encoding="utf-8") as file:
        pairs = zip(rule_ids(name, 0, rules), made.texts(), strict=True)
        file.writelines(dumps({"id": i, "rule": rule}) + "\n" for i, rule in pairs)
    with paths["events"].open("w", encoding="utf-8") as file:
        for start in range(0, events, PIECE):
            piece = made.events(min(PIECE, events - start), start=start)
            file.writelines(dumps(event) + "\n" for event in piece)
    return {table: str(path) for table, path in paths.items()}
