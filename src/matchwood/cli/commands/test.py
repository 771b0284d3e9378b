"""`matchwood test`: test rules with events that they must match, or must not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from matchwood.check import run_cases
from matchwood.cli.arguments import (
    AliasFile,
    AsJson,
    ListFiles,
    OperatorsModule,
    RuleTable,
    SchemaFile,
)
from matchwood.cli.entry_point import app, print_json
from matchwood.cli.progress import ProgressMeter
from matchwood.cli.rule_loading import read_aliases, read_lists, read_operators, read_schema


@app.command("test")
def try_cases(
    rules: RuleTable,
    cases: Annotated[
        Path,
        typer.Argument(metavar="CASES", help="Events with the ids of rules that match: .jsonl."),
    ],
    schema: SchemaFile = None,
    operators: OperatorsModule = None,
    lists: ListFiles = None,
    aliases: AliasFile = None,
    as_json: AsJson = False,
) -> None:
    """Test rules with events that they must match, or must not."""
    with ProgressMeter("cases", every=1) as meter:
        report = run_cases(
            rules,
            cases,
            read_schema(schema),
            meter.seen,
            read_operators(operators),
            read_lists(lists),
            read_aliases(aliases),
        )
    if as_json:
        print_json(report.to_json())
    else:
        for line in (*report.bad_rules, *report.failures):
            print(line)
        print(report.summary())
    raise typer.Exit(0 if report.passed else 1)
