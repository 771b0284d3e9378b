"""`matchwood import`: rules from other formats, as a table of rules."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from matchwood.cli.arguments import AsJson
from matchwood.cli.entry_point import app, dumps, misuse, print_json
from matchwood.imports import EVENT_KINDS, FORMATS, ImportedRule, NotImported, read


@app.command(name="import")
def import_rules(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=f"The format: {', '.join(FORMATS)}.")],
    sources: Annotated[
        list[Path], typer.Argument(metavar="SOURCE", help="Files, or folders of files.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="RULES.jsonl", help="The table of rules to write."),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Write nothing if any rule cannot be imported exactly."),
    ] = False,
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--without",
            metavar="KIND",
            help="No event is of this kind, so it does not matter what rules answer of it.",
        ),
    ] = None,
    pipelines: Annotated[
        list[str] | None,
        typer.Option(
            "--pipeline",
            metavar="NAME",
            help="For sigma: a processing pipeline of pySigma, by its name or as a file.",
        ),
    ] = None,
    text_patterns: Annotated[
        bool,
        typer.Option(
            "--text-patterns",
            help="For sigma: patterns are meant for text only, also those that match numbers.",
        ),
    ] = False,
    scope: Annotated[
        str | None,
        typer.Option(
            "--scope",
            metavar="SCOPE",
            help="For sns: MessageBody, if policies that do not say so are about bodies.",
        ),
    ] = None,
    typed: Annotated[
        bool,
        typer.Option(
            "--typed",
            help="For jsonlogic: attributes have the type that they are compared with.",
        ),
    ] = False,
    dialect: Annotated[
        str | None,
        typer.Option("--dialect", metavar="spark", help="For sql: whose SQL the conditions are."),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="TEXT|FILE",
            help="For sql: the types of the columns of events, as 'age int, name string'.",
        ),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Option(
            "--name",
            metavar="NAME=COLUMN",
            help="For sql: what the table calls its id, rule, tags, priority or title.",
        ),
    ] = None,
    mapping: Annotated[
        Path | None,
        typer.Option(
            "--mapping",
            metavar="FILE",
            help="For percolator: what GET index/_mapping prints, with the types of fields.",
        ),
    ] = None,
    now: Annotated[
        str | None,
        typer.Option(
            "--now", metavar="TIME", help="For percolator: the present of dates such as now-1d/d."
        ),
    ] = None,
    field: Annotated[
        str | None,
        typer.Option(
            "--field", metavar="NAME", help="For percolator: the field that holds the queries."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Import rules from another format; those that cannot be said exactly are listed."""
    for source in sources:
        if not source.exists():
            misuse(f"{source}: no such file or folder")
    never = _kinds(without or [])
    given = {
        "pipelines": pipelines,
        "text_patterns": text_patterns,
        "scope": scope,
        "typed": typed,
        "dialect": dialect,
        "columns": columns,
        "names": _pairs(names or [], "--name"),
        "mapping": mapping,
        "now": now,
        "field": field,
    }
    try:
        found = read(kind, sources, **{name: value for name, value in given.items() if value})
    except (ValueError, ImportError) as error:
        misuse(str(error))
    rules: list[ImportedRule] = []
    refused: list[NotImported] = []
    for each in found:
        if isinstance(each, ImportedRule):
            each = replace(each, differs=tuple(k for k in each.differs if k not in never))
            if not (strict and each.differs):
                rules.append(each)
                continue
            each = NotImported(each.source, _differing(each.differs), each.id)
        refused.append(each)
        if not as_json or output is None:  # standard output is for the rules
            print(each, file=sys.stderr)
        if strict:
            break
    if not (strict and refused):
        _write(rules, output)
    _summarise(rules, refused, output, strict, as_json)
    raise typer.Exit(1 if refused else 0)


def _kinds(names: list[str]) -> list[str]:
    unknown = [name for name in names if name not in EVENT_KINDS]
    if unknown:
        misuse(f"--without takes {', '.join(EVENT_KINDS)}; found {unknown[0]!r}")
    return names


def _differing(kinds: tuple[str, ...]) -> str:
    """Why --strict refuses a rule."""
    listed = "; ".join(f"{EVENT_KINDS[kind]} ({kind})" for kind in kinds)
    options = " ".join(f"--without {kind}" for kind in kinds)
    return f"it may differ for events with {listed}; {options} says that there are none"


def _pairs(texts: list[str], option: str) -> dict[str, str]:
    """The values of an option that takes NAME=VALUE several times."""
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            misuse(f"{option} takes NAME=VALUE, found {text!r}")
        pairs[name] = value
    return pairs


def _write(rules: list[ImportedRule], output: Path | None) -> None:
    from matchwood.cli.match_output import text_file  # brings NumPy, so not before it is needed

    with text_file(output) as file:
        for rule in rules:
            print(dumps(rule.row()), file=file or sys.stdout)


def _summarise(
    rules: list[ImportedRule],
    refused: list[NotImported],
    output: Path | None,
    strict: bool,
    as_json: bool,
) -> None:
    written = 0 if strict and refused else len(rules)
    differing = {kind: [each.id for each in rules if kind in each.differs] for kind in EVENT_KINDS}
    if as_json and output is not None:
        differs = {kind: ids for kind, ids in differing.items() if ids}
        listed = [{"id": each.id, "source": each.source, "reason": each.reason} for each in refused]
        print_json(
            {"file": str(output), "imported": written, "not_imported": listed, "differs": differs}
        )
    else:
        sentence = f"{_counted(written)} imported, {len(refused):,} not"
        if strict and refused:
            sentence += "; nothing was written, because of --strict"
        for kind, ids in differing.items() if written else ():
            if ids:
                events = f"events with {EVENT_KINDS[kind]} ({kind})"
                sentence += f"\n{_counted(len(ids))} may differ from the original for {events}"
        print(sentence, file=sys.stderr)


def _counted(rules: int) -> str:
    return f"{rules:,} {'rule' if rules == 1 else 'rules'}"
