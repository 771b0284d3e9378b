"""Arguments and options that several commands take, and how their values are read."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from matchwood.cli.entry_point import misuse

RuleTable = Annotated[
    Path, typer.Argument(metavar="RULES", help="A table of rules: .jsonl, .csv, .parquet.")
]
RuleTables = Annotated[
    list[Path], typer.Argument(metavar="RULES", help="Tables of rules: .jsonl, .csv, .parquet.")
]
RulesOrIndex = Annotated[
    Path, typer.Argument(metavar="RULES", help="Rules: .jsonl, .csv, .parquet, or .mw from build.")
]
SchemaFile = Annotated[
    Path | None, typer.Option("--schema", metavar="FILE", help="A schema: .toml or .json.")
]
OperatorsModule = Annotated[
    str | None,
    typer.Option(
        "--operators", metavar="MODULE", help="A Python module with the operators that rules call."
    ),
]
ListFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--list",
        metavar="NAME=FILE",
        help="A list that rules name: a string per line, or .jsonl with a JSON value per line.",
    ),
]
AliasFile = Annotated[
    Path | None,
    typer.Option(
        "--aliases", metavar="FILE", help="Other names of attributes in events: .toml or .json."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


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
    """The event that an argument gives as JSON, `@FILE` or `-`."""
    try:
        event = json.loads(text_of(argument))
    except (ValueError, RecursionError) as error:
        misuse(f"the event is not JSON: {error}")
    if not isinstance(event, dict):
        misuse(f"an event is a JSON object, found {type(event).__name__}")
    return event
