"""`matchwood test`: test rules with events that they must match, or must not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from matchwood.check import run_cases
from matchwood.cli.arguments import AsJson, ListFiles, OperatorsModule, RuleTable, SchemaFile
from matchwood.cli.entry_point import app, print_json
from matchwood.cli.progress import ProgressMeter
from matchwood.cli.rule_loading import read_lists, read_operators, read_schema


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
    as_json: AsJson = False,
) -> None:
    """Test rules with events that they must match, or must not."""
    with ProgressMeter("cases", every=1) as meter:
        known = read_operators(operators)
        report = run_cases(rules, cases, read_schema(schema), meter.seen, known, read_lists(lists))
    if as_json:
        print_json(report.to_json())
    else:
        for line in (*report.bad_rules, *report.failures):
            print(line)
        print(report.summary())
    raise typer.Exit(0 if report.passed else 1)
