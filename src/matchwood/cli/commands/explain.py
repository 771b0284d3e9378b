"""`matchwood explain`: show the truth of each node of a rule for an event."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from matchwood.cli.arguments import (
    AliasFile,
    AsJson,
    ListFiles,
    OperatorsModule,
    SchemaFile,
    event_of,
    text_of,
)
from matchwood.cli.entry_point import app, misuse, print_json
from matchwood.cli.rule_loading import read_aliases, read_lists, read_operators, read_schema
from matchwood.language import EventError, Node, RuleError, explain, parse
from matchwood.language.events import Event
from matchwood.schema.errors import nearest
from matchwood.tables import BadRow, read_rules


@app.command("explain")
def explain_rule(
    rule: Annotated[
        str, typer.Argument(metavar="RULE", help="Text, @FILE, or an id with --rules.")
    ],
    event: Annotated[
        str, typer.Argument(metavar="EVENT", help="JSON, @FILE, or - for standard input.")
    ],
    rules: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A table of rules, in which RULE is an id.")
    ] = None,
    schema: SchemaFile = None,
    operators: OperatorsModule = None,
    lists: ListFiles = None,
    aliases: AliasFile = None,
    as_json: AsJson = False,
) -> None:
    """Show the truth of each node of a rule for an event."""
    known = read_operators(operators)
    named = read_lists(lists)
    try:
        tree = parse(text_of(rule)) if rules is None else rule_of(rules, rule)
        seen = Event(event_of(event), read_aliases(aliases))
        explanation = explain(tree, seen, operators=known, schema=read_schema(schema), lists=named)
    except RuleError as error:
        misuse(f"the rule: {error}")
    except EventError as error:
        misuse(f"the event: {error}")
    if as_json:
        print_json(explanation.to_json())
    else:
        print(explanation)


def rule_of(rules: Path, identity: str) -> Node:
    """The rule with an id in a table."""
    ids = []
    for row in read_rules(rules):
        if not isinstance(row, BadRow):
            if str(row.id) == identity:
                return parse(row.rule)
            ids.append(str(row.id))
    misuse(f"{rules}: no rule has the id {identity!r}{nearest(identity, ids[:10_000])}")
