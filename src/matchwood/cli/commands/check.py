"""`matchwood check`: report bad rules with their positions, and likely mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from matchwood.check import DIALECTS, WARNINGS, check_rules
from matchwood.cli.arguments import (
    AliasFile,
    AsJson,
    ListFiles,
    OperatorsModule,
    RuleTables,
    SchemaFile,
)
from matchwood.cli.entry_point import app, misuse, print_json
from matchwood.cli.progress import ProgressMeter
from matchwood.cli.rule_loading import read_aliases, read_lists, read_operators, read_schema


@app.command()
def check(
    rules: RuleTables,
    events: Annotated[
        Path | None,
        typer.Option(metavar="SAMPLE", help="A sample of events to check the rules against."),
    ] = None,
    schema: SchemaFile = None,
    dialect: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The SQL that the rules were written in: spark."),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="A kind of warning to leave out.")
    ] = None,
    operators: OperatorsModule = None,
    lists: ListFiles = None,
    aliases: AliasFile = None,
    as_json: AsJson = False,
) -> None:
    """Report bad rules with their positions, and likely mistakes."""
    if dialect is not None and dialect not in DIALECTS:
        misuse(f"no dialect {dialect!r}: expected {' or '.join(DIALECTS)}")
    for kind in ignore or ():
        if kind not in WARNINGS:
            misuse(f"no kind of warning {kind!r}: expected {', '.join(WARNINGS)}")
    with ProgressMeter("rules") as meter:
        report = check_rules(
            rules,
            events=events,
            schema=read_schema(schema),
            dialect=dialect,
            ignore=ignore or (),
            operators=None if operators is None else read_operators(operators),
            lists=None if lists is None else read_lists(lists),
            aliases=read_aliases(aliases),
            progress=meter.seen,
        )
    if as_json:
        print_json(report.to_json())
    else:
        for finding in report.findings:
            print(finding)
        print(report.summary())
    raise typer.Exit(1 if report.findings else 0)
