"""The `matchwood` command. Each subcommand calls the library and shows what it gave.

Exit codes: 0 fine, 1 findings, 2 misuse.
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from time import monotonic
from typing import Annotated, Any, NoReturn

import typer

import matchwood
from matchwood.check import DIALECTS, check_rules, run_cases
from matchwood.language import EventError, Node, RuleError, explain, parse
from matchwood.schema import Schema, SchemaError
from matchwood.schema.schema import nearest
from matchwood.tables import BadRow, TableError, read_rules

app = typer.Typer(
    name="matchwood",
    help="Keep a large set of Boolean rules, and say which are true of every event.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

RulesFiles = Annotated[
    list[Path], typer.Argument(metavar="RULES...", help="Tables of rules: .jsonl, .csv, .parquet.")
]
RulesFile = Annotated[
    Path, typer.Argument(metavar="RULES", help="A table of rules: .jsonl, .csv, .parquet.")
]
SchemaFile = Annotated[
    Path | None, typer.Option("--schema", metavar="FILE", help="A schema: .toml or .json.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


def main() -> None:
    """Run the command; whatever a person can put right is one sentence, not a traceback."""
    gc.set_threshold(100_000, 50, 100)  # millions of small objects, and hardly a cycle among them
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # what rules and events hold can always be printed
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except (TableError, SchemaError) as error:
        misuse(str(error))
    except BrokenPipeError:  # the reader of our output has seen enough
        sys.stderr.close()
        sys.exit(0)


def misuse(sentence: str) -> NoReturn:
    """Say what is wrong with how the command was called, and exit."""
    print(f"matchwood: {sentence}", file=sys.stderr)
    sys.exit(2)


def show_version(wanted: bool) -> None:
    if wanted:
        print(f"matchwood {matchwood.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Keep a large set of Boolean rules, and say which are true of every event."""


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
    as_json: AsJson = False,
) -> None:
    """Report every bad rule with its place, and warn of likely mistakes."""
    if dialect is not None and dialect not in DIALECTS:
        misuse(f"no dialect {dialect!r}: expected {' or '.join(DIALECTS)}")
    with Watch("rules") as watch:
        report = check_rules(
            rules,
            events=events,
            schema=read_schema(schema),
            dialect=dialect,
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
    as_json: AsJson = False,
) -> None:
    """Try examples: events, with the rules that must match them and those that must not."""
    report = run_cases(rules, cases, read_schema(schema))
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
    as_json: AsJson = False,
) -> None:
    """Draw a rule with true, false or undefined at each node, and the values seen."""
    try:
        tree = parse(text_of(rule)) if rules is None else rule_of(rules, rule)
        explanation = explain(tree, event_of(event), schema=read_schema(schema))
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


def read_schema(path: Path | None) -> Schema | None:
    if path is None:
        return None
    if not path.is_file():
        misuse(f"{path}: no such file")
    return Schema.load(path)


# Output


def print_json(form: object) -> None:
    print(json.dumps(form, ensure_ascii=False))


class Watch:
    """How far long work has come, on standard error: a bar for a person, lines for a log."""

    FIRST, AGAIN = 1.0, 10.0  # seconds until the bar shows, and between lines

    def __init__(self, what: str) -> None:
        self.what = what
        self.bar: Any = None
        self.person = sys.stderr.isatty()
        self.due = monotonic() + (self.FIRST if self.person else self.AGAIN)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def seen(self, count: int) -> None:
        """Told after each piece of work how many are done."""
        if count % 256 or monotonic() < self.due:
            return
        if not self.person:
            print(f"{count:,} {self.what} read", file=sys.stderr)
            self.due = monotonic() + self.AGAIN
            return
        if self.bar is None:
            self.bar = _bar(self.what)
        self.bar.update(self.bar.task_ids[0], completed=count)
        self.due = monotonic() + 0.1


def _bar(what: str) -> Any:
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    count = TextColumn("{task.completed:,.0f} " + what)
    console = Console(stderr=True)
    bar = Progress(SpinnerColumn(), count, TimeElapsedColumn(), console=console, transient=True)
    bar.add_task(what, total=None)
    bar.start()
    return bar


if __name__ == "__main__":
    main()
