"""`matchwood build`: compile tables of rules into one file."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from matchwood.cli.arguments import AsJson, ListFiles, OperatorsModule, RuleTables, SchemaFile
from matchwood.cli.entry_point import app, misuse, print_json
from matchwood.cli.rule_loading import BUILT, load, read_lists, read_operators, read_schema


@app.command()
def build(
    rules: RuleTables,
    output: Annotated[Path, typer.Argument(metavar="OUTPUT.mw", help="The file to write.")],
    events: Annotated[
        Path | None,
        typer.Option(metavar="SAMPLE", help="A sample of events to optimise the index for."),
    ] = None,
    schema: SchemaFile = None,
    operators: OperatorsModule = None,
    lists: ListFiles = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Write nothing if any rule is bad.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compile tables of rules into one file, which loads quickly."""
    if output.suffix != BUILT:
        misuse(f"{output}: the file to write ends in {BUILT}")
    if not output.parent.is_dir() or output.is_dir():
        misuse(f"{output}: no file can be written there")
    started = perf_counter()
    named = read_lists(lists)
    loaded = load(rules, read_schema(schema), read_operators(operators), events, strict, named)
    try:
        loaded.matcher.save(output)
    except OSError as error:
        misuse(f"{output}: {error.strerror}")
    seconds, size = perf_counter() - started, output.stat().st_size
    count, bad = len(loaded.matcher), len(loaded.bad)
    if as_json:
        figures = {"rules": count, "bad": bad, "bytes": size, "seconds": round(seconds, 3)}
        print_json({"file": str(output), **figures})
    else:
        print(f"{output}: {count:,} rules, {bad:,} bad, {size:,} bytes in {seconds:.2f} s")
    raise typer.Exit(1 if bad else 0)
