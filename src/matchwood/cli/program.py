"""The program itself: what it does with errors, and what its commands share."""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

import matchwood
from matchwood.cli.streams import close_output, end_after, open_streams, say
from matchwood.schema import Schema, SchemaError
from matchwood.tables import TableError

if TYPE_CHECKING:
    from matchwood.operators import Operators

app = typer.Typer(
    name="matchwood",
    help="Keep a large set of Boolean rules, and say which are true of every event.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

SchemaFile = Annotated[
    Path | None, typer.Option("--schema", metavar="FILE", help="A schema: .toml or .json.")
]
OperatorsModule = Annotated[
    str | None,
    typer.Option("--operators", metavar="MODULE", help="A module with operators for the rules."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


def main() -> None:
    """Run the command; whatever a person can put right is one sentence, not a traceback."""
    gc.set_threshold(100_000, 50, 100)  # millions of small objects, and hardly a cycle among them
    open_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # what rules and events hold can always be printed
            stream.reconfigure(errors="backslashreplace")
    output = sys.stdout
    try:
        try:
            _run()
        finally:
            close_output(output)
    except OSError as error:
        end_after(error, output)


def _run() -> None:
    try:
        app()
    except (TableError, SchemaError) as error:
        misuse(str(error))
    except ValueError as error:
        from matchwood.index.file import IndexFileError  # brings Numba, so not before it is needed

        if not isinstance(error, IndexFileError):
            raise
        misuse(str(error))


def misuse(sentence: str) -> NoReturn:
    """Say what is wrong with how the command was called, and exit."""
    say(sentence)
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


def read_schema(path: Path | None) -> Schema | None:
    if path is None:
        return None
    if not path.is_file():
        misuse(f"{path}: no such file")
    return Schema.load(path)


def read_operators(module: str | None) -> Operators:
    """The operators of a module, and those that are always there."""
    from matchwood.operators.places import available
    from matchwood.operators.registry import load

    if module is None:
        return available(None)
    import_from_here()
    try:
        return available(load(module))
    except (ModuleNotFoundError, ValueError) as error:
        misuse(str(error))
    except Exception as error:  # whatever the module does while it is imported
        misuse(f"operators: {module!r} cannot be imported: {type(error).__name__}: {error}")


def import_from_here() -> None:
    """Find modules in the folder where the command runs, as `python -m` does."""
    if not {"", os.getcwd()} & set(sys.path):
        sys.path.insert(0, os.getcwd())


def dumps(form: object, plain: Callable[[Any], Any] | None = None) -> str:
    return json.dumps(form, ensure_ascii=False, default=plain)


def print_json(form: object) -> None:
    print(dumps(form))
