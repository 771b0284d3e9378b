"""`matchwood stats`: the size and structure of the index of some rules."""

from __future__ import annotations

import typer

from matchwood.cli.arguments import AsJson, ListFiles, OperatorsModule, RulesOrIndex, SchemaFile
from matchwood.cli.entry_point import app, print_json
from matchwood.cli.rule_loading import load, read_lists, read_operators, read_schema


@app.command()
def stats(
    rules: RulesOrIndex,
    schema: SchemaFile = None,
    operators: OperatorsModule = None,
    lists: ListFiles = None,
    as_json: AsJson = False,
) -> None:
    """Show the size and structure of the index of some rules."""
    loaded = load([rules], read_schema(schema), read_operators(operators), lists=read_lists(lists))
    figures = loaded.matcher.stats()
    if as_json:
        print_json(figures.to_dict())
    else:
        print(figures)
    raise typer.Exit(1 if loaded.bad else 0)
