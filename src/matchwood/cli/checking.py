"""Commands that look at rules: check, test, explain."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from matchwood.check import DIALECTS, WARNINGS, check_rules, run_cases
from matchwood.cli.program import (
    AsJson,
    OperatorsModule,
    SchemaFile,
    app,
    misuse,
    print_json,
    read_operators,
    read_schema,
)
from matchwood.cli.progress import Watch
from matchwood.language import EventError, Node, RuleError, explain, parse
from matchwood.schema.errors import nearest
from matchwood.tables import BadRow, read_rules

RulesFiles = Annotated[
    list[Path], typer.Argument(metavar="RULES", help="Tables of rules: .jsonl, .csv, .parquet.")
]
RulesFile = Annotated[
    Path, typer.Argument(metavar="RULES", help="A table of rules: .jsonl, .csv, .parquet.")
]


@app.command()
def check(
    rules: RulesFiles,
    events: Annotated[
        Path | None,
        typer.Option(metavar="SAMPLE", help="A sample of events to check the rules against."),
    ] = None,
    schema: SchemaFile = None,
    dialect: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whose SQL the rules are written in: spark.")
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="A kind of warning to leave out.")
    ] = None,
    operators: OperatorsModule = None,
    as_json: AsJson = False,
) -> None:
    """Report bad rules with their places, and likely mistakes."""
    if dialect is not None and dialect not in DIALECTS:
        misuse(f"no dialect {dialect!r}: expected {' or '.join(DIALECTS)}")
    for kind in ignore or ():
        if kind not in WARNINGS:
            misuse(f"no kind of warning {kind!r}: expected {', '.join(WARNINGS)}")
    with Watch("rules") as watch:
        report = check_rules(
            rules,
            events=events,
            schema=read_schema(schema),
            dialect=dialect,
            ignore=ignore or (),
            operators=None if operators is None else read_operators(operators),
            progress=watch.seen,
        )
    if as_json:
        print_json(report.to_json())
    else:
        for finding in report.findings:
            print(finding)
        print(report.summary())
    raise typer.Exit(1 if report.findings else 0)


@app.command("test")
def try_cases(
    rules: RulesFile,
    cases: Annotated[
        Path, typer.Argument(metavar="CASES", help="Events with the ids that match: .jsonl.")
    ],
    schema: SchemaFile = None,
    operators: OperatorsModule = None,
    as_json: AsJson = False,
) -> None:
    """Try examples: events, and the rules that must match them."""
    with Watch("cases", every=1) as watch:
        known = read_operators(operators)
        report = run_cases(rules, cases, read_schema(schema), watch.seen, known)
    if as_json:
        print_json(report.to_json())
    else:
        for line in (*report.bad_rules, *report.failures):
            print(line)
        print(report.summary())
    raise typer.Exit(0 if report.passed else 1)


@app.command("explain")
def explain_rule(
    rule: Annotated[
        str, typer.Argument(metavar="RULE", help="Text, @FILE, or an id where --rules is given.")
    ],
    event: Annotated[
        str, typer.Argument(metavar="EVENT", help="JSON, @FILE, or - for standard input.")
    ],
    rules: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A table of rules: RULE is an id of it.")
    ] = None,
    schema: SchemaFile = None,
    operators: OperatorsModule = None,
    as_json: AsJson = False,
) -> None:
    """Draw a rule with its truth at each node and the values seen."""
    known = read_operators(operators)
    try:
        tree = parse(text_of(rule)) if rules is None else rule_of(rules, rule)
        explanation = explain(tree, event_of(event), operators=known, schema=read_schema(schema))
    except RuleError as error:
        misuse(f"the rule: {error}")
    except EventError as error:
        misuse(f"the event: {error}")
    if as_json:
        print_json(explanation.to_json())
    else:
        print(explanation)


# Arguments


def text_of(argument: str) -> str:
    """The argument itself, the text of a file for `@FILE`, or of standard input for `-`."""
    try:
        if argument == "-":
            if sys.stdin is None:
                misuse("standard input is closed")
            return sys.stdin.read()
        if argument.startswith("@"):
            return Path(argument[1:]).read_text(encoding="utf-8")
    except FileNotFoundError:
        misuse(f"{argument[1:]}: no such file")
    except (OSError, UnicodeDecodeError) as error:
        misuse(f"{argument}: {error}")
    return argument


def event_of(argument: str) -> dict[str, Any]:
    try:
        event = json.loads(text_of(argument))
    except (ValueError, RecursionError) as error:
        misuse(f"the event is not JSON: {error}")
    if not isinstance(event, dict):
        misuse(f"an event is a JSON object, found {type(event).__name__}")
    return event


def rule_of(rules: Path, identity: str) -> Node:
    """The rule of a table by its id."""
    ids = []
    for row in read_rules(rules):
        if not isinstance(row, BadRow):
            if str(row.id) == identity:
                return parse(row.rule)
            ids.append(str(row.id))
    misuse(f"{rules}: no rule has the id {identity!r}{nearest(identity, ids[:10_000])}")
